"""What people decided and said comes along with an export, and an import shows it as history of another hub."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.proposed_texts import REMOVED
from memoryhub.actions.core.sql import lists
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.findings import rules
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.decide import AlreadyDecided
from memoryhub.actions.retention import removal
from memoryhub.actions.stores import stores
from memoryhub.models import (
    Access,
    Agent,
    AuditEntry,
    Comment,
    Import,
    Key,
    MemoryStore,
    Proposal,
    ProposedChange,
    Role,
    User,
)
from memoryhub.pure.transfer.bundle import Refused
from tests.api.harness import JSON, Hub
from tests.api.memory_calls import Api
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.long import tried
from tests.transfer import trips
from tests.transfer.exported import archive, export, lines_of, of_type
from tests.transfer.governed import NEW, A, B, governed, lived, told
from tests.web.history.versions import HOSTILE, Caller
from tests.web.memories.pages import act
from tests.web.proposals.proposing import edit, listed, url_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def source(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> Caller:
    """The agent of a governed store, made once; what a test changes is undone."""
    with django_db_blocker.unblock():
        store, key, alice = new_source("Alice", "Support bot")
        return governed(store, key, alice)


def new_source(admin: str, bot: str) -> tuple[MemoryStore, str, User]:
    """A memory store, the secret of a key of an agent, and an admin."""
    store = stores.create_store(stores.StoreSettings(name="Support"), **BY)
    person = new_person(admin)
    keys_and_roles.set_role(store, person, Role.ADMIN, **BY)
    agent = keys_and_roles.create_agent(bot, **BY)
    return store, keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1], person


@pytest.fixture
def store(source: Caller, db: None) -> MemoryStore:
    return MemoryStore.objects.get(pk=source.store.pk)


@pytest.fixture
def alice(source: Caller, db: None) -> User:
    return User.objects.get(name="Alice")


def brought(data: bytes, name: str = "Target", **more: Any) -> MemoryStore:
    """An import of an export into an empty store, with its path rules."""
    target = trips.new_store(name)
    trips.run(trips.with_rules(trips.prepared(target, data, **more)))
    return target


@pytest.mark.push
@pytest.mark.both_databases
@pytest.mark.parametrize("form", ["jsonl", "zip"])
def test_all_of_it_comes_back_the_same(
    form: str, source: Caller, store: MemoryStore, superuser: User, own_checkpoints: Path
) -> None:
    target = brought(export(store, form, governance=True))
    assert told(target) == told(store)
    states = Proposal.objects.of_store(target.pk).order_by("number").values_list("state", flat=True)
    assert list(states) == ["merged", "partly_merged", "refused", "withdrawn", "open"]
    trips.require_verified(target, own_checkpoints)
    client = signed_in(superuser)
    job = Import.objects.get()
    html = " ".join(client.get(reverse("import_", args=[target.pk, job.pk])).content.decode().split())
    assert re.search(
        r"were imported\.( \d+ of them[^.]+\. <a[^>]+>Open the trash</a>)? 5 proposals were imported with them\.", html
    )
    html = client.get(url_of(target, 1)).content.decode()
    assert "Alice (imported)" in html and "merged" in html and "Is 2 right?" in html
    html = client.get(url_of(target, 2)).content.decode()
    assert "merged in part" in html and "left out</span>" in html
    assert "It is needed" in client.get(url_of(target, 3)).content.decode()
    assert "Alice (imported)" in client.get(listed(target, "?state=decided")).content.decode()
    html = client.get(reverse("export_store", args=[trips.new_store("Empty").pk])).content.decode()
    assert "With history" in html and "With proposals" not in html


@pytest.mark.push
@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(tried(192, 2)))
def test_whatever_happened_comes_back_the_same(seed: int, db: None, own_checkpoints: Path) -> None:
    store, key, person = new_source("Ada", "Another bot")
    lived(Random(seed), store, key, person)
    target = brought(export(store, "jsonl", governance=True))
    assert told(target) == told(store)
    again = brought(export(target, "jsonl", governance=True), "Again")
    assert told(again) == told(store)
    for one in (target, again):
        trips.require_verified(one, own_checkpoints)


@pytest.mark.both_databases
def test_a_decision_of_another_hub_gives_nothing_here(source: Caller, store: MemoryStore, superuser: User) -> None:
    target = brought(export(store, "jsonl", governance=True))
    client = signed_in(superuser)
    for number in (1, 2, 3):
        proposal = Proposal.objects.of_store(target.pk).get(number=number)
        assert (proposal.agent, proposal.key, proposal.session) == ("", "", None)
        assert "Open it again" not in client.get(url_of(target, number)).content.decode()
        with pytest.raises(AlreadyDecided):
            decide.reopen(target.pk, number, act(superuser))
        assert decide.take_back(target.pk, proposal.seq or 0, act(superuser)) is None
        client.post(url_of(target, number), {"decision": "reopen"})
    agent = Key.objects.for_store(store).get().agent_id
    assert lists.has_merged(store.pk, agent) and not lists.has_merged(target.pk, agent)
    assert not Comment.objects.of_store(target.pk).exclude(by=None, tells=False, agent=None).exists()
    entries = AuditEntry.objects.of_chain(target.pk)
    assert entries.filter(command="import_decision", ok=True).count() == 4
    assert not entries.filter(command__in=(decide.MERGE, decide.EDIT_AND_MERGE, decide.REFUSE)).exists()
    html = client.get(reverse("entry", args=[target.pk, proposal.seq])).content.decode()
    assert "imported proposal #3 with the decision about it" in html


@pytest.mark.both_databases
def test_without_history_and_beside_others_it_shows_what_is_left(
    source: Caller, store: MemoryStore, superuser: User, own_checkpoints: Path
) -> None:
    data = export(store, "jsonl", governance=True, history=False)
    target = brought(data)
    client = signed_in(superuser)
    for number in range(1, 6):
        assert client.get(url_of(target, number)).status_code == 200
    job = trips.prepared(target, export(store, "jsonl", governance=True), "/here")
    trips.run(trips.with_rules(job))
    html = client.get(url_of(target, 7)).content.decode()
    assert "/here/policies/b.md" in html and "merged in part" in html
    again = trips.run(trips.prepared(target, data))
    assert {item.outcome for item in again.items.filter(is_proposal=False)} == {"same", "skipped"}
    trips.require_verified(target, own_checkpoints)
    assert len({proposal.number for proposal in Proposal.objects.of_store(target.pk)}) == 15


@pytest.mark.push
@pytest.mark.both_databases
def test_what_is_redacted_and_erased_here_is_gone_from_it(
    source: Caller, store: MemoryStore, alice: User, own_checkpoints: Path
) -> None:
    target = brought(export(store, "jsonl", governance=True))
    changes = ProposedChange.objects.filter(store=target)
    became = {change.path: change.became for change in changes.filter(became__isnull=False)}
    assert set(became) == {A, NEW, B}
    edit(target, A, "2", "II", alice), edit(target, NEW, "new", "newer", alice)
    for path in (A, NEW):
        redaction.redact_version(target.pk, str(became[path]), act(alice))
        assert set(changes.filter(became=became[path]).values_list("content", flat=True)) == {REMOVED}
    assert changes.filter(path=B, content=REMOVED).count() == 0
    trips.require_verified(target, own_checkpoints)
    for terms in (["It is needed"], ["Alice"], ["Support bot"], ["Legal said so"], ["Why Roman?"], ["seven"]):
        found = erasure.search(target.pk, terms, at=trips.act(50).at)
        assert found.hits, terms
        erasure.erase(target.pk, terms, found.digest, trips.act(51))
        assert not erasure.search(target.pk, terms, at=trips.act(52).at).hits
        assert terms[0] not in str(of_type(told(target), "decided_proposal"))
    assert all(one.was_decided_elsewhere for one in Proposal.objects.filter(store=target, number__lt=5))
    trips.require_verified(target, own_checkpoints)


@pytest.mark.both_databases
def test_retention_removes_an_imported_decision_with_its_entry(source: Caller, store: MemoryStore) -> None:
    target = brought(export(store, "jsonl", governance=True))
    seq = Proposal.objects.of_store(target.pk).get(number=4).seq or 0
    removal.remove_entries(target.pk, seq, trips.act(60 * 24 * 90))
    assert list(Proposal.objects.of_store(target.pk).values_list("number", flat=True)) == [5]
    assert not Comment.objects.of_store(target.pk).filter(text="Is 2 right?").exists()


@pytest.mark.both_databases
def test_the_rules_for_sensitive_text_hold_for_it(source: Caller, store: MemoryStore) -> None:
    lines = lines_of(export(store, "jsonl", governance=True))
    refused = next(one for one in of_type(lines, "decided_proposal") if one["state"] == "refused")
    refused["reason"], refused["decided_by"] = "Ask ann@example.com", "bob@example.com"
    refused["agent"]["label"] = "ida@example.com"
    refused["changes"][0] |= {"deletes": False, "content": "Write to eve@example.com\n"}
    target = trips.new_store("Masks")
    rules.save_rules(target.pk, {"email": "mask"}, Act(**BY))
    trips.run(trips.prepared(target, written(lines)))
    kept = [*Proposal.objects.filter(store=target).values(), *ProposedChange.objects.filter(store=target).values()]
    assert "@example.com" not in str(kept) and len(Proposal.objects.filter(store=target)) == 5
    target = trips.new_store("Blocks")
    rules.save_rules(target.pk, {"email": "block"}, Act(**BY))
    job = trips.run(trips.prepared(target, written(lines)))
    assert "an e-mail address" in job.items.get(is_proposal=True, outcome="refused").reason


# ------------------------------------------------------------------------------------------------ hostile files

OF_A_DECISION: list[dict[str, Any]] = [
    {"state": "open"}, {"state": "superseded"}, {"state": None}, {"decided_at": "soon"}, {"decided_at": None},
    {"decided_by": 1}, {"decided_by": "\0"}, {"decided_by": "x" * 1001}, {"reason": "x" * 4001}, {"reason": "\ud800"},
    {"number": 0}, {"number": 2**40}, {"number": "1"}, {"threads": {}}, {"threads": [1]}, {"agent": None},
]  # fmt: skip
OF_A_CHANGE: list[dict[str, Any]] = [
    {"outcome": "approved"}, {"outcome": 1}, {"edited": "yes"}, {"replaced": "gone"}, {"became": 1}, {"base_id": []},
    {"memory_id": "\0"},
]  # fmt: skip
OF_A_TALK: list[dict[str, Any]] = [
    {"change": 99}, {"number": 99}, {"line": None}, {"line": 0}, {"line": 2**70}, {"old": 1}, {"comments": []},
    {"base": 1}, {"resolved_at": "x"}, {"change": None},
]  # fmt: skip
OF_A_RULE: list[dict[str, Any]] = [
    {"effect": "grant"}, {"pattern": "relative"}, {"pattern": "/a\u202e"}, {"pattern": 1}, {"verbs": []}, {"verbs": 1},
    {"verbs": ["own"]}, {"who": None}, {"who": 0}, {"who": "a b"}, {"who": "x" * 99}, {"reason": "two\nlines"},
    {"reason": []}, {"only_if": "lines:x:3-2"}, {"only_if": "always"}, {"until": "never"}, {"most": 0}, {"most": True},
    {"most": 1.5}, {"name": "x" * 1001}, {"name": "\ud800"}, {"effect": "hide", "only_if": "by_person"},
    {"effect": "hide", "verbs": ["create"]}, {"pattern": "/policies/", "only_if": "lines:x:1-2"},
]  # fmt: skip


def test_what_cannot_be_is_refused(source: Caller, store: MemoryStore) -> None:
    data = export(store, "jsonl", governance=True)
    assert len(trips.read(data).bundle.proposals) == 5 and len(trips.read(data).bundle.rules) == 5
    for damages, at in ((OF_A_DECISION, 0), (OF_A_CHANGE, 1), (OF_A_TALK, 2), (OF_A_RULE, 3)):
        for damage in damages:
            lines = lines_of(data)
            decided, rule = of_type(lines, "decided_proposal")[0], of_type(lines, "path_rules")[0]["rules"][3]
            (decided, decided["changes"][0], decided["threads"][0], rule)[at].update(damage)
            with pytest.raises(Refused):
                trips.read(written(lines))
    lines = lines_of(data)
    with pytest.raises(Refused, match="two lists"):
        trips.read(written([*lines[:-1], *of_type(lines, "path_rules"), lines[-1]]))
    of_type(lines, "path_rules")[0]["rules"] *= 21
    with pytest.raises(Refused, match="too many"):
        trips.read(written(lines))


@pytest.mark.both_databases
def test_a_hostile_file_breaks_no_page(source: Caller, store: MemoryStore, superuser: User) -> None:
    lines = lines_of(export(store, "jsonl", governance=True))
    bad = f"{HOSTILE} \x00"[:-2] + "\u202e"
    for number, one in enumerate(of_type(lines, "decided_proposal"), 1):
        one |= {"decided_by": bad, "reason": bad * 3, "opened_at": "0001-01-01T00:00:00Z", "number": 999_999_999}
        one |= {"decided_at": "9999-12-31T23:59:59Z"}
        one["agent"] |= {"id": "agent with spaces", "label": bad + "\ud800"}
        for change in one["changes"]:
            change |= {"memory_id": "mem_x", "became": "memver_x", "base_id": None, "base": None, "outcome": "merged"}
            change |= {"replaced": "whole", "edited": True}
            if number == 1:
                change |= {"path": "/" + "ü" * 90, "memory": "/nowhere"}
        for talk in one["threads"]:
            talk["base"] = "x'><script>"
            talk["comments"][0]["author"] = bad
    target = brought(written(lines))
    client = signed_in(superuser)
    proposals = list(Proposal.objects.of_store(target.pk).exclude(state="open"))
    assert len(proposals) == 4 and max(one.number for one in proposals) < 100
    assert all(one.decided_at and one.decided_at <= trips.act(50).at for one in proposals)
    for proposal in proposals:
        answer = client.get(url_of(target, proposal.number))
        assert answer.status_code == 200 and b"<script>alert" not in answer.content
    assert client.get(listed(target, "?state=decided")).status_code == 200
    assert b"<script>alert" not in client.get(listed(target, "?state=decided")).content
    assert told(target)


# ------------------------------------------------------------------------------------------------ doors


def test_viewers_and_agents_do_not_get_it(
    source: Caller, store: MemoryStore, alice: User, bob: User, tmp_path: Path
) -> None:
    url, asked = reverse("export_store", args=[store.pk]), {"format": "jsonl", "history": "1", "governance": "1"}
    for person, may in ((alice, True), (bob, False)):
        client = signed_in(person)
        assert ("With proposals, comments and path rules" in client.get(url).content.decode()) == may
        body = b"".join(client.post(url, asked).streaming_content)  # type: ignore[attr-defined]
        assert all((f'"type": "{type}"'.encode() in body) == may for type in ("decided_proposal", "path_rules"))
    wanted = {"format": "zip", "governance": True}
    assert Api(Hub(store, source.key)).refused("POST", "/export", wanted)[0] == 403
    manager = keys_and_roles.issue_key(Agent.objects.get(), stores=[store], access=Access.MANAGE, **BY)[1]
    headers, address = {"authorization": f"Bearer {manager}"}, f"/v1/memory_stores/{store.pk}/export"
    body = b"".join(Client().post(address, wanted, JSON, headers=headers).streaming_content)  # type: ignore[attr-defined]
    assert of_type(archive(body)[2] or [], "path_rules")
    for form, more in (("git", {}), ("zip", {"history": False}), ("jsonl", {"path": "/policies"})):
        body = export(store, form, governance=True, **more)
        assert b"decided_proposal" not in body and b"path_rules" not in body


def written(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
