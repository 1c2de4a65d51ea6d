"""What pages say of the past is true after retention has removed versions, memories and audit entries of it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core.rules.holds import place
from memoryhub.actions.erasure.redaction import redact_version
from memoryhub.actions.retention.policies import PolicySettings, save_policy
from memoryhub.actions.review import decisions
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import version
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, page, write
from tests.web.path_rules.test_path_rules import form, row
from tests.web.retention.pages import in_days, policy, ran
from tests.web.sessions.reads import view

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


def approve(store: MemoryStore, alice: User) -> None:
    waiting = MemoryVersion.objects.filter(store=store).unreviewed()
    decisions.approve_many(store.pk, list(waiting.values_list("pk", flat=True)), act(alice))


def shown(client: Client, name: str, *args: object, query: str = "") -> str:
    return " ".join(page(client, reverse(name, args=list(args)) + query).split())


def readers_page(client: Client, memory: Memory, query: str) -> str:
    return shown(client, "readers", memory.store_id, memory.pk, query=query)


def test_who_has_seen_a_line_is_not_known_where_entries_are_gone(caller: Caller, client: Client, alice: User) -> None:
    memory = caller.create("/a.md", "one\npoison\n")
    view(caller, "/a.md", "victim")
    approve(caller.store, alice)
    write(caller.store, "/later.md")
    policy(caller.store, keep_entry_days=30)
    assert ran(caller.store).entries
    for query, title in (("?line=2", "No session is known to have seen this line"), ("", "No one is known to have")):
        html = readers_page(client, memory, query)
        assert title in html and "No agent has viewed it" not in html
        assert "others may have seen it, too" in html


def test_readers_of_removed_versions_are_not_denied(caller: Caller, client: Client, alice: User) -> None:
    memory = caller.create("/a.md", "poison\none\n")
    caller.replace("/a.md", "one", "two")
    view(caller, "/a.md", "victim")
    caller.replace("/a.md", "two", "three")
    approve(caller.store, alice)
    assert "others may have seen it" not in readers_page(client, memory, "?line=1")
    policy(caller.store, keep_versions=1)
    assert ran(caller.store).versions == 2
    assert "others may have seen it, too" in readers_page(client, memory, "?line=1")


@pytest.mark.both_databases
def test_what_a_session_wrote_in_removed_versions_is_not_called_undone(
    caller: Caller, client: Client, alice: User
) -> None:
    store = caller.store
    memory = caller.create("/a.md", "one\n")
    caller.session = "evil"
    caller.replace("/a.md", "one", "one\npoison")
    caller.session = "other"
    caller.replace("/a.md", "one\n", "two\n")
    approve(store, alice)
    evil = Session.objects.get(name="evil")
    undo = shown(client, "undo_session", store.pk, evil.pk)
    assert "Retention has removed" not in undo
    policy(store, keep_versions=1)
    assert ran(store).versions == 2
    entry = AuditEntry.objects.of_chain(store.pk).of_session(evil.pk).get()
    for name, of in (("undo_session", evil.pk), ("undo_entry", entry.seq)):
        html = shown(client, name, store.pk, of)
        assert "There is nothing left to undo" not in html
        assert "Retention has removed some versions that are to be undone." in html
        assert "What these versions changed in the memory below stays" in html
        assert reverse("memory", args=[store.pk, memory.pk]) in html
    html = shown(client, "session", evil.pk)
    assert "had not read or written anything" not in html and "1 more version that it had read or written" in html


def test_an_undo_says_that_the_first_entries_of_a_session_are_gone(caller: Caller, client: Client, alice: User) -> None:
    store = caller.store
    caller.create("/a.md", "poison\n")
    caller.at = timezone.now()
    waiting = list(MemoryVersion.objects.filter(store=store).values_list("pk", flat=True))
    decisions.approve_many(store.pk, waiting, act(alice)._replace(at=caller.at))
    save_policy(store.pk, PolicySettings("Entries", keep_entry_days=30), act()._replace(at=caller.at))
    assert ran(store).entries
    caller.create("/b.md", "later\n")
    html = shown(client, "undo_session", store.pk, Session.objects.get(name="writer").pk)
    assert (
        "Retention has removed audit entries from the time of the session" in html
        and "Undo changes in 1 memory" in html
    )


def test_a_memory_that_was_removed_permanently_was_there(caller: Caller, client: Client, alice: User) -> None:
    store = caller.store
    write(store, "/stays.md")
    caller.create("/gone/b.md", "one\n")
    seq = caller.last.seq
    approve(store, alice)
    caller.delete("/gone/b.md")
    after = caller.last.seq
    changes = reverse("changes", args=[store.pk])
    assert "1 deleted" in page(client, f"{changes}?from={seq}")
    policy(store, trash_days=7)
    assert ran(store).purged == 1
    html = client.get(reverse("moment_directory", args=[store.pk, seq, "gone"])).content.decode()
    assert "There was nothing" not in html and "have since been removed permanently or redacted" in html
    html = page(client, f"{changes}?from={seq}")
    assert "At both moments the memories are the same" not in html and "some memories may be missing here" in html
    assert "At both moments the memories are the same" in page(client, f"{changes}?from={after}")
    for query in ("", "?path=/gone"):
        html = shown(client, "restore_moment", store.pk, seq, query=query)
        assert "Everything is already as it was" not in html and "These memories do not come back." in html
    entry = shown(client, "entry", store.pk, seq)
    assert "1 memory version that this entry made was removed permanently." in entry


@pytest.mark.both_databases
def test_the_approval_of_a_removed_version_is_not_called_undone(caller: Caller, client: Client, alice: User) -> None:
    store = caller.store
    caller.create("/a.md", "one\n")
    approve(store, alice)
    seq = caller.last.seq
    caller.replace("/a.md", "one", "two")
    approve(store, alice)
    policy(store, keep_versions=1)
    assert ran(store).versions == 1
    answer = client.post(reverse("undo_decision", args=[store.pk, seq]), follow=True)
    assert "or retention has removed the versions" in answer.content.decode()
    assert caller.last.command != "reopen" and not MemoryVersion.objects.filter(store=store).unreviewed().exists()


def test_the_picture_of_past_weeks_says_from_when_on_all_is_known(caller: Caller, client: Client, alice: User) -> None:
    """Without the entries of reads, what was read would count as unread."""
    store, now = caller.store, timezone.now()
    caller.at = now - timedelta(days=70)
    caller.create("/a.md", "one\n")
    for days in (60, 50, 40, 1):
        caller.at = now - timedelta(days=days)
        view(caller, "/a.md", "reader")
    approve(store, alice)
    policy(store, expire_unread_days=20, keep_entry_days=30)
    assert "is only partly known" not in shown(client, "rehearsal", store.pk)
    ran(store)
    assert "is only partly known" in shown(client, "rehearsal", store.pk)


@pytest.mark.both_databases
def test_rules_are_not_tried_on_changes_of_which_the_entries_are_gone(
    caller: Caller, client: Client, alice: User
) -> None:
    store, now = caller.store, timezone.now()
    caller.at = now - timedelta(days=12)
    caller.create("/a.md", "one\n")
    waiting = list(MemoryVersion.objects.filter(store=store).values_list("pk", flat=True))
    decisions.approve_many(store.pk, waiting, act(alice)._replace(at=now))
    save_policy(store.pk, PolicySettings("Entries", keep_entry_days=9), act()._replace(at=now))
    assert ran(store).entries
    html = form(client, store, "try", row("/", verbs=["create"])).content.decode()
    assert "Agents have changed nothing here in the last 30 days" not in html
    assert "Retention has removed older entries of the audit." in html


def test_a_rehearsal_ahead_removes_permanently_what_has_been_in_the_trash_by_then(
    store: MemoryStore, client: Client
) -> None:
    write(store, "/a.md")
    policy(store, expire_older_days=in_days(3), grace_days=20)
    for days, figures in (("7", (1, 0)), ("30", (0, 1))):
        answer = client.get(reverse("rehearsal", args=[store.pk]), {"days": days})
        totals = answer.context["outlook"].all.totals
        assert (totals.memories, totals.purged) == figures
    exported = client.post(reverse("export_rehearsal", args=[store.pk]), {"days": "30"})
    assert b"purge,/a.md" in exported.getvalue()


def test_pages_that_rename_say_that_the_pin_of_a_directory_stays(
    store: MemoryStore, client: Client, alice: User
) -> None:
    memory = write(store, "/team/a.md")
    place(store.pk, act(alice), kind=HoldKind.PIN, reason="keep", path="/team")
    for html in (
        shown(client, "rename_memory", store.pk, memory.pk), shown(client, "rename_directory", store.pk, "team")
    ):  # fmt: skip
        assert "a memory that moves out of it is no longer pinned" in html


def test_the_page_of_a_session_says_that_its_first_calls_are_gone(
    caller: Caller, client: Client, store: MemoryStore, alice: User
) -> None:
    caller.create("/a.md", "one\n")
    view(caller, "/a.md", "writer")
    session = Session.objects.get(name="writer")
    approve(store, alice)
    assert "earlier calls" not in shown(client, "session", session.pk) + shown(client, "store_sessions", store.pk)
    caller.at = timezone.now()
    view(caller, "/", "writer")
    policy(store, keep_entry_days=30)
    assert ran(store).entries
    html = shown(client, "session", session.pk)
    assert "The calls of these entries are not listed or counted here" in html
    assert (
        "had not read or written anything" not in html and "The calls that are still in the audit did not read" in html
    )
    assert "earlier calls may be missing" in shown(client, "store_sessions", store.pk)


def test_sessions_of_which_no_entry_is_left_are_not_said_never_to_have_been(
    caller: Caller, client: Client, store: MemoryStore, alice: User
) -> None:
    caller.create("/a.md", "one\n")
    approve(store, alice)
    policy(store, keep_entry_days=30)
    assert ran(store).entries
    html = shown(client, "store_sessions", store.pk)
    assert "No sessions yet" not in html and "No sessions are left" in html


def test_a_redacted_version_was_there_at_its_moment(caller: Caller, client: Client, store: MemoryStore) -> None:
    memory = caller.create("/keep/a.md", "one\n")
    seq = caller.last.seq
    caller.edit("/keep/a.md", "two\n", "/b.md")
    here = reverse("moment_directory", args=[store.pk, seq, "keep"])
    assert "removed permanently or redacted" not in page(client, here)
    redact_version(store.pk, version(memory).pk, act())
    for name in ("moment", "moment_directory"):
        html = client.get(reverse(name, args=[store.pk, seq, *(["keep"] if name != "moment" else [])])).content.decode()
        assert "have since been removed permanently or redacted" in html
        assert "Right after this entry" not in html
    html = shown(client, "changes", store.pk, query=f"?from=0&to={seq}&path=/keep")
    assert "At both moments the memories are the same" not in html and "some memories may be missing here" in html
    html = shown(client, "restore_moment", store.pk, seq, query="?path=/keep")
    assert "Everything is already as it was" not in html and "have since been removed permanently or redacted" in html
