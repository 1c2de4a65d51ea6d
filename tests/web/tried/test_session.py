"""Replay a session on a copy: each answer is compared with the one that it had, what differs has a reason."""

from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.retention import removal
from memoryhub.models import AuditEntry, Door, Key, MemoryStore, MemoryVersion, Session, User
from memoryhub.pure.path_rules import Effect, PathRule
from memoryhub.web.tried import replay as replaying
from tests.api.harness import Hub
from tests.api.path_rules.test_path_rules import set_rules
from tests.support.fixtures import AT, BY, signed_in
from tests.web.tried.dumps import dump

pytestmark = pytest.mark.django_db

NOTE = "/memories/notes/todo.md"


@pytest.fixture(autouse=True)
def in_no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay ends by the number of its calls, however busy the machine is."""
    monkeypatch.setattr(replaying, "LONGEST", 600)


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    """A session that read, wrote and was refused."""
    made = Hub(store, key)
    made.call(command="create", path="/memories/old.md", file_text="old\n")
    for input in (
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": NOTE, "file_text": "buy milk\n"},
        {"command": "str_replace", "path": NOTE, "old_str": "milk", "new_str": "tea"},
        {"command": "view", "path": "/memories/none.md"},
        {"command": "delete", "path": "/memories/old.md"},
    ):
        in_session(made, **input)
    return made


def in_session(hub: Hub, **input: object) -> None:
    assert hub.send(hub.block(**input), memoryhub_session="run-1").status == 200


def replayed(hub: Hub, who: User, **fields: Any) -> Any:
    """The response to a pressed replay, which changed nothing."""
    before = dump()
    address = reverse("replay_session", args=[hub.store.id, Session.objects.get().pk])
    response = signed_in(who).post(address, fields)
    assert response.status_code == 200 and dump() == before
    return response


def differences(response: Any) -> dict[str, list[str]]:
    """{command of a call: the reasons why its answer differs}"""
    calls = response.context["replay"].calls
    return {call.entry.command: [reason.words for reason in call.reasons] for call in calls if call.reasons}


def test_a_replay_on_the_store_before_the_session_answers_the_same(hub: Hub, alice: User) -> None:
    response = replayed(hub, alice)
    replay = response.context["replay"]
    assert (replay.same, replay.different, replay.skipped, replay.next) == (5, 0, 0, None)
    text = response.content.decode()
    assert "No answer differs." in text and "This was a replay: nothing has changed." in text


@pytest.mark.both_databases
def test_a_replay_on_the_store_of_now_says_what_the_session_itself_changed(hub: Hub, alice: User) -> None:
    found = differences(replayed(hub, alice, moment="now"))
    assert set(found) == {"view", "create", "str_replace", "delete"}
    assert found["create"] == ["The session itself has changed it since."]


def test_a_rule_of_today_is_the_reason(hub: Hub, alice: User) -> None:
    set_rules(hub.store, PathRule(Effect.REFUSE, "/notes/"), PathRule(Effect.PROPOSE, "/old.md"))
    response = replayed(hub, alice)
    found = differences(response)
    assert found["create"] == ["A path rule refuses it now."]
    assert found["str_replace"] == ["An earlier call of the session has another outcome here."]
    assert found["delete"] == ["A path rule makes it a proposal now."]
    assert "A path rule does not let this agent" in response.content.decode()
    set_rules(hub.store, PathRule(Effect.HIDE, "/old.md"))
    assert "A path rule hides it from this agent now." in differences(replayed(hub, alice))["delete"]


def test_what_was_refused_then_and_is_not_now_says_so(hub: Hub, alice: User) -> None:
    set_rules(hub.store, PathRule(Effect.REFUSE, "/policies/"))
    in_session(hub, command="create", path="/memories/policies/a.md", file_text="x")
    set_rules(hub.store)
    assert differences(replayed(hub, alice)) == {
        "create": ["At that time, a path rule refused the call. Now it would not be refused."]
    }  # fmt: skip


def test_what_something_else_refuses_now_is_not_called_allowed(hub: Hub, alice: User) -> None:
    in_session(hub, command="create", path="/memories/policies/a.md", file_text="-----BEGIN PRIVATE KEY-----\n")
    set_rules(hub.store, PathRule(Effect.REFUSE, "/policies/"))
    assert differences(replayed(hub, alice)) == {"create": ["A path rule refuses it now."]}


def test_who_wrote_while_the_session_ran_is_named(hub: Hub, alice: User) -> None:
    other = Hub(
        hub.store, keys_and_roles.issue_key(keys_and_roles.create_agent("Rival", **BY), stores=[hub.store], **BY)[1]
    )
    other.call(command="insert", path=NOTE, insert_line=0, insert_text="first\n")
    in_session(hub, command="view", path=NOTE)
    found = differences(replayed(hub, alice))
    assert found == {
        "view": ["Rival changed it while the session ran. The replay has only the calls of the session."]
    }  # fmt: skip
    now = differences(replayed(hub, alice, moment="now"))
    assert now["create"] == ["Rival has changed it since."]


def test_who_erased_texts_since_is_named(store: MemoryStore, key: str, alice: User) -> None:
    hub = Hub(store, key)
    hub.call(command="create", path="/memories/customers.md", file_text="Northwind Traders Limited\n" * 300)
    in_session(hub, command="view", path="/memories")
    found = erasure.search(store.id, ["Northwind Traders Limited"], AT)
    erasure.erase(store.id, ["Northwind Traders Limited"], found.digest, Act(Actor.person(alice), Door.WEB, AT))
    why = f"{alice.name} has since erased texts from the memory store, maybe this one."
    assert differences(replayed(hub, alice)) == {"view": [why]}
    assert differences(replayed(hub, alice, moment="now")) == {"view": [f"{alice.name} has changed it since."]}


def test_a_revoked_key_does_not_end_the_replay(hub: Hub, alice: User) -> None:
    keys_and_roles.revoke_key(Key.objects.get(), **BY)
    response = replayed(hub, alice)
    assert response.context["replay"].different == 0
    assert "does not work any more. Its calls were run as if the key still worked." in response.content.decode()


def test_a_redacted_call_is_not_run_and_a_redacted_answer_not_compared(hub: Hub, alice: User) -> None:
    in_session(hub, command="view", path=NOTE)
    in_session(hub, command="create", path=NOTE, file_text="x" * 5_000)
    version = MemoryVersion.objects.get(store=hub.store, path="/notes/todo.md", number=1)
    redaction.redact_version(hub.store.id, version.pk, Act(**BY))
    response = replayed(hub, alice)
    text = response.content.decode()
    assert "Its input was redacted." in text and "Only a part of its large input is kept." in text
    assert response.context["replay"].skipped == 3
    assert differences(response)["view"] == ["An earlier call of the session could not be run again."]


def test_an_answer_that_was_not_compared_does_not_count_as_the_same() -> None:
    gone = replaying.Replayed(AuditEntry(), None, None, replaying.Answer("x", is_error=False), skipped="redacted")
    outcome = replaying.Replay([gone], None, (), 0)
    assert (outcome.same, outcome.uncompared, outcome.skipped) == (0, 1, 0)


def test_a_long_session_goes_on_from_where_a_replay_ended(
    hub: Hub, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "MOST_CALLS", 2)
    seqs = list(
        AuditEntry.objects.filter(chain=hub.store.id, session__isnull=False).oldest().values_list("seq", flat=True)
    )
    response = replayed(hub, alice)
    assert response.context["replay"].next == seqs[2]
    assert f"?start={seqs[2]}&amp;moment=past" in response.content.decode()
    response = replayed(hub, alice, start=seqs[2])
    assert [call.entry.seq for call in response.context["replay"].calls] == seqs[2:4]
    assert response.context["replay"].different == 0, "the store is put back to before the third call"
    monkeypatch.setattr(replaying, "LONGEST", -1)
    assert replayed(hub, alice).context["replay"].next == seqs[1], "it comes on, however long it took to put back"


def test_too_many_changes_since_are_not_put_back(hub: Hub, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "MOST_CHANGED", 1)
    assert "which is too much to put back" in replayed(hub, alice).content.decode()
    assert replayed(hub, alice, moment="now").context["replay"].calls


def test_only_curators_may_replay_and_a_session_of_another_store_is_unknown(
    hub: Hub, alice: User, bob: User, charlie: User
) -> None:
    session = Session.objects.get().pk
    address = reverse("replay_session", args=[hub.store.id, session])
    for person, status in ((alice, 200), (bob, 403), (charlie, 404)):
        assert signed_in(person).get(address).status_code == status
        assert signed_in(person).post(address).status_code == status
    assert signed_in(alice).get(reverse("replay_session", args=[hub.store.id, "sesn_0"])).status_code == 404
    assert address in signed_in(alice).get(reverse("session", args=[session])).content.decode()
    assert address not in signed_in(bob).get(reverse("session", args=[session])).content.decode()


def test_a_memory_that_was_removed_permanently_is_a_reason(hub: Hub, alice: User) -> None:
    gone = MemoryVersion.objects.filter(path="/old.md")[0].memory
    act = Act(Actor.person(alice), Door.WEB, AT)
    with tree.locked(hub.store.pk, act) as store:
        removed = removal.purge(store, gone.pk)
        tree.commit(store, Record("purge", path=gone.path, memory=gone.pk, redactions=removed.redactions))
    reasons = differences(replayed(hub, alice))
    assert reasons["view"] == [
        "Memories or old versions have since been removed permanently. The call may have been about one of them."
    ]
