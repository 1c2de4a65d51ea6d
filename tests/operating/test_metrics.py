"""Metrics agree with the audit's own numbers, name no one, and are not for everyone; JSON lines of the log."""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from memoryhub.actions import figures
from memoryhub.actions.core.audit import Act, Actor, metering
from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.stores import delete
from memoryhub.models import HUB, AuditChain, AuditEntry, CallCount, Door, MemoryStore, MeteredChain, User
from memoryhub.operating import metrics
from memoryhub.operating.logs.lines import Json
from memoryhub.pure import request_ids
from memoryhub.pure.protocol import kinds
from tests.support.fixtures import signed_in
from tests.support.long import tried

pytestmark = pytest.mark.django_db

TOKEN = "a token that nobody guesses"


def scrape(client: Client | None = None, **headers: str) -> str:
    answer = (client or Client()).get("/metrics", **headers)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return str(answer.content.decode())


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample by name and labels, as the reference parser reads them."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_connection_that_breaks_while_rows_are_read_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(now: datetime) -> Iterator[metrics.Family]:
        raise connection.Database.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(metrics, "families", broken)
    assert Client().get("/metrics").status_code == 503


def calls(text: str) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for (name, labels), value in samples(text).items():
        if name == "memoryhub_calls_total":
            told = dict(labels)
            found[told["command"], told["door"], told["outcome"]] = int(value)
    return found


def load(store: MemoryStore, key: str, number: int) -> None:
    """Calls through the doors of programs, of which some are refused, repeated or no command."""
    client, path = Client(headers={"Authorization": f"Bearer {key}"}), f"/notes/{number}.md"
    inputs: list[dict[str, Any]] = [
        {"command": "create", "path": f"/memories{path}", "file_text": "One\n"},
        {"command": "view", "path": f"/memories{path}"},
        {"command": "str_replace", "path": f"/memories{path}", "old_str": "One", "new_str": "Two"},
        {"command": "str_replace", "path": f"/memories{path}", "old_str": "One", "new_str": "Three"},
        {"command": "view", "path": "/memories/missing.md"},
        {"command": f"dance{number}", "path": "/memories"},
        {"command": "view", "path": "/memories"},
    ]
    for place, one in enumerate(inputs):
        block = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": "memory", "input": one}
        for _again in range(2 if place == 0 else 1):
            url = f"/v1/memory_stores/{store.pk}/tool_calls"
            assert client.post(url, block, content_type="application/json").status_code == 200
    assert client.get(f"/v1/memory_stores/{store.pk}/memories").status_code == 200


def in_the_audit() -> Counter[tuple[str, str, str]]:
    """What the entries say, counted without the hub's own code for it."""
    found: Counter[tuple[str, str, str]] = Counter()
    by_seq = {(one.chain, one.seq): one for one in AuditEntry.objects.exclude(chain=HUB)}
    for one in by_seq.values():
        first = by_seq.get((one.chain, one.replay_of or 0), one)
        message = json.loads(first.message) if first.message else ""
        outcome = "ok" if one.ok else str(kinds.kind_of(message).value)
        known = one.command if one.command and not one.command.startswith("dance") else "other"
        found[known, one.door, outcome] += 1
    return found


@pytest.mark.both_databases
def test_after_a_mixed_load_the_metrics_are_the_audits_own_counts(
    store: MemoryStore, key: str, alice: User, superuser: User
) -> None:
    """In the long form, some 10,000 calls."""
    del superuser
    rounds = tried(1_100, 4)
    for number in range(rounds):
        load(store, key, number)
    before = samples(scrape())
    assert before["memoryhub_calls_behind", ()] == AuditChain.objects.get(pk=store.pk).last_seq
    while not figures.catch_up():
        pass
    text = scrape()
    assert calls(text) == in_the_audit() and calls(text).total() > 30
    assert calls(text)["other", "api", "malformed"] or calls(text)["other", "tool", "malformed"]
    found = samples(text)
    assert found["memoryhub_calls_behind", ()] == 0
    durations = sum(AuditEntry.objects.exclude(chain=HUB).values_list("duration", flat=True))
    sums = [value for (name, _), value in found.items() if name == "memoryhub_call_seconds_sum"]
    assert sum(sums) == pytest.approx(durations / 1_000_000)
    whole = {labels: value for (name, labels), value in found.items() if name == "memoryhub_call_seconds_count"}
    for (name, labels), value in found.items():
        if name == "memoryhub_call_seconds_bucket" and dict(labels)["le"] == "+Inf":
            assert value == whole[tuple(label for label in labels if label[0] != "le")]
    assert (
        found["memoryhub_audit_entries_total", (("chain", "stores"),)] == AuditChain.objects.get(pk=store.pk).last_seq
    )
    assert found["memoryhub_memories", ()] == rounds
    signed_in(alice).get("/")
    assert calls(scrape()) == calls(text)


