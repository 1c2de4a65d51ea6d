"""Pins and legal holds: who may place and release them, what the pages say, and what a hold refuses."""

import re
from datetime import timedelta
from unicodedata import normalize

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import curation
from memoryhub.models import Hold, HoldKind, Memory, MemoryStore, User
from memoryhub.pure.protocol.errors import ToolError
from tests.support.fixtures import signed_in
from tests.web.memories.pages import HOSTILE, act, new_curator, newest, page, write
from tests.web.retention.pages import policy, url


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


def place(client: Client, store: MemoryStore, place: str, kind: str = "pin", **fields: str) -> str:
    given = {"place": place, "kind": kind, "reason": "needed"} | fields
    answer = client.post(url("holds", store.pk), given, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_a_directory_that_is_not_there_yet_can_be_pinned(client: Client, store: MemoryStore) -> None:
    write(store, "/notes/a.md")
    assert "/later/ is pinned. Nothing is there yet." in place(client, store, "/later/")
    assert "Nothing is there yet" not in place(client, store, "/notes/") + place(client, store, "/", "hold")


def test_a_memory_a_directory_and_a_store_are_held_with_a_reason(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/notes/a.md")
    assert "Nothing is held" in page(client, url("holds", store.pk))
    assert "/notes/a.md is pinned." in place(client, store, "/notes/a.md")
    assert "is on legal hold" in place(client, store, "/notes", "hold", reason="Case 17", until="2999-01-31")
    html = place(client, store, "/", "hold", reason="All of it")
    assert "The whole memory store" in html and "Case 17" in html and "Alice" in html
    found = {(hold.memory, hold.path, hold.kind) for hold in Hold.objects.all()}
    assert found == {(memory.pk, None, "pin"), (None, "/notes", "hold"), (None, "", "hold")}
    assert newest(store).command == "hold" and "All of it" in str(newest(store).input)


def test_what_is_held_on_the_same_terms_is_not_held_twice(client: Client, store: MemoryStore) -> None:
    write(store, "/notes/a.md")
    case = {"kind": "hold", "case_number": "C-1"}
    assert "/notes/a.md is on legal hold." in place(client, store, "/notes/a.md", **case)
    assert "Case <bdi>C-1</bdi>" in page(client, url("memory", store.pk, Memory.objects.get().pk))
    told = place(client, store, "/notes/a.md", **case)
    assert "/notes/a.md is already on this legal hold: nothing was changed." in told and Hold.objects.count() == 1
    assert "is on legal hold." in place(client, store, "/notes/a.md", kind="hold", case_number="C-2")
    assert "/notes/ is pinned." in place(client, store, "/notes/")
    assert "/notes/ is already pinned in this way" in place(client, store, "/notes") + place(client, store, "/notes/")
    assert Hold.objects.count() == 3


@pytest.mark.both_databases
def test_a_directory_that_is_not_there_yet_needs_its_slash(client: Client, store: MemoryStore) -> None:
    assert "There is nothing at /later." in place(client, store, "/later") and not Hold.objects.exists()
    place(client, store, "/later/")
    assert Hold.objects.get().path == "/later"


@pytest.mark.parametrize(
    "typed", ["/guests//Café/", normalize("NFD", "/guests/Café/"), normalize("NFD", "/guests/Café")]
)
def test_a_legal_hold_holds_however_its_path_is_spelled(client: Client, store: MemoryStore, typed: str) -> None:
    memory = write(store, "/guests/Café/ada.md")
    assert "is on legal hold" in place(client, store, typed, "hold")
    assert Hold.objects.get().path == "/guests/Café"
    with pytest.raises(ToolError, match="legal hold"):
        curation.delete(store.pk, memory.path, act())


def test_a_memory_is_pinned_by_a_decomposed_path(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/Café.md")
    assert "/Café.md is pinned." in place(client, store, normalize("NFD", "/Café.md"))
    assert Hold.objects.get().memory == memory.pk


def test_malformed_values_are_said(client: Client, store: MemoryStore) -> None:
    write(store, "/a.md")
    yesterday = (timezone.now() - timedelta(days=2)).date().isoformat()
    cases: tuple[tuple[str, dict[str, str], str], ...] = (
        ("a.md", {}, "begins with a slash"), ("", {}, "required"), ("/a.md", {"reason": " "}, "required"),
        ("/a.md", {"kind": "eternal"}, "not one of the available choices"),
        ("/a.md", {"until": yesterday}, "is in the past"),
        ("/a.md", {"until": "soon"}, "valid date"), ("/a.md", {"until": "9999-12-31"}, "too far away"),
        ("/a.md", {"reason": "x" * 1001}, "at most 1000"), ("/" + "x" * 3000, {}, "at most 2000"),
        ("/../x/", {}, "would lead out of the memory store"),
    )  # fmt: skip
    for where, changes, words in cases:
        assert words in place(client, store, where, **changes), (where, changes)
    assert not Hold.objects.exists()


def test_curators_pin_admins_hold_viewers_look(client: Client, store: MemoryStore, bob: User, charlie: User) -> None:
    write(store, "/a.md")
    carol = signed_in(new_curator(store))
    assert "Legal hold:" not in page(carol, url("holds", store.pk))
    assert "not one of the available choices" in place(carol, store, "/a.md", "hold")
    place(carol, store, "/a.md")
    pin = Hold.objects.get()
    hold = holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="case", path="")
    viewer = signed_in(bob)
    assert "Pin or hold it" not in page(viewer, url("holds", store.pk)) and "needed" in page(
        viewer, url("holds", store.pk)
    )
    given = {"place": "/a.md", "kind": "pin", "reason": "x"}
    assert viewer.post(url("holds", store.pk), given).status_code == 403
    assert signed_in(charlie).get(url("holds", store.pk)).status_code == 404
    for who, one, status in (
        (viewer, pin, 403), (signed_in(charlie), pin, 404), (carol, hold, 403), (carol, pin, 200), (client, hold, 200),
    ):  # fmt: skip
        assert who.get(url("release_hold", store.pk, one.pk)).status_code == status
        assert who.put(url("release_hold", store.pk, one.pk)).status_code == 405
    assert carol.post(url("release_hold", store.pk, hold.pk)).status_code == 403
    assert client.get(url("release_hold", store.pk, "hold_none")).status_code == 404


def test_letting_go_asks_first_and_stays_in_the_list(client: Client, store: MemoryStore) -> None:
    hold = holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="case", path="/x")
    address = url("release_hold", store.pk, hold.pk)
    html = page(client, address)
    assert "Release the hold" in html and "can remove what this hold covers" in html
    html = client.post(address, {"note": "settled"}, follow=True).content.decode()
    assert "The legal hold was released." in html and "Ended" in html and "released by Alice" in html
    assert (newest(store).command, newest(store).note) == ("release", "settled")
    assert "This pin or hold had already ended." in client.post(address, follow=True).content.decode()
    assert "This pin or hold has already ended." in page(client, address)


def test_one_whose_end_has_come_is_over(client: Client, store: MemoryStore) -> None:
    holds.place(store.pk, act(), kind=HoldKind.PIN, reason="old", path="/x", ends_at=act().at + timedelta(days=3))
    html = page(client, url("holds", store.pk))
    assert "Nothing is held" in html and "on its last day" in html


def test_the_form_begins_with_what_the_address_says(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/notes/a.md")
    assert 'value="/notes/a.md"' in page(client, url("holds", store.pk) + f"?memory={memory.pk}&kind=hold")
    assert 'value="/notes/"' in page(client, url("holds", store.pk) + "?path=/notes/")
    for query in ("?memory=mem_x", "?path=", "?kind=%3Cb%3E", "?path=" + "x" * 3000):
        page(client, url("holds", store.pk) + query)


def test_hostile_reasons_and_paths_are_inert(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/<img src=x onerror=alert(1)>.md")
    place(client, store, memory.path, "hold", reason=HOSTILE)
    for address in (
        url("holds", store.pk), url("release_hold", store.pk, Hold.objects.get().pk),
        url("memory", store.pk, memory.pk), url("delete_memory", store.pk, memory.pk),
    ):  # fmt: skip
        html = page(client, address)
        assert "<img src=x" not in html and "<script>alert" not in html and "</textarea><b" not in html
        assert "legal hold" in html.lower()


def test_a_hold_refuses_to_delete_and_says_so_with_a_link(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/notes/a.md")
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path="/notes")
    address = url("delete_memory", store.pk, memory.pk)
    asked = page(client, address)
    assert "Case 17" in asked and "moves it to the trash" not in asked and "Back to the memory" in asked
    html = client.post(address).content.decode()
    assert url("holds", store.pk) in html and Memory.objects.live().count() == 1
    directory = url("delete_directory", store.pk, "notes")
    assert "Case 17" in page(client, directory) and "Case 17" in page(client, url("directory", store.pk, "notes"))
    assert url("holds", store.pk) in client.post(directory).content.decode()
    assert Memory.objects.live().count() == 1
    assert "go to the trash" not in page(client, directory) and "Back to the list" in page(client, directory)
    assert f'href="{directory}"' not in page(client, url("directory", store.pk, "notes"))


@pytest.mark.parametrize("held", ["/notes/a.md", "/notes/deep", "/notes/deep/b.md"])
def test_a_directory_with_something_held_in_it_names_it_and_offers_to_delete_the_rest(
    client: Client, store: MemoryStore, held: str
) -> None:
    write(store, "/notes/a.md")
    write(store, "/notes/deep/b.md")
    write(store, "/notes/c.md")
    place(client, store, held, "hold")
    html = page(client, url("delete_directory", store.pk, "notes"))
    kept = "/notes/deep/b.md" if held == "/notes/deep" else held
    assert f">{kept}</bdi>" in html and "/notes/c.md</bdi>" not in html and "Delete the other 2" in html


@pytest.mark.parametrize(
    ("pinned", "held"), [("/notes/a.md", ""), ("/notes", ""), ("/notes", "/notes"), ("", "/notes")]
)
def test_a_memory_says_that_it_is_pinned_also_while_a_legal_hold_keeps_it(
    client: Client, store: MemoryStore, pinned: str, held: str
) -> None:
    memory = write(store, "/notes/a.md")
    holds.place(store.pk, act(), kind=HoldKind.PIN, reason="The rules of the house", path=pinned)
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path=held)
    html = page(client, url("memory", store.pk, memory.pk))
    assert "Case 17" in html and "The rules of the house" in html


def test_the_trash_says_who_must_let_go_of_what_is_held(client: Client, store: MemoryStore) -> None:
    policy(store, trash_days=30)
    for path in ("/due.md", "/pinned.md", "/held.md"):
        write(store, path)
        curation.delete(store.pk, path, act())
    for path, kind in (("/pinned.md", HoldKind.PIN), ("/held.md", HoldKind.HOLD)):
        holds.place(store.pk, act(), kind=kind, reason="needed", path=path)
    rows = re.findall(r"<tr data-list-item>.*?</tr>", page(client, url("trash", store.pk)), re.DOTALL)
    said = {name: row for row in rows for name in ("due", "pinned", "held") if f"/{name}.md" in row}
    assert "someone unpins it" in said["pinned"] and "someone releases the hold" in said["held"]
    assert url("explain_path", store.pk) in said["due"] and url("holds", store.pk) not in said["due"]


def test_the_trash_says_until_when_a_hold_with_a_last_day_keeps_something(client: Client, store: MemoryStore) -> None:
    policy(store, trash_days=30)
    write(store, "/a.md")
    curation.delete(store.pk, "/a.md", act())
    ends = timezone.now() + timedelta(days=400)
    for last in (ends, ends - timedelta(days=100)):
        holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="case 1", path="/a.md", ends_at=last)
    trash = page(client, url("trash", store.pk))
    assert "someone releases the hold" not in trash and f'datetime="{ends.isoformat()[:16]}' in trash
    holds.place(store.pk, act(), kind=HoldKind.PIN, reason="needed", path="")
    assert "someone unpins it" in page(client, url("trash", store.pk))


def test_the_hold_follows_a_memory_that_is_renamed(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a.md")
    place(client, store, "/a.md")
    curation.rename(store.pk, "/a.md", "/b.md", act())
    html = page(client, url("holds", store.pk))
    assert "/b.md" in html and "Pinned" in page(client, url("memory", store.pk, memory.pk))


def test_the_forms_of_a_frozen_memory_say_so_before_anything_is_typed(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/case/a.md")
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="the letter", memory=memory.pk)
    edit, rename = url("edit_memory", store.pk, memory.pk), url("rename_memory", store.pk, memory.pk)
    for address in (edit, rename):
        assert "text is frozen" not in page(client, address)
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path="/case", freezes=True)
    for address in (edit, rename, url("delete_memory", store.pk, memory.pk)):
        html = page(client, address)
        assert "its text is frozen" in html and "Case 17" in html, address
        assert "Its text can still be changed" not in html, address
    facts = page(client, url("memory", store.pk, memory.pk))
    assert "text frozen" in facts and "Case 17" in facts


def test_the_page_of_a_held_memory_offers_no_act_that_the_hold_refuses(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/case/a.md")
    acts = {name: url(name, store.pk, memory.pk) for name in ("edit_memory", "rename_memory", "delete_memory")}

    def offered() -> tuple[list[str], str]:
        html = page(client, url("memory", store.pk, memory.pk))
        return [name for name, address in acts.items() if f'href="{address}"' in html], html

    assert offered()[0] == list(acts)
    hold = holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path="/case")
    names, html = offered()
    assert names == ["edit_memory", "rename_memory"] and "Legal hold: it cannot be deleted" in html
    holds.release(store.pk, hold.pk, act())
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 18", path="/case", freezes=True)
    names, html = offered()
    assert names == [] and "Legal hold: it cannot be changed" in html and "Case 18" in html
