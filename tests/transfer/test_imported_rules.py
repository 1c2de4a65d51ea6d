"""Path rules of an export: only an administrator takes them over, they follow those that are here, and give nothing."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Actor
from memoryhub.actions.core.rules.protected_lines import ProtectedLines
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import path_rules
from memoryhub.actions.transfer import importing
from memoryhub.models import AuditEntry, Import, Key, Memory, MemoryStore, Role, User
from memoryhub.pure.path_rules import Effect, Lines, PathRule
from tests.support.fixtures import BY, new_person, signed_in
from tests.transfer import trips
from tests.transfer.exported import export, lines_of, of_type
from tests.transfer.governed import C, governed, rule, rules_for
from tests.transfer.test_governance import written
from tests.web.history.versions import HOSTILE
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def ruled(store: MemoryStore, key: str, alice: User) -> MemoryStore:
    governed(store, key, alice)
    return store


def rules_of(store: MemoryStore) -> tuple[PathRule, ...]:
    return path_rules.of_store(MemoryStore.objects.get(pk=store.pk))


def preview_of(client: Any, job: Import) -> str:
    return str(client.get(reverse("import_", args=[job.store_id, job.pk])).content.decode())


def run_as(user: User, job: Import) -> Import:
    importing.start(job.pk, trips.act(41, Actor.person(user)))
    while importing.step(job.pk, trips.act(41).at):
        pass
    job.refresh_from_db()
    return job


def choose(client: Any, job: Import) -> None:
    number = job.items.get(found="rules").number
    client.post(reverse("choose_import", args=[job.store_id, job.pk]), {f"choice-{number}": "take"})


@pytest.mark.push
def test_an_administrator_takes_them_over_with_a_tick(ruled: MemoryStore, own_checkpoints: Path) -> None:
    target, data = trips.new_store("Target"), export(ruled, "jsonl", governance=True)
    admin, curator = new_person("Ada"), new_person("Cleo")
    for person, role in ((admin, Role.ADMIN), (curator, Role.CURATOR)):
        keys_and_roles.set_role(target, person, role, **BY)
    agent = Key.objects.for_store(ruled).get().agent
    keys_and_roles.issue_key(agent, stores=[target], **BY)
    job = run_as(admin, trips.prepared(target, data))
    assert rules_of(target) == () and job.items.get(found="rules").outcome == "skipped", "never without a tick"
    job = trips.prepared(target, data)
    html = preview_of(signed_in(curator), job)
    assert "no agent may change, delete or rename" in html.lower() or "Legal said so" in html
    assert "Take over the path rules" not in html and "only if an admin of the memory store" in html
    choose(signed_in(curator), job)
    assert job.items.get(found="rules").choice == "skip"
    client = signed_in(admin)
    assert "Take over the path rules" in preview_of(client, job)
    choose(client, job)
    assert job.items.get(found="rules").choice == "take" and "checked" in preview_of(client, job)
    run_as(curator, job)
    item = job.items.get(found="rules")
    assert rules_of(target) == () and (item.outcome, item.seq is not None) == ("refused", True)
    assert "Only an admin of" in preview_of(client, job)
    told = client.get(reverse("entry", args=[target.pk, item.seq])).content.decode()
    assert "tried to take over path rules" in told and "Only an admin of" in told
    job = trips.prepared(target, data)
    choose(client, job)
    run_as(admin, job)
    found = rules_of(target)
    assert [one.effect for one in found] == [one.effect for one in rules_for(ruled)]
    entry = AuditEntry.objects.of_chain(target.pk).of_command("edit_path_rules").newest()[0]
    assert entry.actor_id == admin.pk and job.pk in str(entry.input) and entry.group == job.group
    assert client.get(reverse("path_rules", args=[target.pk])).content.decode().count("Legal said so") >= 1
    assert "Path rules" in preview_of(client, job)
    undo = client.get(reverse("undo_import", args=[target.pk, job.pk])).content.decode()
    assert "path rules that were taken over" in undo
    trips.require_verified(target, own_checkpoints)


@pytest.mark.both_databases
def test_they_follow_the_rules_that_are_here_and_come_once(ruled: MemoryStore) -> None:
    target, data = trips.new_store("Target"), export(ruled, "jsonl", governance=True)
    own = (PathRule(Effect.REFUSE, "/policies/", reason="Ours"), PathRule(Effect.PROPOSE, "/policies/"))
    rule(target, *own)
    trips.run(trips.with_rules(trips.prepared(target, data)))
    found = rules_of(target)
    assert found[:2] == own and len(found) == 2 + 4, "one of five is there already"
    job = trips.run(trips.with_rules(trips.prepared(target, data)))
    assert rules_of(target) == found and job.items.get(found="rules").outcome == "same"


@pytest.mark.both_databases
def test_protected_lines_are_those_of_the_imported_version(ruled: MemoryStore, alice: User) -> None:
    memory = Memory.objects.at(C).get(store=ruled)
    curation.edit(ruled.pk, memory.pk, f"zero\n{memory.text and memory.text.content}", memory.sha256, act(alice))
    data = export(ruled, "jsonl", governance=True)
    for place in ("", "/here"):
        target = trips.new_store("Target")
        trips.run(trips.with_rules(trips.prepared(target, data, place)))
        first = rules_of(target)[0]
        assert isinstance(first.only_if, Lines) and first.pattern == place + C
        here = Memory.objects.at(first.pattern).get(store=target)
        assert ProtectedLines(target.pk).in_newest(here.pk, first.only_if)[1] == [3, 4]
        patterns = {f"{place}/policies/", f"{place}/policies/free/", f"{place}/secret/", place + C}
        assert {one.pattern for one in rules_of(target)} == patterns
    target = trips.new_store("Same")
    curation.create(target.pk, C, str(memory.text and memory.text.content), act())
    job = trips.with_rules(trips.prepared(target, data))
    importing.choose(job.pk, "skip", list(job.items.exclude(found="rules").values_list("number", flat=True)))
    trips.run(job)
    assert isinstance(rules_of(target)[0].only_if, Lines), "another version with the same text"
    target = trips.new_store("Beside")
    curation.create(target.pk, C, "other\n", act())
    job = trips.with_rules(trips.prepared(target, data))
    importing.choose(job.pk, "beside")
    trips.run(job)
    here, first = Memory.objects.at("/policies/c (imported).md").get(store=target), rules_of(target)[0]
    assert first.pattern == here.path and isinstance(first.only_if, Lines), "the rule is about the memory that came"
    assert ProtectedLines(target.pk).in_newest(here.pk, first.only_if)[1] == [3, 4]
    target = trips.new_store("Nothing")
    job = trips.with_rules(trips.prepared(target, data))
    importing.choose(job.pk, "skip", list(job.items.exclude(found="rules").values_list("number", flat=True)))
    trips.run(job)
    assert (
        len(rules_of(target)) == 4 and "Rule 1 is left out. The text whose lines" in job.items.get(found="rules").reason
    )


@pytest.mark.both_databases
def test_a_rule_for_who_is_not_here_is_left_out(ruled: MemoryStore) -> None:
    lines = lines_of(export(ruled, "jsonl", governance=True))
    told = of_type(lines, "path_rules")[0]["rules"]
    key, other = Key.objects.for_store(ruled).get(), keys_and_roles.create_agent("Planner", **BY)
    told[1] |= {"who": "agent_elsewhere", "name": "Planner"}
    told[2] |= {"who": "apikey_elsewhere", "name": "Planner"}
    told[4] |= {"who": "agent_unknown", "name": HOSTILE}
    told[3] |= {"who": key.agent_id, "name": ""}
    target = trips.new_store("Target")
    admin = new_person("Ada")
    keys_and_roles.set_role(target, admin, Role.ADMIN, **BY)
    job = trips.prepared(target, written(lines))
    html = preview_of(signed_in(admin), job)
    assert html.count("The agent or key of the rule is not here.") == 4 and "<script>alert" not in html
    assert key.agent.name not in html.split("import-rules")[1].split("</ol>")[0], "no name that she may not know"
    keys_and_roles.issue_key(other, stores=[target], **BY)
    choose(signed_in(admin), job)
    run_as(admin, job)
    found = rules_of(target)
    assert len(found) == 2 and found[1].who == other.pk, "a key is not the agent with its name"
    assert "Rule 3" in job.items.get(found="rules").reason and "Rule 4" in job.items.get(found="rules").reason
    assert "Rule 3" in preview_of(signed_in(admin), job)


def test_too_many_and_a_directory_with_a_star_are_refused(ruled: MemoryStore) -> None:
    data = export(ruled, "jsonl", governance=True)
    target = trips.new_store("Full")
    rule(target, *(PathRule(Effect.REFUSE, f"/{number}/") for number in range(98)))
    job = trips.run(trips.with_rules(trips.prepared(target, data)))
    assert len(rules_of(target)) == 98 and "100 are the most" in job.items.get(found="rules").reason
    target = trips.new_store("Star")
    trips.run(trips.with_rules(trips.prepared(target, data, "/a*")))
    assert rules_of(target) == ()


@pytest.mark.both_databases
def test_the_command_takes_them_over_if_told(ruled: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_bytes(export(ruled, "jsonl", governance=True))
    for options, count in (((), 0), (("--path-rules",), 5)):
        target, said = trips.new_store("Target"), io.StringIO()
        call_command("import_store", target.pk, str(file), *options, stdout=said, stderr=io.StringIO())
        assert len(rules_of(target)) == count and "5 path rules" in said.getvalue()
        assert ("path rules taken over" in said.getvalue()) == bool(options)


@pytest.mark.both_databases
def test_the_list_of_imports_counts_memories_alone(ruled: MemoryStore, superuser: User) -> None:
    target, data = trips.new_store("Target"), export(ruled, "jsonl", governance=True)
    job = trips.prepared(target, data)
    memories = job.items.filter(is_proposal=False).exclude(found="rules").count()
    assert memories and job.items.filter(is_proposal=True).exists() and job.items.filter(found="rules").exists()
    assert f'<td class="num nowrap">{memories}<' in preview_of_list(superuser, target)


def preview_of_list(user: User, store: MemoryStore) -> str:
    return signed_in(user).get(reverse("imports", args=[store.pk])).content.decode()
