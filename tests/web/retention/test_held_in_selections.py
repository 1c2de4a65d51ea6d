"""Acts on several memories of which legal holds keep some: the page names them first, and does it with the rest."""

import random
from collections.abc import Callable

import pytest
from django.db import transaction
from django.urls import reverse

from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.transactions.trial import without_effect
from memoryhub.actions.memories import curation
from memoryhub.actions.memories.selection import Chosen, deletion, moves
from memoryhub.actions.verification.verify import verify
from memoryhub.models import Directory, Hold, HoldKind, Memory, MemoryStore, User
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.retention.holds.held import fixing
from tests.support.fixtures import AT, signed_in
from tests.support.long import LONG
from tests.web.memories.pages import act, page, write
from tests.web.memories.test_selection import ask, confirm, directory, live, words

pytestmark = pytest.mark.django_db
PATHS = ("/case/a.md", "/case/b.md", "/free/c.md", "/free/d.md")


def hold(store: MemoryStore, path: str, *, freezes: bool = False) -> Hold:
    memory = Memory.objects.filter(store=store).at(path).first()
    on = {"memory": memory.pk} if memory else {"path": path}
    return holds.place(
        store.pk, act(), kind=HoldKind.HOLD, reason="Letter of the court", case_number="17/B", freezes=freezes, **on
    )


@pytest.fixture
def garden(store: MemoryStore) -> MemoryStore:
    for path in PATHS:
        write(store, path)
    return store


def ids(store: MemoryStore) -> str:
    return " ".join(Memory.objects.live().filter(store=store).order_by("path").values_list("pk", flat=True))


@pytest.mark.both_databases
@pytest.mark.parametrize("freezes", [False, True])
def test_what_is_held_is_named_before_the_deletion_and_the_rest_is_deleted(
    garden: MemoryStore, alice: User, freezes: bool
) -> None:
    hold(garden, "/case/a.md", freezes=freezes)
    client = signed_in(alice)
    asked = ask(client, garden, act="delete", ids=ids(garden))
    assert "Letter of the court" in asked and "17/B" in asked and "/case/a.md</bdi>" in asked
    assert "Delete the other 3" in words(asked) and ("its text is frozen" in asked) == freezes
    assert "3 memories are in the trash now" in words(confirm(client, garden, asked))
    assert live(garden) == {"/case/a.md"} and verify(garden.id)[1] is None


@pytest.mark.both_databases
def test_a_directory_is_deleted_but_for_what_is_held_in_it(garden: MemoryStore, alice: User) -> None:
    hold(garden, "/case/a.md")
    client = signed_in(alice)
    for asked in (
        ask(client, garden, act="delete", ids=directory(garden, "/case")),
        page(client, reverse("delete_directory", args=[garden.pk, "case"])),
    ):
        assert "Letter of the court" in asked and "Delete the other 1" in words(asked)
        assert "<h1>Delete 1 memory</h1>" in asked and "with 1 memory under it" in words(asked)
    assert "1 memory is in the trash now" in words(confirm(client, garden, asked))
    assert live(garden) == {"/case/a.md", "/free/c.md", "/free/d.md"} and verify(garden.id)[1] is None
    assert Directory.objects.get(store=garden, path="/case").memory_count == 1


@pytest.mark.parametrize("held", ["/case", ""])
def test_no_button_is_offered_where_everything_is_held(garden: MemoryStore, alice: User, held: str) -> None:
    hold(garden, held)
    client = signed_in(alice)
    for asked in (
        ask(client, garden, act="delete", ids=directory(garden, "/case")),
        page(client, reverse("delete_directory", args=[garden.pk, "case"])),
    ):
        assert "Letter of the court" in asked and "until the hold is released" in asked
        assert 'name="digest"' not in asked and "button-danger" not in asked
    assert signed_in(alice).post(reverse("delete_directory", args=[garden.pk, "case"])).status_code == 200
    assert live(garden) == set(PATHS)


