"""What a proposal says after the decision: a merge that was undone, and a refusal that is taken back."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core import proposing, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.erasure import redaction
from memoryhub.actions.retention import removal
from memoryhub.actions.verification import verify
from memoryhub.models import Agent, MemoryStore, MemoryVersion, ProposedChange, User
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.proposals.proposing import LINES, edit, newest, refuse, send, state, texts, url_of
from tests.web.proposals.test_proposal import REFUNDS, caller, curator, id_of, proposal, shown

pytestmark = pytest.mark.django_db

__all__ = ["caller", "curator", "proposal"]


def undo(client: Client, store: MemoryStore, seq: int, **given: str) -> int:
    """Undoes an entry as a browser would; returns the number of the undo's entry."""
    address = reverse("undo_entry", args=[store.pk, seq])
    fields = form_with(client.get(address).content.decode(), "digest")
    client.post(address, fields | given)
    return newest(store).seq


def test_an_undone_merge_says_so_keeps_its_text_and_is_merged_again(
    proposal: Caller, store: MemoryStore, curator: Client
) -> None:
    before = texts(store)
    send(curator, store)
    merged, seq = texts(store), newest(store).seq
    undone = undo(curator, store, seq)
    assert texts(store) == before
    html = shown(curator, store)
    assert re.search(r"undone\s*</span> by Alice", html) and f"/{undone}" in html and "Merge the proposal again" in html
    assert "brand new" in html and "Write a path rule" not in html
    listed = curator.get(reverse("proposals", args=[store.pk]), {"state": "decided"}).content.decode()
    assert re.search(r"undone\s*</span> by Alice", listed)
    undo(curator, store, undone)
    assert texts(store) == merged and "undone" not in shown(curator, store)


@pytest.mark.both_databases
def test_the_agent_is_the_author_of_what_it_proposed_and_the_person_who_merged_it_is_named(
    proposal: Caller, agent: Agent, store: MemoryStore, curator: Client
) -> None:
    send(curator, store)
    memory = id_of(REFUNDS)
    version = MemoryVersion.objects.filter(memory_id=memory).newest()[0]
    blame = curator.get(reverse("blame", args=[store.pk, memory])).content.decode()
    line = re.search(r"<li[^>]*>(?:(?!</li>).)*merged by Alice(?:(?!</li>).)*</li>", blame, re.DOTALL)
    assert line and f"?agent={agent.pk}" in line[0]
    for address in (reverse("versions", args=[store.pk, memory]), reverse("version", args=[store.pk, version.pk])):
        html = " ".join(curator.get(address).content.decode().split())
        assert f"?agent={agent.pk}" in html and "proposal #1</a>, merged by Alice" in html, address


def test_a_merge_that_was_undone_in_part_says_of_how_many_memories(
    proposal: Caller, store: MemoryStore, curator: Client
) -> None:
    send(curator, store)
    seq = newest(store).seq
    undo(curator, store, seq, leave_out=id_of(REFUNDS))
    assert "undone in 3 of 4 memories" in shown(curator, store)
    (decision,) = curator.get(reverse("decided")).context["decided"]
    assert not decision.is_undone, "the rest can be undone there"
    curator.post(reverse("undo_decisions"), {"entries": decision.entries})
    (decision,) = curator.get(reverse("decided")).context["decided"]
    assert decision.is_undone and texts(store)[REFUNDS] == LINES


def without_version(store: MemoryStore, seq: int) -> None:
    """Retention removes the version of one memory that an entry made."""
    version = MemoryVersion.objects.get(store=store, seq=seq, memory_id=id_of(REFUNDS))
    with tree.locked(store.pk, act()) as locked:
        removed = removal.remove_versions(locked, version.memory_id, [version.pk])
        tree.commit(locked, Record("prune_versions", path=REFUNDS, redactions=removed.redactions))


@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_merge_is_undone_in_as_many_memories_after_retention(
    proposal: Caller, store: MemoryStore, curator: Client, alice: User, *, is_whole: bool
) -> None:
    send(curator, store)
    seq = newest(store).seq
    undo(curator, store, seq, **({} if is_whole else {"leave_out": id_of(REFUNDS)}))
    edit(store, REFUNDS, "seven", "7", alice)
    without_version(store, seq)
    html = shown(curator, store)
    assert ("undone in 3 of 4 memories" in html) is not is_whole
    assert ("Open it again" in html) is is_whole


