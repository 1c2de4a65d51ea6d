"""An edit that comes after somebody else's: one text of both, every byte of either, and an entry that names both."""

import json
import re
from itertools import cycle

import pytest
from django.test import Client

from memoryhub.actions.memories import curation
from memoryhub.actions.memories.curation import Merged
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, User
from tests.support.fixtures import BY, signed_in
from tests.support.long import LONG, some
from tests.web.browser_forms import form_with, sent
from tests.web.memories.pages import HOSTILE, TEXTS, act, new_curator, newest, page, text_of, url_of, write

TEXT = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def curator(store: MemoryStore) -> User:
    """Somebody who also edits."""
    return new_curator(store)


@pytest.fixture
def client(curator: User) -> Client:
    return signed_in(curator)


class Desk:
    """A person who has opened a memory to edit it, while others save it."""

    def __init__(self, client: Client, store: MemoryStore, text: str = TEXT, path: str = "/a.md") -> None:
        self.client, self.store, self.memory = client, store, write(store, path, text)
        self.opened = self.memory.head_id
        self.fields = form_with(page(client, url_of(self.memory, "edit")), "sha256")

    def theirs(self, text: str, person: User | None = None) -> str:
        """Somebody else saves; gives their version's id."""
        self.memory.refresh_from_db()
        curation.edit(self.store.id, self.memory.id, text, self.memory.sha256, act(person))
        self.memory.refresh_from_db()
        return str(self.memory.head_id)

    def save(self, **typed: str) -> str:
        """Sends the form with what is typed; gives the page, whose form it keeps, or nothing once it is saved."""
        answer = self.client.post(url_of(self.memory, "edit"), sent(self.fields, **typed))
        if answer.status_code == 303:
            return ""
        html = answer.content.decode()
        self.fields = form_with(html, "sha256")
        return html

    def told(self) -> dict[str, object]:
        """The input of the newest entry."""
        return dict(json.loads(newest(self.store).input or "{}"))


@pytest.fixture
def desk(client: Client, store: MemoryStore) -> Desk:
    return Desk(client, store)


# ------------------------------------------------------------------------------------------------ without conflicts


def test_changes_of_different_lines_are_one_text(desk: Desk) -> None:
    desk.theirs(TEXT.replace("one", "ONE"))
    html = desk.save(text=TEXT.replace("five", "FIVE"), note="my note")
    assert "Your changes and the saved changes are in different lines" in html
    assert desk.fields["text"] == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert desk.fields["note"] == "my note"
    assert text_of(desk.memory) == TEXT.replace("one", "ONE")
    assert desk.save() == ""
    assert text_of(desk.memory) == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert MemoryVersion.objects.of_memory(desk.memory).count() == 3


def test_the_page_says_who_was_faster_and_how_much_lies_between(desk: Desk, superuser: User) -> None:
    desk.theirs(TEXT + "six\n")
    desk.theirs(TEXT + "seven\n", superuser)
    html = desk.save(text="zero\n" + TEXT)
    assert "You opened version 1. Since then, version 3 was saved." in html
    assert "There is 1 version between them." in html
    assert "Root" in html


def test_the_entry_names_both_versions_and_says_so_in_words(desk: Desk, client: Client, superuser: User) -> None:
    theirs = desk.theirs(TEXT.replace("one", "ONE"), superuser)
    desk.save(text=TEXT.replace("five", "FIVE"))
    desk.save()
    told = desk.told()
    assert (told["opened"], told["theirs"], told["merged"]) == (desk.opened, theirs, True)
    entry = newest(desk.store)
    for address in (f"/audit/{desk.store.id}/{entry.seq}", url_of(desk.memory, "versions")):
        words = re.sub(r"<[^>]+>|\s+", " ", page(client, address))
        assert re.search(
            r"merged with +version 2 *, which +Root +wrote *; the edit began from version 1", re.sub(" +", " ", words)
        )


def test_an_ordinary_edit_names_no_other_version(desk: Desk, client: Client) -> None:
    desk.save(text="new\n")
    assert "merged" not in desk.told()
    assert "merged with" not in page(client, url_of(desk.memory, "versions"))


def test_versions_of_another_memory_are_not_named(desk: Desk, store: MemoryStore) -> None:
    other = write(store, "/other.md")
    merged = Merged(other.head_id, desk.opened)
    curation.edit(store.id, desk.memory.id, "new", desk.memory.sha256, act(), merged=merged)
    assert "merged" not in desk.told()


def test_a_rename_and_an_edit_meanwhile_are_both_kept(desk: Desk) -> None:
    desk.theirs(TEXT.replace("one", "ONE"))
    curation.rename(desk.store.id, "/a.md", "/new/b.md", act())
    html = desk.save(text=TEXT.replace("five", "FIVE"))
    assert "/new/b.md" in html
    assert desk.save() == ""
    assert text_of(desk.memory) == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert newest(desk.store).path == "/new/b.md"


# ------------------------------------------------------------------------------------------------ conflicts


