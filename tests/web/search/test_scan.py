"""What a search finds: everything that looking at every text finds, whatever the slices are, and nothing else."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st
from pytest_django import DjangoDbBlocker

from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Operation
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.folding import fold
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.search import scan as search_scan
from memoryhub.web.search.candidates import LIVE, OLD, TRASH
from memoryhub.web.search.scan import Part, Place, Wanted, scan
from tests.api.harness import new_store
from tests.support.long import LONG
from tests.web.memories.pages import act, write

NAMES = ["acme", "Notes", "顧客", "ＡＢＣ", "ß"]
TEXTS = ["Straße acme\n", "ACME globex", "顧客メモ\nabc", "ＡＢＣ notes", "", "ﬁne\n\nfine acme", "か\u3099"]
NOTES = ["", "as Acme asked", "お客様の顧客", ""]
QUERIES = [("acme",), ("abc", "notes"), ("顧客",), ("strasse",), ("fine", "acme"), ("が",), ("nothing",), ("ss", "a")]

Found = tuple[str, str, int]
"""The kind, the memory and the version's number."""


def everything(wanted: Wanted, stores: list[str]) -> set[Found]:
    """What is found by looking at every version there is, as one would do it in a few lines."""
    result = set()
    entries = {(entry.chain, entry.seq): entry for entry in AuditEntry.objects.filter(chain__in=stores)}
    for version in MemoryVersion.objects.filter(store__in=stores).select_related("memory", "text"):
        memory = version.memory
        if version.operation == Operation.DELETED or version.path is None:
            continue
        last = memory.deleted_at is not None and version.number == memory.version_count - 1
        kind = LIVE if version.pk == memory.head_id else TRASH if last else OLD
        if kind not in wanted.kinds or not _fits(wanted, version, entries[version.store_id, version.seq]):
            continue
        result.add((kind, memory.pk, version.number))
    return result


def _fits(wanted: Wanted, version: MemoryVersion, entry: AuditEntry) -> bool:
    texts = [version.path] if wanted.paths else []
    texts += [entry.note or "", _deletion_note(version)] if wanted.notes else []
    texts += [version.content or ""] if wanted.contents else []
    beneath = wanted.path is None or version.path == wanted.path or str(version.path).startswith(wanted.path + "/")
    return (
        beneath
        and all(any(word in fold(text) for text in texts for word in forms) for forms in wanted.words)
        and wanted.author in (None, entry.author_id)
        and (wanted.start is None or version.created_at >= wanted.start)
        and (wanted.end is None or version.created_at < wanted.end)
    )


def _deletion_note(version: MemoryVersion) -> str:
    """The note of the deletion, of the last version of a memory in the trash."""
    memory = version.memory
    if memory.deleted_at is None or version.number != memory.version_count - 1:
        return ""
    return AuditEntry.objects.get(chain=memory.store_id, seq=memory.head.seq).note or ""


def parts(wanted: Wanted, stores: list[str], seconds: float) -> Iterator[Part]:
    """A whole search, each part from where the one before it ended, by way of the address."""
    place = Place()
    for _ in range(2000):
        part = scan(wanted, stores, place, seconds)
        yield part
        if part.ended:
            return
        place = Place.of(str(part.place)).on_a_new_page()
    raise AssertionError("the search does not end")


def found(wanted: Wanted, stores: list[str], seconds: float) -> list[Found]:
    return [
        (hit.row.kind, hit.row.memory, hit.row.number) for part in parts(wanted, stores, seconds) for hit in part.hits
    ]