def test_a_refused_proposal_can_be_opened_and_merged_again(
    proposal: Caller, store: MemoryStore, curator: Client, bob: User
) -> None:
    said = refuse(curator, store, note="not now").content.decode()
    assert "Undo…" in said and f'{url_of(store)}#reopen"' in said
    viewer = signed_in(bob)
    assert "Open it again" in shown(curator, store) and "Open it again" not in shown(viewer, store)
    assert viewer.post(url_of(store), {"decision": "reopen"}).status_code == 403
    page = curator.post(url_of(store), {"decision": "reopen"}, follow=True).content.decode()
    assert "Proposal #1 is open again." in page and state(store) == ("open", "")
    assert newest(store).command == "reopen_proposal"
    assert "opened it again" in curator.post(url_of(store), {"decision": "reopen"}, follow=True).content.decode()
    assert "Merged proposal #1." in send(curator, store).content.decode()
    assert "opened it again" in curator.post(url_of(store), {"decision": "reopen"}, follow=True).content.decode()
    assert state(store) == ("merged", "")


def test_a_proposal_whose_merge_is_wholly_undone_can_be_opened_and_decided_again(
    proposal: Caller, store: MemoryStore, curator: Client
) -> None:
    before = texts(store)
    send(curator, store, leave_out=id_of(REFUNDS), why="ask finance first")
    assert state(store) == ("partly_merged", "ask finance first") and "“ask finance first”" in shown(curator, store)
    merge = newest(store)
    assert merge.note == "ask finance first" and "Open it again" not in shown(curator, store)
    undo(curator, store, merge.seq)
    html = shown(curator, store)
    assert "Open it again" in html and ">merged</span>" not in html and ">undone</span>" in html
    page = curator.post(url_of(store), {"decision": "reopen"}, follow=True).content.decode()
    assert "Proposal #1 is open again." in page and state(store) == ("open", "")
    assert page.count('name="leave_out"') == 4 and texts(store) == before
    assert "Merged proposal #1." in send(curator, store).content.decode()
    assert state(store) == ("merged", "") and verify.verify(store.pk)[1] is None


def test_a_proposal_whose_merge_is_in_force_in_part_is_not_opened_again(
    proposal: Caller, store: MemoryStore, curator: Client
) -> None:
    send(curator, store)
    undo(curator, store, newest(store).seq, leave_out=id_of(REFUNDS))
    assert "Open it again" not in shown(curator, store)
    assert "opened it again" in curator.post(url_of(store), {"decision": "reopen"}, follow=True).content.decode()


def test_a_redaction_of_what_was_merged_before_reaches_a_proposal_that_is_open_again(
    proposal: Caller, store: MemoryStore, curator: Client, alice: User
) -> None:
    send(curator, store)
    merge = newest(store).seq
    undo(curator, store, merge)
    curator.post(url_of(store), {"decision": "reopen"})
    for version in list(MemoryVersion.objects.filter(store=store, seq=merge).exclude(text=None)):
        redaction.redact_version(store.pk, version.pk, act(alice))
    texts_left = (
        ProposedChange.objects.filter(store_id=store.pk).exclude(content=None).values_list("content", flat=True)
    )
    assert set(texts_left) == {"[redacted]"}
    html = shown(curator, store)
    assert "brand new" not in html and html.count("no longer exists") == len(texts_left)
    send(curator, store)
    assert {*texts(store).values()} == {LINES}, "no memory gets the mark as its text"


def test_too_many_open_proposals_of_an_agent_are_said_when_one_is_opened_again(
    proposal: Caller, store: MemoryStore, curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(curator, store)
    monkeypatch.setattr(proposing, "MOST_OF_AGENT", 0)
    page = curator.post(url_of(store), {"decision": "reopen"}).content.decode()
    assert "Too many proposals of this agent" in page and state(store)[0] == "refused"