def conflicting(desk: Desk, *, note: str = "") -> str:
    """Both sides change the third line; only one the first, only the other the last."""
    desk.theirs("ONE\ntwo\nTHEIRS\nfour\nfive\n")
    return desk.save(text="one\ntwo\nMINE\nfour\nFIVE\n", note=note)


def test_a_conflict_is_shown_with_its_three_sides_and_marked_in_the_text(desk: Desk) -> None:
    html = conflicting(desk, note="why")
    assert desk.fields["text"] == (
        "ONE\ntwo\n<<<<<<< yours\nMINE\n|||||||\nthree\n=======\nTHEIRS\n>>>>>>> theirs, version 2\nfour\nFIVE\n"
    )
    assert (desk.fields["note"], desk.fields["mark"]) == ("why", "7")
    blocks = re.findall(r'<div class="merge-side merge-(\w+)">.*?<code>(.*?)</code>', html, re.DOTALL)
    assert [(side, re.sub("<[^>]+>", "", line)) for side, line in blocks] == [
        ("theirs", "THEIRS"), ("base", "three"), ("mine", "MINE"),
    ]  # fmt: skip
    assert "Conflicts left: 1 of 1" in html
    assert text_of(desk.memory) == "ONE\ntwo\nTHEIRS\nfour\nfive\n"


@pytest.mark.parametrize(("side", "line"), [
    ("theirs", "THEIRS\n"), ("mine", "MINE\n"), ("both", "THEIRS\nMINE\n"), ("base", "three\n"),
])  # fmt: skip
def test_without_script_a_side_is_chosen_and_then_saved(desk: Desk, side: str, line: str) -> None:
    conflicting(desk)
    html = desk.save(**{"conflict-1": side, "do": "choose"})
    assert "Every conflict is settled" in html
    assert desk.fields["text"] == f"ONE\ntwo\n{line}four\nFIVE\n"
    assert desk.save() == ""
    assert text_of(desk.memory) == f"ONE\ntwo\n{line}four\nFIVE\n"
    assert desk.told()["merged"] is True


def test_what_was_typed_by_hand_stays_when_a_side_is_chosen(desk: Desk) -> None:
    conflicting(desk)
    desk.save(**{"conflict-1": "mine", "do": "choose", "text": desk.fields["text"] + "by hand\n"})
    assert desk.fields["text"] == "ONE\ntwo\nMINE\nfour\nFIVE\nby hand\n"


def test_what_is_not_chosen_stays_a_conflict(desk: Desk) -> None:
    desk.theirs("1\ntwo\nTHEIRS\nfour\nfive\n")
    desk.save(text="I\ntwo\nMINE\nfour\nfive\n")
    html = desk.save(**{"conflict-2": "theirs", "conflict-1": "nonsense", "do": "choose"})
    assert "Conflicts left: 1 of 1" in html
    assert desk.fields["text"].endswith("two\nTHEIRS\nfour\nfive\n")
    assert "<<<<<<< yours\nI\n" in desk.fields["text"]


def test_the_text_is_finished_by_hand(desk: Desk) -> None:
    conflicting(desk)
    assert desk.save(text="finished\n") == ""
    assert text_of(desk.memory) == "finished\n"


def test_saving_with_markers_left_asks_first(desk: Desk) -> None:
    conflicting(desk)
    marked = desk.fields["text"]
    html = desk.save()
    assert "There is 1 conflict left in the text" in html
    assert desk.fields["text"] == marked
    assert text_of(desk.memory) == "ONE\ntwo\nTHEIRS\nfour\nfive\n"
    assert desk.save(do="save-marked") == ""
    assert text_of(desk.memory) == marked


def test_texts_that_have_markers_themselves_get_longer_ones(client: Client, store: MemoryStore) -> None:
    text = "<<<<<<< a\nx\n|||||||\n=======\n>>>>>>> b\nlast\n"
    desk = Desk(client, store, text)
    desk.theirs(text.replace("last", "THEIRS"))
    desk.save(text=text.replace("last", "MINE"))
    assert "<<<<<<<< yours\nMINE\n||||||||\nlast\n" in desk.fields["text"]
    desk.save(**{"conflict-1": "mine", "do": "choose"})
    assert desk.save() == ""
    assert text_of(desk.memory) == text.replace("last", "MINE")


def test_a_second_conflict_opens_the_room_again_with_nothing_lost(desk: Desk) -> None:
    conflicting(desk, note="my note")
    desk.theirs("ONE\ntwo\nTHEIRS\nfour\nfive\nAGAIN\n")
    merged = "ONE\ntwo\nTHEIRS AND MINE\nfour\nFIVE\n"
    html = desk.save(text=merged)
    assert "Since then, version 3 was saved" in html
    assert desk.fields["note"] == "my note"
    assert "five\nAGAIN" in desk.fields["text"]
    assert "FIVE\n" in desk.fields["text"]
    desk.save(text="ONE\ntwo\nTHEIRS AND MINE\nfour\nFIVE\nAGAIN\n")
    told = desk.told()
    assert (told["opened"], told["theirs"]) == (desk.opened, desk.memory.head_id)