@pytest.fixture(scope="module")
def made(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> list[str]:
    """Two stores with a random history of everything that people do with memories."""
    with django_db_blocker.unblock():
        made = [new_store(), new_store()]
        chance = random.Random(11)
        for number in range(150 if LONG else 90):
            _do_something(chance.choice(made), chance, number)
        return [store.id for store in made]


@pytest.fixture
def stores(made: list[str], db: None) -> list[str]:
    return list(made)


def _do_something(store: MemoryStore, chance: random.Random, number: int) -> None:
    live = list(Memory.objects.live().filter(store=store))
    gone = list(Memory.objects.in_trash().filter(store=store))
    note = act()
    note = type(note)(note.actor, note.door, note.at, note=chance.choice(NOTES) or None)
    place = f"/{chance.choice(NAMES)}/{chance.choice(NAMES)}-{number}"
    try:
        what = chance.randint(0, 7)
        if what <= 2 or not live:
            curation.create(store.id, place, chance.choice(TEXTS), note)
        elif what <= 4:
            one = chance.choice(live)
            curation.edit(store.id, one.id, chance.choice(TEXTS), one.sha256, note)
        elif what == 5:
            curation.rename(store.id, chance.choice(live).path, place, note)
        elif what == 6:
            curation.delete(store.id, chance.choice(live).path, note)
        elif gone:
            versions = store.versions.filter(memory=chance.choice(gone), text__isnull=False)
            curation.restore(store.id, versions.order_by("-number")[0].id, note)
    except ToolError:
        pass


@pytest.mark.parametrize("words", QUERIES)
def test_a_search_finds_what_looking_at_everything_finds(stores: list[str], words: tuple[str, ...]) -> None:
    folded = [(fold(word),) for word in words]
    for old, trash in ((False, False), (True, False), (False, True), (True, True)):
        for places in ({}, {"contents": False}, {"paths": False, "notes": False}, {"contents": False, "paths": False}):
            wanted = Wanted(folded, old=old, trash=trash, **places)
            hits = found(wanted, stores, 10)
            assert len(hits) == len(set(hits))
            assert set(hits) == everything(wanted, stores)


@pytest.mark.push
@pytest.mark.parametrize("rows", [1, 3, 200])
def test_slices_of_one_row_find_the_same_in_the_same_order(
    stores: list[str], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Wanted([("acme",)], old=True, trash=True)
    whole = found(wanted, stores, 10)
    monkeypatch.setattr(search_scan, "FIRST_ROWS", rows)
    monkeypatch.setattr(search_scan, "MOST_ROWS", rows)
    monkeypatch.setattr(search_scan, "BATCH_ROWS", min(rows, 2))
    assert found(wanted, stores, 0) == whole
    assert [kind for kind, *_ in whole] != sorted(kind for kind, *_ in whole)  # store by store


def test_filters_by_path_and_time_leave_out_the_rest(stores: list[str]) -> None:
    moments = sorted(MemoryVersion.objects.values_list("created_at", flat=True))
    for path in ("/acme", "/顧客", "/acme/Notes", "/nowhere"):
        wanted = Wanted([("a",)], path=path, old=True, trash=True)
        assert set(found(wanted, stores, 10)) == everything(wanted, stores)
    wanted = Wanted([], start=moments[0], end=moments[-1], old=True, trash=True)
    assert set(found(wanted, stores, 10)) == everything(wanted, stores)


def test_a_path_is_a_directory_and_no_beginning_of_a_name(store: MemoryStore) -> None:
    for path in ("/notes/a.md", "/notes-old/a.md", "/notes.md", "/notesx/a.md"):
        write(store, path)
    hits = found(Wanted([], path="/notes"), [store.id], 10)
    assert [Memory.objects.get(pk=memory).path for _, memory, _ in hits] == ["/notes/a.md"]


def test_the_progress_counts_memories_and_versions(stores: list[str]) -> None:
    *_, last = parts(Wanted([("nothing at all",)], old=True, trash=True), stores, 0)
    assert last.ended
    assert last.place.looked == Memory.objects.count()
    assert last.place.old == MemoryVersion.objects.count()
    assert last.place.found == 0


def test_a_page_is_full_after_thirty_memories(store: MemoryStore) -> None:
    for number in range(35):
        write(store, f"/{number:02}.md", "the same text")
    part = scan(Wanted([("same",)]), [store.id], Place(), 10)
    assert (len(part.hits), part.place.is_full, part.ended) == (30, True, False)
    rest = scan(Wanted([("same",)]), [store.id], part.place.on_a_new_page(), 10)
    assert (len(rest.hits), rest.ended, rest.place.found) == (5, True, 35)


def test_a_page_is_full_after_many_versions_of_one_memory(store: MemoryStore) -> None:
    memory = write(store, "/a.md", "same 0")
    for number in range(120):
        memory.refresh_from_db()
        curation.edit(store.id, memory.id, f"same {number + 1}", memory.sha256, act())
    hits = found(Wanted([("same",)], old=True), [store.id], 10)
    assert len(hits) == 121
    assert len(scan(Wanted([("same",)], old=True), [store.id], Place(), 10).hits) == search_scan.MOST_VERSIONS


def test_the_clock_is_looked_at_after_every_text(store: MemoryStore) -> None:
    for number in range(12):
        write(store, f"/{number}.md", "x" * 90_000)
    part = scan(Wanted([("nothing",)]), [store.id], Place(), 0)
    assert part.place.looked == 1


def test_what_was_written_while_one_searches_is_neither_lost_nor_shown_twice(store: MemoryStore) -> None:
    for number in range(10):
        write(store, f"/{number}.md", "same")
    part = scan(Wanted([("same",)]), [store.id], Place(), 10, most=4)
    write(store, "/00.md", "same")
    write(store, "/77.md", "same")
    curation.delete(store.id, "/3.md", act())
    rest = scan(Wanted([("same",)]), [store.id], Place.of(str(part.place)), 10)
    paths = [hit.row.path for hit in part.hits + rest.hits]
    assert paths == sorted({f"/{number}.md" for number in range(10)} | {"/77.md"})


def test_a_store_that_is_gone_meanwhile_is_passed_over(stores: list[str]) -> None:
    first, second = sorted(stores)
    part = scan(Wanted([("acme",)]), [first, second], Place(), 10, most=1)
    rest = scan(Wanted([("acme",)]), [second], part.place, 10)
    assert {hit.row.store for hit in rest.hits} == {second}


@given(st.text(max_size=60))
def test_a_place_that_no_search_has_given_is_refused(written: str) -> None:
    with pytest.raises(BadPlace):
        Place.of(written)


def test_a_place_is_signed(stores: list[str]) -> None:
    written = str(Place(store=stores[0], kind=OLD, key=("mem_1", 3)))
    assert Place.of(written).key == ("mem_1", 3)
    for at in (0, len(written) // 2, -1):
        changed = list(written)
        changed[at] = "A" if changed[at] != "A" else "B"
        with pytest.raises(BadPlace):
            Place.of("".join(changed))
    for wrong in (
        Place(kind="none"),
        Place(kind=OLD, key=(1, 2)),
        Place(kind=TRASH, key=("x", "y")),
        Place(key=("a", "b")),
    ):
        with pytest.raises(BadPlace):
            Place.of(str(wrong))