def test_numbers_never_fall_when_figures_are_counted_again_or_entries_are_removed(store: MemoryStore, key: str) -> None:
    load(store, key, 1)
    figures.catch_up()
    counted = calls(scrape())
    figures.forget(store.pk)
    figures.catch_up()
    assert calls(scrape()) == counted
    load(store, key, 2)
    figures.catch_up()
    assert calls(scrape()) == in_the_audit()
    now = timezone.now() + timedelta(days=40)
    act = Act(Actor.system("tests"), Door.COMMAND, now)
    policies.save_policy(store.pk, PolicySettings(name="Short", keep_entry_days=1), act)
    run = runs.start(store.pk, act, now)
    while runs.step(run.pk, now):
        pass
    figures.catch_up()
    later = calls(scrape())
    assert all(later[name] >= number for name, number in counted.items())
    assert MeteredChain.objects.get(pk=store.pk).seq == AuditChain.objects.get(pk=store.pk).last_seq


@pytest.mark.both_databases
def test_the_entries_of_a_deleted_store_are_counted_up_to_its_deletion(store: MemoryStore, key: str) -> None:
    load(store, key, 1)
    figures.catch_up()
    load(store, key, 2)
    delete.delete_store(store.pk, act=Act(Actor.system("tests"), Door.COMMAND, timezone.now()))
    while delete.step(store.pk):
        pass
    assert not MemoryStore.every.filter(pk=store.pk).exists()
    text = scrape()
    assert calls(text) == in_the_audit() and calls(text)["delete_store", "command", "ok"] == 1
    assert samples(text)["memoryhub_calls_behind", ()] == 0


def test_a_label_has_no_name_and_no_id(store: MemoryStore, key: str, alice: User) -> None:
    load(store, key, 1)
    figures.catch_up()
    background.note(Outcome("figures", timezone.now()), 'a "node"\\')
    text = scrape()
    for secret in ("Support", store.pk, "Support bot", alice.email, "notes", "dance", "apikey"):
        assert secret not in text
    assert ("memoryhub_background_failures", (("node", 'a "node"\\'), ("work", "figures"))) in samples(text)


def test_a_scrape_reads_no_large_table(store: MemoryStore, key: str, django_assert_max_num_queries: Any) -> None:
    load(store, key, 1)
    figures.catch_up()
    with django_assert_max_num_queries(16) as seen:
        scrape()
    for table in ("auditentry", "memory_memory ", "memoryversion", "memorytext", "directory", "activity"):
        assert not any(f"memoryhub_{table}" in query["sql"].replace('"', "") for query in seen.captured_queries), table


def test_without_a_token_only_this_machine_reads_metrics(client: Client, settings: Any) -> None:
    assert client.get("/metrics", REMOTE_ADDR="::1").status_code == 200
    for asked in (
        {"REMOTE_ADDR": "203.0.113.5"}, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_X_REAL_IP": "127.0.0.1"}, {"REMOTE_ADDR": ""},
    ):  # fmt: skip
        assert client.get("/metrics", **asked).status_code == 404, asked
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert client.get("/metrics", HTTP_X_FORWARDED_FOR="127.0.0.1").status_code == 404
    answer = client.post("/metrics")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.headers["request-id"] == request_ids.current.get(), "the log would name the request before it"


def test_with_a_token_every_reader_needs_it_wherever_it_is(client: Client, settings: Any) -> None:
    settings.MEMORYHUB_METRICS_TOKEN = TOKEN
    for wrong in ({}, {"HTTP_AUTHORIZATION": f"Bearer {TOKEN}x"}, {"HTTP_AUTHORIZATION": TOKEN}):
        answer = client.get("/metrics", **wrong)
        assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    away = {"REMOTE_ADDR": "203.0.113.5", "HTTP_HOST": "10.0.0.7:8000", "HTTP_X_FORWARDED_FOR": "198.51.100.4"}
    assert "memoryhub_stores" in scrape(client, HTTP_AUTHORIZATION=f"Bearer {TOKEN}", **away)


@pytest.mark.both_databases
def test_buckets_are_bounded_from_above_as_prometheus_wants(store: MemoryStore) -> None:

    with writing():
        durations = enumerate((0, 1_000, 1_001, 10**9), start=1)
        made = [metering.Call(number, "view", "tool", "ok", micros) for number, micros in durations]
        metering.add(store.pk, made)
        metering.add(store.pk, made)
    row = CallCount.objects.get()
    assert (row.count, row.micros, sum(row.buckets)) == (4, 2_001 + 10**9, 4)
    assert (row.buckets[0], row.buckets[1], row.buckets[-1]) == (2, 1, 1)


def test_a_line_of_json_has_the_id_of_its_request(client: Client) -> None:
    answer = client.get("/nothing/here")
    assert answer.headers["request-id"].startswith("req_")
    try:
        raise ValueError("/invitations/abcdefghijklmnopqrstuvwxyz")
    except ValueError as error:
        raised = (ValueError, error, error.__traceback__)
        record = logging.LogRecord("hub", 40, "", 0, "Not “found”: %s", ("/a\nb",), raised)
    (line,) = Json().format(record).splitlines()
    told = json.loads(line)
    assert told["request_id"] == answer.headers["request-id"] and told["level"] == "ERROR"
    assert told["message"] == "Not “found”: /a\nb" and "[token]" in told["error"] and "abcdef" not in line
    assert client.get("/v1/memory_stores").headers["request-id"] == request_ids.current.get()
