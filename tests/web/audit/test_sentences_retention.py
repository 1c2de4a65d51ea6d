"""What the audit says of policies, holds and runs, in words for people."""

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import HUB, AuditEntry, Door, HoldKind
from memoryhub.pure.protocol.commands import Create, Delete, StrReplace, View
from memoryhub.web.audit.sentences import told_of, words_of
from tests.actions.retention.stores import BEGIN, DAY, act, do, memory, new_store
from tests.support.fixtures import new_person

pytestmark = pytest.mark.django_db
RETENTION = {
    "set_policy", "delete_policy", "hold", "release", "start_run", "allow_run", "cancel_run", "undo_run", "expire",
    "purge", "prune_versions", "remove_entries",
}  # fmt: skip
NOW = BEGIN + 400 * DAY


def words(chain: str) -> dict[str, str]:
    """The last sentence of each command of retention."""
    entries = AuditEntry.objects.of_chain(chain).oldest()
    return {
        str(entry.command): words_of(entry, told_of(entry.input), {}) for entry in entries if entry.command in RETENTION
    }


def test_every_act_of_retention_has_words() -> None:
    store = new_store()
    for path in ("/a.md", "/b.md", "/c.md"):
        do(store, Create(path, "text\n"), BEGIN)
    do(store, StrReplace("/c.md", "text", "more"), BEGIN)
    do(store, Delete("/b.md"), BEGIN)
    given = PolicySettings("Tidy", expire_unread_days=90, keep_versions=1, trash_days=9, keep_entry_days=100)
    policy = policies.save_policy(store.pk, given, act(NOW))
    pin = holds.place(store.pk, act(NOW), kind=HoldKind.PIN, reason="in use", memory=memory(store, "/c.md").pk)
    hold = holds.place(store.pk, act(NOW), kind=HoldKind.HOLD, reason="a case", path="", ends_at=NOW + DAY)
    for one in (pin, hold):
        holds.release(store.pk, one.pk, act(NOW))
    holds.place(store.pk, act(NOW), kind=HoldKind.HOLD, reason="a case", path="")
    holds.release(store.pk, holds.holds_of(store.pk, NOW).places[""].pk, act(NOW))
    do(store, View("/c.md", None), NOW)
    anna = Act(Actor.person(new_person("Anna")), Door.WEB, NOW)
    run = runs.start(store.pk, anna, NOW)
    runs.allow(run.pk, anna)
    while runs.step(run.pk, NOW):
        pass
    runs.undo(run.pk, anna)
    runs.cancel(runs.start(store.pk, anna, NOW + 91 * DAY).pk, anna)
    policies.delete_policy(policy.pk, act(NOW))
    said = words(store.pk)
    assert said.keys() == RETENTION
    assert not [command for command, sentence in said.items() if command == sentence or "None" in sentence]
    assert said["hold"] == "put a legal hold on the whole memory store: a case"
    assert "Tidy" in said["set_policy"] and "90" in said["set_policy"]
    assert "/a.md" in said["expire"] and "/b.md" in said["purge"]


def test_policies_of_the_hub_have_the_same_words() -> None:
    policy = policies.save_policy(None, PolicySettings("All"), act(NOW))
    policies.save_policy(None, PolicySettings("All", paused=True), act(NOW), policy_id=policy.pk)
    assert words(HUB)["set_policy"] == "changed the retention policy “All”: paused: no → yes"
