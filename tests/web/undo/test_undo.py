"""Undoing a session, an entry or a version: the preview, the choices, and what comes of them."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, ReviewState, Role, Session, User
from tests.support.fixtures import AT, BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.history.past import tree_now
from tests.web.history.versions import HOSTILE, Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db

SHARED = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """Four memories, of an earlier session."""
    caller = Caller(store, key, session="before")
    for path in ("/shared.md", "/clash.md", "/gone.md", "/moved.md"):
        caller.create(path, SHARED)
    return caller


@pytest.fixture
def bad(caller: Caller) -> Session:
    """A session that made, changed, deleted and moved."""
    caller.session = "bad"
    caller.create("/new.md", "poison\n")
    caller.replace("/shared.md", "two", "2")
    caller.replace("/clash.md", "two", "2")
    caller.delete("/gone.md")
    caller.call("rename", old_path="/memories/moved.md", new_path="/memories/elsewhere.md")
    caller.session = None
    return Session.objects.get(name="bad")


@pytest.fixture
def later(bad: Session, store: MemoryStore, alice: User) -> None:
    """What Alice has corrected since: another line of one memory, the same line of the other."""
    edit(store, "/shared.md", "five", "5", alice)
    edit(store, "/clash.md", "2", "II", alice)


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def edit(store: MemoryStore, path: str, old: str, new: str, by: User) -> None:
    memory = Memory.objects.at(path).select_related("text").get(store=store)
    assert memory.text
    curation.edit(store.id, memory.pk, memory.text.content.replace(old, new), memory.sha256, act(by))


def url_of(store: MemoryStore, session: Session) -> str:
    return reverse("undo_session", args=[store.id, session.pk])


def preview(client: Client, url: str) -> Any:
    response = client.get(url)
    assert response.status_code == 200
    return response


def paths(response: Any) -> list[tuple[str, str]]:
    """(path, kind or problem) of the rows, as they are shown."""
    return [(row.change.path, row.change.problem or row.change.kind) for row in response.context["preview"].whole]


def send(client: Client, url: str, **given: str) -> Any:
    """Posts the form of the preview as a browser would, with what a person has chosen besides."""
    return client.post(url, form_with(client.get(url).content.decode(), "digest") | given)


def texts(store: MemoryStore) -> dict[str, str]:
    return {path: text for path, (_, text) in tree_now(store).items()}


def choice(path: str, value: str) -> dict[str, str]:
    return {f"choice-{Memory.objects.get(path=path).pk}": value}


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.id).newest()[0]


def test_the_preview_tells_each_change_and_changes_nothing(
    bad: Session, later: None, store: MemoryStore, curator: Client
) -> None:
    before, seq = tree_now(store), newest(store).seq
    page = preview(curator, url_of(store, bad))
    assert paths(page) == [
        ("/clash.md", "conflict"), ("/elsewhere.md", "moved"), ("/gone.md", "created"), ("/new.md", "deleted"),
        ("/shared.md", "modified"),
    ]  # fmt: skip
    assert page.context["preview"].counts == {"created": 1, "modified": 1, "moved": 1, "deleted": 1}
    assert (page.context["preview"].problems, page.context["preview"].count) == (1, 4)
    html = page.content.decode()
    assert "Undo the session bad" in html and "Undo changes in 4 memories" in html and "/elsewhere.md → /moved" in html
    assert (tree_now(store), newest(store).seq) == (before, seq)


def test_who_wrote_later_is_told_with_the_version(
    bad: Session, later: None, store: MemoryStore, curator: Client
) -> None:
    row = preview(curator, url_of(store, bad)).context["preview"].whole[0]
    ((version, entry),) = row.later
    assert (version.number, entry.label) == (3, "Alice")
    assert [option.value for option in row.options] == ["keep", "before"]


def test_the_session_is_undone_and_what_is_later_stays(
    bad: Session, later: None, store: MemoryStore, curator: Client
) -> None:
    ids = {path: memory for path, (memory, _) in tree_now(store).items()}
    response = send(curator, url_of(store, bad), note="it was poisoned")
    assert response.status_code == 303
    entry = newest(store)
    assert response["Location"] == reverse("entry", args=[store.id, entry.seq])
    assert (entry.command, entry.label, entry.note) == ("undo", "Alice", "it was poisoned")
    assert json.loads(str(entry.input))["session"] == bad.pk
    assert texts(store) == {
        "/shared.md": SHARED.replace("five", "5"), "/clash.md": SHARED.replace("two", "II"), "/gone.md": SHARED,
        "/moved.md": SHARED,
    }  # fmt: skip
    assert tree_now(store)["/moved.md"][0] == ids["/elsewhere.md"]
    banner = curator.get(response["Location"]).content.decode()
    assert "Undid changes in 4 memories." in banner and reverse("undo_entry", args=[store.id, entry.seq]) in banner
    assert f'<a href="{reverse("session", args=[bad.pk])}">Back</a>' in banner and ">Audit entry</a>" not in banner


def test_a_conflict_becomes_what_was_chosen(bad: Session, later: None, store: MemoryStore, curator: Client) -> None:
    send(curator, url_of(store, bad), **choice("/clash.md", "before"))
    assert texts(store)["/clash.md"] == SHARED


def test_what_is_left_out_stays(bad: Session, later: None, store: MemoryStore, curator: Client) -> None:
    left = [Memory.objects.get(path=path).pk for path in ("/new.md", "/elsewhere.md")]
    send(curator, url_of(store, bad), leave_out=" ".join(left))
    assert {"/new.md", "/elsewhere.md", "/gone.md"} <= texts(store).keys()
    assert sorted(json.loads(str(newest(store).input))["kept"]) == sorted(
        [*left, Memory.objects.get(path="/clash.md").pk]
    )
    states = MemoryVersion.objects.filter(memory_id__in=left, seq__in=[v.seq for v in of_session(bad)])
    assert {version.review_state for version in states} == {ReviewState.UNREVIEWED}


def of_session(session: Session) -> list[MemoryVersion]:
    seqs = AuditEntry.objects.filter(session=session.pk).values_list("seq", flat=True)
    return list(MemoryVersion.objects.filter(seq__in=seqs))


def test_undone_versions_are_reviewed(bad: Session, store: MemoryStore, curator: Client) -> None:
    send(curator, url_of(store, bad))
    assert {version.review_state for version in of_session(bad)} == {ReviewState.REVERTED}


def test_the_undo_can_be_undone(bad: Session, later: None, store: MemoryStore, curator: Client) -> None:
    before = tree_now(store)
    send(curator, url_of(store, bad))
    assert tree_now(store) != before
    url = reverse("undo_entry", args=[store.id, newest(store).seq])
    assert "Undo entry" in preview(curator, url).content.decode()
    assert send(curator, url).status_code == 303
    assert tree_now(store) == before


def test_undoing_twice_finds_nothing(bad: Session, store: MemoryStore, curator: Client) -> None:
    send(curator, url_of(store, bad))
    page = preview(curator, url_of(store, bad))
    assert page.context["plan"].is_empty
    assert "Nothing to undo" in page.content.decode()
    seq = newest(store).seq
    answer = curator.post(url_of(store, bad), {"digest": page.context["plan"].digest, "note": ""})
    assert (answer.status_code, newest(store).seq) == (200, seq)


def test_keeping_everything_writes_nothing(bad: Session, store: MemoryStore, curator: Client) -> None:
    seq = newest(store).seq
    every = " ".join(version.memory_id for version in of_session(bad))
    answer = send(curator, url_of(store, bad), leave_out=every)
    assert "Nothing was done" in answer.content.decode()
    assert newest(store).seq == seq


def test_what_was_written_meanwhile_is_shown_and_the_choices_are_kept(
    bad: Session, later: None, store: MemoryStore, curator: Client, caller: Caller
) -> None:
    form = form_with(curator.get(url_of(store, bad)).content.decode(), "digest")
    form |= choice("/clash.md", "before") | {"leave_out": Memory.objects.get(path="/new.md").pk, "note": "mine"}
    caller.replace("/shared.md", "four", "4")
    seq, before = newest(store).seq, tree_now(store)
    answer = curator.post(url_of(store, bad), form)
    assert answer.status_code == 200
    html = answer.content.decode()
    assert "something was written since you opened this page" in html
    assert (newest(store).seq, tree_now(store)) == (seq, before)
    kept = form_with(html, "digest")
    assert kept["digest"] != form["digest"]
    for name in form.keys() - {"digest", "csrfmiddlewaretoken"}:
        assert kept[name] == form[name]
    assert curator.post(url_of(store, bad), kept).status_code == 303
    assert texts(store)["/clash.md"] == SHARED
    assert texts(store)["/shared.md"] == SHARED.replace("four", "4").replace("five", "5")


def test_one_version_is_undone_and_leads_to_its_memory(
    bad: Session, later: None, store: MemoryStore, curator: Client
) -> None:
    memory = Memory.objects.get(path="/shared.md")
    version = MemoryVersion.objects.of_memory(memory).get(number=2)
    url = reverse("undo_version", args=[store.id, version.pk])
    assert "Undo version 2 of /shared.md" in preview(curator, url).content.decode()
    assert "Undo changes in 1 memory" in preview(curator, url).content.decode()
    response = send(curator, url)
    assert response["Location"] == reverse("memory", args=[store.id, memory.pk])
    assert texts(store)["/shared.md"] == SHARED.replace("five", "5")


def test_a_place_that_was_taken_is_asked_about(
    bad: Session, store: MemoryStore, curator: Client, caller: Caller
) -> None:
    caller.create("/gone.md", "another\n")
    page = preview(curator, url_of(store, bad))
    assert paths(page)[0][1] == "taken"
    row = page.context["preview"].whole[0]
    assert [option.value for option in row.options] == ["keep", "apply"]
    assert "/gone-restored.md" in page.content.decode()
    send(curator, url_of(store, bad), **{f"choice-{row.change.memory}": "apply"})
    assert texts(store)["/gone.md"] == "another\n"
    assert texts(store)["/gone-restored.md"] == SHARED


def test_a_redacted_text_cannot_come_back(bad: Session, store: MemoryStore, curator: Client) -> None:
    memory = Memory.objects.get(path="/shared.md")
    with tampering():
        MemoryVersion.objects.of_memory(memory).filter(number=1).update(text=None, redacted_at=AT)
    page = preview(curator, url_of(store, bad))
    assert paths(page)[0] == ("/shared.md", "redacted")
    assert "removed permanently" in page.content.decode()
    assert send(curator, url_of(store, bad)).status_code == 303
    assert texts(store)["/shared.md"] == SHARED.replace("two", "2")


def test_viewers_look_and_curators_do(bad: Session, store: MemoryStore, bob: User, charlie: User) -> None:
    version = of_session(bad)[0]
    urls = [url_of(store, bad), reverse("undo_entry", args=[store.id, version.seq]),
            reverse("undo_version", args=[store.id, version.pk])]  # fmt: skip
    seq = newest(store).seq
    for url in urls:
        page = preview(signed_in(bob), url)
        assert "A curator of the store can apply it." in page.content.decode()
        assert "data-undo-button" not in page.content.decode()
        digest = {"digest": page.context["plan"].digest}
        assert signed_in(bob).post(url, digest).status_code == 403
        assert signed_in(charlie).get(url).status_code == 404
        assert signed_in(charlie).post(url, digest).status_code == 404
        assert signed_in(bob).put(url).status_code == 405
    assert newest(store).seq == seq
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    assert send(signed_in(bob), urls[0]).status_code == 303


def test_an_archived_store_refuses_with_its_sentence(bad: Session, store: MemoryStore, curator: Client) -> None:
    digest = preview(curator, url_of(store, bad)).context["plan"].digest
    stores.set_archived(store, True, **BY)
    assert "data-undo-button" not in preview(curator, url_of(store, bad)).content.decode()
    answer = curator.post(url_of(store, bad), {"digest": digest})
    assert answer.status_code == 200
    assert "archived and cannot be changed" in answer.content.decode()


def test_what_is_not_there_is_404(bad: Session, store: MemoryStore, curator: Client, alice: User) -> None:
    other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    version = of_session(bad)[0].pk
    urls = [reverse("undo_session", args=[store.id, "sesn_none"]), url_of(other, bad),
            reverse("undo_entry", args=[store.id, 0]), reverse("undo_entry", args=[store.id, 10**30]),
            reverse("undo_version", args=[other.id, version]), f"/stores/{store.id}/undo/abc"]  # fmt: skip
    for url in urls:
        assert curator.get(url).status_code == 404, url
        assert curator.post(url, {"digest": "x"}).status_code == 404, url


def test_an_entry_that_only_read_has_nothing_to_undo(caller: Caller, store: MemoryStore, curator: Client) -> None:
    caller.call("view", path="/memories/shared.md")
    page = preview(curator, reverse("undo_entry", args=[store.id, newest(store).seq]))
    assert "Nothing to undo" in page.content.decode()


@in_turn("given", [
    {}, {"digest": "nonsense"}, {"leave_out": "mem_none x"}, {"note": "n" * 1001},
    {"choice-": "apply", "choice-mem_none": "keep", "rest": "nonsense"},
])  # fmt: skip
def test_a_form_that_is_not_ours_does_nothing_but_show_the_preview(
    given: dict[str, str], bad: Session, later: None, store: MemoryStore, curator: Client
) -> None:
    seq, before = newest(store).seq, tree_now(store)
    answer = curator.post(url_of(store, bad), given)
    if "note" in given:
        assert "too long" in answer.content.decode()
    assert answer.status_code == 200
    assert (newest(store).seq, tree_now(store)) == (seq, before)


def test_a_choice_that_is_not_offered_is_what_is_proposed(
    bad: Session, later: None, store: MemoryStore, curator: Client
) -> None:
    send(curator, url_of(store, bad), **choice("/clash.md", "nonsense"), **choice("/shared.md", "before"))
    assert texts(store)["/clash.md"] == SHARED.replace("two", "II")
    assert texts(store)["/shared.md"] == SHARED.replace("five", "5")


def test_hostile_texts_and_paths_are_shown_as_text(store: MemoryStore, key: str, curator: Client) -> None:
    caller = Caller(store, key, session="<b>bad</b>")
    caller.create("/<b>&'\".md", HOSTILE)
    page = preview(curator, url_of(store, Session.objects.get())).content.decode()
    assert "<script>alert" not in page and "<b>bad" not in page and "\u202e" not in page


def test_the_pages_around_lead_here(bad: Session, store: MemoryStore, curator: Client, bob: User) -> None:
    version = of_session(bad)[0]
    entry = reverse("entry", args=[store.id, version.seq])
    here = reverse("undo_entry", args=[store.id, version.seq])
    assert here in curator.get(entry).content.decode()
    assert here not in signed_in(bob).get(entry).content.decode()
    assert reverse("moment", args=[store.id, version.seq]) in signed_in(bob).get(entry).content.decode()
    page = curator.get(reverse("version", args=[store.id, version.pk])).content.decode()
    assert reverse("undo_version", args=[store.id, version.pk]) in page


def summary_of(page: Any) -> str:
    """The summary of a preview as it is seen."""
    html = page.content.decode()
    part = html[html.index('class="undo-summary"') : html.index('<form class="undo-form"')]
    return re.sub(r"<li[^>]* hidden>.*?</li>|<[^>]+>", " ", part)


@pytest.fixture
def theirs(caller: Caller, store: MemoryStore, alice: User) -> Session:
    """A session that made a memory, into which Alice has written two lines."""
    caller.session = "made"
    caller.create("/plan.md", "poison\nmore poison\n")
    caller.session = None
    edit(store, "/plan.md", "more poison\n", "hers\nmore poison\nhers too\n", alice)
    return Session.objects.get(name="made")


def test_keeping_what_was_written_later_keeps_the_lines_of_others(
    theirs: Session, store: MemoryStore, curator: Client
) -> None:
    page = preview(curator, url_of(store, theirs)).content.decode()
    assert "Only the 2 later lines stay." in page
    assert "Move it to the trash, with 2 later lines" in page
    send(curator, url_of(store, theirs), **choice("/plan.md", "apply"))
    assert texts(store)["/plan.md"] == "hers\nhers too\n"


def test_later_lines_go_to_the_trash_only_with_the_button_that_says_so(
    theirs: Session, store: MemoryStore, curator: Client
) -> None:
    send(curator, url_of(store, theirs), **choice("/plan.md", "before"))
    assert "/plan.md" not in texts(store)


def test_the_summary_says_what_is_chosen_and_not_what_could_be(
    theirs: Session, store: MemoryStore, curator: Client
) -> None:
    seen = summary_of(preview(curator, url_of(store, theirs)))
    assert "no memory changes" in seen and "Unless you choose otherwise" in seen and "trash" not in seen
    memory = Memory.objects.get(path="/plan.md").pk
    answer = curator.post(url_of(store, theirs), {f"choice-{memory}": "before", "digest": "old"})
    assert "1 memory goes to the trash" in summary_of(answer) and "With your choices" in summary_of(answer)


def test_after_an_undo_of_an_undo_the_session_can_be_undone_and_reviewed_again(
    bad: Session, store: MemoryStore, curator: Client
) -> None:
    before = tree_now(store)
    for _ in range(2):
        send(curator, url_of(store, bad))
        undo = AuditEntry.objects.of_chain(store.id).of_command("undo").newest()[0]
        send(curator, reverse("undo_entry", args=[store.id, undo.seq]))
        assert tree_now(store) == before
        assert {version.review_state for version in of_session(bad)} == {ReviewState.UNREVIEWED}
        page = preview(curator, url_of(store, bad))
        assert "Nothing to undo" not in page.content.decode() and page.context["preview"].problems == 0