def test_a_hold_that_comes_after_the_question_is_asked_about_again(garden: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    asked = ask(client, garden, act="delete", ids=ids(garden))
    hold(garden, "/case/a.md")
    again = confirm(client, garden, asked)
    assert "/case/a.md is under a legal hold" in words(again).replace("\u2068", "").replace("\u2069", "")
    assert "Delete the other 3" in words(again) and live(garden) == set(PATHS)


def test_a_move_names_what_a_hold_keeps_where_it_is_and_moves_the_rest(garden: MemoryStore, alice: User) -> None:
    hold(garden, "/case")
    hold(garden, "/free/c.md", freezes=True)
    client = signed_in(alice)
    asked = ask(client, garden, act="move", into="/new", ids=ids(garden))
    assert "/case/a.md</bdi>" in asked and "/free/c.md</bdi>" in asked and "Move the other 1" in words(asked)
    assert "1 memory moved to" in words(confirm(client, garden, asked))
    assert live(garden) == {"/case/a.md", "/case/b.md", "/free/c.md", "/new/d.md"}
    asked = ask(client, garden, act="move", into="/new", ids=directory(garden, "/free"))
    assert "until the hold is released" in asked and 'name="digest"' not in asked


def test_what_is_held_but_not_frozen_moves_within_what_is_held(garden: MemoryStore, alice: User) -> None:
    hold(garden, "/case")
    hold(garden, "/free/c.md")
    client = signed_in(alice)
    chosen = " ".join(Memory.objects.at(path).get().pk for path in ("/case/a.md", "/free/c.md"))
    asked = ask(client, garden, act="move", into="/case/deep", ids=chosen)
    assert "Letter of the court" not in asked and "2 memories moved" in words(confirm(client, garden, asked))


def test_a_frozen_memory_of_the_trash_stays_there_and_the_rest_is_restored(garden: MemoryStore, alice: User) -> None:
    one = Memory.objects.at("/free/c.md").get()
    for path in ("/free/c.md", "/free/d.md"):
        curation.delete(garden.pk, path, act())
    holds.place(garden.pk, act(), kind=HoldKind.HOLD, reason="Letter", memory=one.pk, freezes=True)
    client = signed_in(alice)
    asked = ask(client, garden, act="restore", ids=one.pk)
    assert "Letter" in asked and "Nothing can be restored" in words(asked) and 'name="digest"' not in asked
    trash = " ".join(Memory.objects.in_trash().filter(store=garden).values_list("pk", flat=True))
    asked = ask(client, garden, act="restore", ids=trash)
    assert "Letter" in asked and "/free/c.md</bdi>" in asked and "Restore 1 memory" in words(asked)
    confirm(client, garden, asked)
    assert live(garden) == {"/case/a.md", "/case/b.md", "/free/d.md"}


@pytest.mark.parametrize(
    ("place", "freezes", "renames"),
    [
        ("/case/a.md", False, True), ("/case/a.md", True, False), ("/case", False, True), ("/case", True, False),
        ("", False, True), ("", True, False),
    ],
)  # fmt: skip
def test_the_page_that_renames_a_memory_offers_no_button_that_must_fail(
    garden: MemoryStore, alice: User, place: str, freezes: bool, renames: bool
) -> None:
    hold(garden, place, freezes=freezes)
    memory = Memory.objects.at("/case/a.md").get()
    address, client = reverse("rename_memory", args=[garden.pk, memory.pk]), signed_in(alice)
    html = page(client, address)
    assert ('name="new_path"' in html) == renames
    assert ("Letter of the court" in html) == (not renames or place == "/case")
    assert client.post(address, {"new_path": "/case/other.md"}).status_code == (303 if renames else 200)


@pytest.mark.parametrize(
    ("place", "freezes", "renames"),
    [
        ("/case/a.md", False, True), ("/case/a.md", True, False), ("/case", False, False), ("/case/deep", False, False),
        ("", False, True), ("", True, False),
    ],
)  # fmt: skip
def test_the_page_that_renames_a_directory_offers_no_button_that_must_fail(
    garden: MemoryStore, alice: User, place: str, freezes: bool, renames: bool
) -> None:
    hold(garden, place, freezes=freezes)
    address, client = reverse("rename_directory", args=[garden.pk, "case"]), signed_in(alice)
    html = page(client, address)
    assert ('name="new_path"' in html) == renames
    assert ("Letter of the court" in html) == (not renames)
    assert client.post(address, {"new_path": "/other"}).status_code == (303 if renames else 200)


def test_removing_permanently_says_why_a_hold_keeps_something(garden: MemoryStore, alice: User) -> None:
    hold(garden, "/case/a.md")
    client = signed_in(alice)
    chosen = {"id": ids(garden).split()}
    html = client.get(reverse("remove_memories", args=[garden.pk]), chosen).content.decode()
    assert "Letter of the court" in html and "/case/a.md</bdi>" in html
    assert "Remove 3 memories permanently" in words(html)


@pytest.mark.push
@pytest.mark.both_databases
def test_a_page_says_of_every_hold_exactly_what_the_act_would_refuse(store: MemoryStore) -> None:
    chance, seen = random.Random(17), set()
    for path in ("/a/b/1.md", "/a/b/2.md", "/a/3.md", "/a/c/4.md", "/5.md"):
        write(store, path)
    places, memories = ["", "/a", "/a/b", "/a/b/1.md", "/a/3.md", "/a/c", "/5.md", "/new"], list(Memory.objects.all())
    for number in range(40 if LONG else 10):
        with without_effect():
            for which in range(chance.randint(1, 2)):
                is_on_path = chance.random() < 0.6
                holds.place(
                    store.pk, act(), kind=HoldKind.HOLD, reason=f"{number} {which}", freezes=chance.random() < 0.5,
                    path=chance.choice(places) if is_on_path else None,
                    memory=None if is_on_path else chance.choice(memories).pk,
                )  # fmt: skip
            for path in ("/a/b", "/a/b/1.md", "/a/3.md", "/a/c", "/5.md"):
                seen |= {says_what_the_act_does(store, path, into) for into in ("/new", "/a", "/a/c", "")}
    assert seen == {(True, True), (False, True), (False, False), (True, None), (False, None)}


def says_what_the_act_does(store: MemoryStore, path: str, into: str) -> tuple[bool, bool | None]:
    """Returns whether a path may be deleted and moved (None: other reasons forbid to move it)."""
    row = Memory.objects.filter(store=store).at(path).first() or Directory.objects.get(store=store, path=path)
    chosen = Chosen((row.pk,))
    deletes = not deletion.deletion(store.pk, chosen, AT).held
    assert deletes == goes(lambda: curation.delete(store.pk, path, act()))
    plan = moves.move_plan(store.pk, chosen, into, AT)
    if plan.blocked or plan.staying:
        return deletes, None
    assert plan.can_be_done == goes(lambda: curation.rename(store.pk, path, plan.moves[0].to, act()))
    is_fixed = fixing(store, path, AT, row.pk if isinstance(row, Memory) else "") is not None
    assert not (is_fixed and plan.can_be_done)
    return deletes, plan.can_be_done


def goes(do_it: Callable[[], object]) -> bool:
    """Returns whether no legal hold refuses an act; undoes it."""
    try:
        with transaction.atomic():
            do_it()
            raise _UndoneError
    except _UndoneError:
        return True
    except ToolError:
        return False


class _UndoneError(Exception):
    """Ends an act that is undone."""


@pytest.mark.both_databases
@pytest.mark.parametrize("whole", [False, True])
def test_a_move_says_that_a_hold_without_freezing_goes_along(garden: MemoryStore, alice: User, whole: bool) -> None:
    chosen = directory(garden, "/case") if whole else ids(garden)
    client, says = signed_in(alice), "This memory keeps its legal hold after the move"
    assert says not in words(ask(client, garden, act="move", ids=chosen, into="/new"))
    hold(garden, "/case/a.md")
    preview = words(ask(client, garden, act="move", ids=chosen, into="/new"))
    assert f"{says}, so nobody can remove it: /case/a.md" in preview
