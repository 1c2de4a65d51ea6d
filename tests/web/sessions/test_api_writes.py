"""What agents wrote through the memory_stores API, on the pages that say what sessions wrote."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import signed_in
from tests.web.findings.flagged import POISON
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import holds_back, replaces
from tests.web.sessions.reads import readers, view

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key, session="writer")
    caller.create("/rules.md", f"# Rules\n{POISON}\n")
    caller.create("/plan.md", "plan\n")
    caller.create("/old.md", "old\n")
    caller.replace("/old.md", "old", "new")
    return caller


@pytest.fixture
def wrote(caller: Caller) -> list[AuditEntry]:
    """Return what a session wrote after it read a poisoned line: an edit, a move and a restored version."""
    first = MemoryVersion.objects.get(path="/old.md", number=1).pk
    view(caller, "/rules.md", "reader")
    return [caller.edit("/plan.md", "refund\n"), caller.edit("/plan.md", None, "/moved.md"), caller.restore(first)]


def session_page(user: User) -> Any:
    return signed_in(user).get(reverse("session", args=[Session.objects.get(name="reader").pk]))


def test_who_has_seen_a_line_says_what_they_wrote(wrote: list[AuditEntry], bob: User) -> None:
    page = readers(bob, Memory.objects.get(path="/rules.md"), version=1, line=2)
    written = [(write.seq, write.command, write.number) for write in page.context["groups"][0].written]
    seqs = [entry.seq for entry in wrote]
    assert written == list(zip(seqs, ("edit", "rename", "restore"), (2, 3, 3), strict=True))
    assert "wrote nothing afterwards" not in page.content.decode()


def test_a_finding_says_what_its_readers_wrote(wrote: list[AuditEntry], alice: User) -> None:
    page = signed_in(alice).get("/").content.decode()
    said = " ".join(strip_tags(page).split())
    assert "One other session read this text and wrote /plan.md, /moved.md and 1 more afterwards" in said


def test_a_session_counts_and_shows_them(wrote: list[AuditEntry], store: MemoryStore, bob: User) -> None:
    page = session_page(bob)
    figures = page.context["figures"]
    assert (figures.calls, figures.reads, figures.writes) == (4, 1, 3)
    edit, _rename, restore = page.context["calls"].rows[1:]
    assert (edit.added, edit.removed, restore.added, restore.removed) == (1, 1, 1, 1)
    row = signed_in(bob).get(reverse("store_sessions", args=[store.pk])).context["rows"][0]
    assert (row.session.name, row.reads, row.writes) == ("reader", 1, 3)


@pytest.mark.both_databases
def test_a_session_knew_what_it_wrote(wrote: list[AuditEntry], bob: User) -> None:
    pieces = session_page(bob).context["known"].pieces
    assert [(piece.version.path, piece.own) for piece in pieces] == [
        ("/old.md", True), ("/moved.md", True), ("/plan.md", True), ("/rules.md", False),
    ]  # fmt: skip


def test_a_call_that_changed_nothing_wrote_nothing(caller: Caller, bob: User) -> None:
    view(caller, "/rules.md", "reader")
    caller.edit("/plan.md", "plan\n")
    caller.edit("/plan.md", None, "/plan.md")
    assert caller.last.version == Memory.objects.get(path="/plan.md").head_id
    assert "wrote nothing afterwards" in readers(bob, Memory.objects.get(path="/rules.md"), version=1).content.decode()
    page = session_page(bob)
    assert [call.change for call in page.context["calls"].rows[1:]] == [None, None], "the version is by another session"
    assert [piece.version.path for piece in page.context["known"].pieces] == ["/rules.md"]


def test_what_was_only_proposed_was_not_written(caller: Caller, bob: User) -> None:
    holds_back(caller.store, "/plan.md")
    view(caller, "/rules.md", "reader")
    replaces(caller, "/plan.md", "plan", "refund")
    page = readers(bob, Memory.objects.get(path="/rules.md"), version=1).content.decode()
    assert "It proposed" in page and "wrote nothing afterwards" not in page
    assert session_page(bob).context["calls"].rows[1].change is None