def test_without_a_known_base_everything_that_differs_is_a_conflict(desk: Desk) -> None:
    desk.fields |= {"version": "memver_none", "sha256": "0" * 64}
    html = desk.save(text=TEXT.replace("one", "MINE"))
    assert "no longer exists" in html
    assert desk.fields["text"].startswith("<<<<<<< yours\nMINE\n|||||||\n=======\none\n>>>>>>> theirs, version 1\n")


def test_an_archived_store_keeps_the_merged_text(desk: Desk) -> None:
    conflicting(desk)
    stores.set_archived(desk.store, True, **BY)
    html = desk.save(text="finished\n")
    assert "archived" in html
    assert (desk.fields["text"], desk.fields["opened"]) == ("finished\n", desk.opened)


def test_a_memory_deleted_while_merging_can_be_made_again(desk: Desk) -> None:
    conflicting(desk)
    curation.delete(desk.store.id, "/a.md", act())
    answer = desk.client.post(url_of(desk.memory, "edit"), sent(desk.fields, text="merged\n"))
    assert "was deleted" in answer.content.decode()
    assert form_with(answer.content.decode(), "text")["text"] == "merged\n"


# ------------------------------------------------------------------------------------------------ to the byte


SIDES = ("mine", "theirs")
BOTH = [(text, side) for text in TEXTS for side in SIDES]
TAKEN = BOTH if LONG else list(zip(some(TEXTS, 3), cycle(SIDES), strict=False))
"""In the long form both sides of each text, else of each third one of them, in turns."""


@pytest.mark.parametrize(("text", "side"), TAKEN)
def test_a_side_is_taken_byte_for_byte(client: Client, store: MemoryStore, text: str, side: str) -> None:
    desk = Desk(client, store, text)
    desk.theirs(text + "theirs")
    desk.save(text=desk.fields["text"] + "mine")
    desk.save(**{"conflict-1": side, "do": "choose"})
    assert desk.save() == ""
    assert text_of(desk.memory) == text + side


@pytest.mark.parametrize("text", some(TEXTS, 3))
def test_a_clean_merge_leaves_the_rest_byte_for_byte(client: Client, store: MemoryStore, text: str) -> None:
    desk = Desk(client, store, f"first\n1\n2\n3\n{text}")
    desk.theirs(f"FIRST\n1\n2\n3\n{text}")
    desk.save(text=desk.fields["text"].replace("2\n3", "2\nmine\n3"))
    assert desk.save() == ""
    assert text_of(desk.memory) == f"FIRST\n1\n2\nmine\n3\n{text}"


def test_lines_that_end_in_cr_lf_on_one_side_keep_doing_so(client: Client, store: MemoryStore) -> None:
    desk = Desk(client, store, "one\ntwo\nthree\n")
    desk.theirs("one\r\ntwo\r\nTHREE\r\n")
    desk.save(text="ONE\ntwo\nthree\n")
    assert (desk.fields["newlines"], desk.fields["text"]) == ("crlf", "ONE\ntwo\nTHREE\n")
    desk.save()
    assert text_of(desk.memory) == "ONE\r\ntwo\r\nTHREE\r\n"


def test_a_lone_cr_gets_a_sign_that_none_of_the_texts_has(client: Client, store: MemoryStore) -> None:
    desk = Desk(client, store, "a\rb\nmiddle\nend ␍\n")
    desk.theirs("a\rb\nmiddle\nend ␍\nTHEIRS ⟨CR1⟩\r\n")
    desk.save(text="MINE" + desk.fields["text"])
    assert desk.fields["newlines"] == "⟨CR2⟩"
    desk.save()
    assert text_of(desk.memory) == "MINEa\rb\nmiddle\nend ␍\nTHEIRS ⟨CR1⟩\r\n"


def test_hostile_texts_are_inert_in_the_room(client: Client, store: MemoryStore) -> None:
    desk = Desk(client, store, "base")
    desk.theirs(HOSTILE + "theirs")
    html = desk.save(text=HOSTILE.replace("\n", "\r\n") + "mine")
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "</textarea><b" not in html
    assert "U+202E" in html


@pytest.mark.parametrize(
    "fields", [{"mark": "x"}, {"mark": "-1"}, {"mark": "999999"}, {"opened": "x" * 65}, {"opened": "a\0"}]
)
def test_a_malformed_room_changes_nothing(desk: Desk, fields: dict[str, str]) -> None:
    conflicting(desk)
    before = AuditEntry.objects.count()
    assert desk.save(**fields, text="new") != ""
    assert AuditEntry.objects.count() == before


def test_hundreds_of_conflicts_are_all_in_the_text_and_the_first_ones_shown(client: Client, store: MemoryStore) -> None:
    desk = Desk(client, store, "".join(f"line {n}\n-\n" for n in range(150)))
    desk.theirs("".join(f"theirs {n}\n-\n" for n in range(150)))
    html = desk.save(text="".join(f"mine {n}\n-\n" for n in range(150)))
    assert html.count("data-merge-conflict=") == 100
    assert "Only the first 100 of 150 conflicts are shown here" in html
    assert desk.fields["text"].count("<<<<<<< yours") == 150
