"""The limits of a memory store at, just under and just over each of them; making things smaller is always allowed."""

from typing import Any

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules.limits import Limits, check
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import Door, Memory, MemoryStore
from memoryhub.models.stores import Governed
from memoryhub.pure.limits import COLUMNS, LIMITS as LISTED
from memoryhub.pure.protocol.errors import ToolError
from tests.api.harness import AT, BY, Hub, contents, new_hub

LIMITS = Limits(
    memory_bytes=100, memories=3, total_bytes=250, versions=None, view_characters=16_000, calls=None, audit_bytes=None
)
ACT = Act(Actor.system("Anna"), Door.WEB, AT)


def refusal(**sizes: Any) -> str | None:
    """The sentence that refuses a write, if any."""
    given: dict[str, Any] = {"old_size": None, "memories": 0, "total_bytes": 0} | sizes
    try:
        check(LIMITS, "/a.md", **given)
    except ToolError as error:
        return error.message
    return None


@pytest.mark.parametrize(("size", "fits"), [(0, True), (99, True), (100, True), (101, False)])
@pytest.mark.parametrize("old_size", [None, 0, 50, 99])
def test_a_memory_may_be_as_large_as_its_limit(size: int, fits: bool, old_size: int | None) -> None:
    told = refusal(new_size=size, old_size=old_size, total_bytes=old_size or 0)
    large = "Error: /memories/a.md would be 101 bytes; the limit of this memory store is 100. Split it or shorten it."
    assert told == (None if fits else large)


@pytest.mark.parametrize(
    ("old_size", "size", "fits"), [(150, 149, True), (150, 150, True), (150, 151, False), (150, 0, True)]
)
def test_a_memory_over_the_limit_may_shrink(old_size: int, size: int, fits: bool) -> None:
    assert (refusal(new_size=size, old_size=old_size, total_bytes=old_size) is None) == fits


@pytest.mark.parametrize(("memories", "fits"), [(2, True), (3, False), (4, False)])
def test_a_store_may_hold_as_many_memories_as_its_limit(memories: int, fits: bool) -> None:
    told = refusal(new_size=1, memories=memories)
    many = f"Error: this memory store holds {memories} memories, which is its limit. Delete or merge some."
    assert told == (None if fits else many)
    assert refusal(new_size=1, old_size=0, memories=memories) is None


@pytest.mark.parametrize(("total", "fits"), [(239, True), (240, True), (241, False)])
def test_a_store_may_hold_as_many_bytes_as_its_limit(total: int, fits: bool) -> None:
    full = "Error: this memory store would hold 251 bytes; its limit is 250. Delete or shorten some memories."
    assert refusal(new_size=10, total_bytes=total) == (None if fits else full)
    assert refusal(new_size=30, old_size=20, total_bytes=total) == (None if fits else full)


def test_a_store_over_its_limit_may_shrink() -> None:
    assert refusal(new_size=40, old_size=50, total_bytes=400) is None
    assert refusal(new_size=50, old_size=50, total_bytes=400) is None
    assert refusal(new_size=51, old_size=50, total_bytes=400) is not None


@pytest.mark.parametrize(("versions", "fits"), [(6, True), (7, False), (8, False)])
def test_a_memory_may_have_as_many_versions_as_its_limit(versions: int, fits: bool) -> None:
    limits = LIMITS._replace(versions=7)
    given: dict[str, Any] = {"old_size": 5, "memories": 1, "total_bytes": 5, "versions": versions}
    for size in (4, 6):
        if fits:
            check(limits, "/a.md", new_size=size, **given)
        else:
            with pytest.raises(ToolError, match=f"/memories/a.md has {versions} versions"):
                check(limits, "/a.md", new_size=size, **given)


@pytest.fixture
def small(db: None) -> Hub:
    """A store of 3 memories, 100 bytes each, 250 in all."""
    return new_hub(limit_memory_bytes=100, limit_memories=3, limit_total_bytes=250)


def write(hub: Hub, name: str, size: int) -> str:
    return hub.call(command="create", path=f"/memories/{name}", file_text="é" * (size // 2) + "x" * (size % 2))[0]


def test_limits_count_bytes_and_not_characters(small: Hub) -> None:
    assert [write(small, "a", 99), write(small, "b", 100), write(small, "c", 101)] == ["ok", "ok", "err"]
    assert [write(small, "c", 52), write(small, "c", 51)] == ["err", "ok"]
    assert write(small, "d", 0) == "err"
    store = MemoryStore.objects.get(pk=small.store.pk)
    assert (store.memory_count, store.total_bytes) == (3, 250)


def test_an_edit_is_measured_by_what_it_leaves(small: Hub) -> None:
    write(small, "a", 100)
    edit = {"command": "str_replace", "path": "/memories/a", "old_str": "é" * 50}
    assert small.call(**edit, new_str="x" * 101)[0] == "err"
    assert small.call(**edit, new_str="x" * 100)[0] == "ok"
    assert small.call(command="insert", path="/memories/a", insert_line=0, insert_text="")[0] == "err"


@pytest.mark.both_databases
def test_renames_and_deletes_are_never_too_much(small: Hub) -> None:
    for name in "abc":
        write(small, name, 80)
    small.store.refresh_from_db()
    limits = dict.fromkeys(("limit_memory_bytes", "limit_memories", "limit_total_bytes"), 1)
    stores.edit_store(small.store, StoreSettings("Small", limits=limits), **BY)
    assert small.call(command="rename", old_path="/memories/a", new_path="/memories/d/e")[0] == "ok"
    assert small.call(command="str_replace", path="/memories/b", old_str="é" * 40, new_str="x" * 79)[0] == "ok"
    assert small.call(command="str_replace", path="/memories/b", old_str="x" * 79, new_str="x" * 80)[0] == "err"
    assert small.call(command="delete", path="/memories/c")[0] == "ok"


def test_people_have_the_same_limits(small: Hub) -> None:
    done = curation.create(small.store.id, "/a", "x" * 100, ACT)
    memory = Memory.objects.get(pk=done.memory)
    for content in ("x" * 101, "é" * 51):
        with pytest.raises(ToolError, match="the limit of this memory store is 100"):
            curation.edit(small.store.id, memory.id, content, memory.sha256, ACT)
        with pytest.raises(ToolError, match="the limit of this memory store is 100"):
            curation.create(small.store.id, "/b", content, ACT)
    assert contents(small.store) == {"/memories/a": "x" * 100}


def test_a_restore_is_measured_too(small: Hub) -> None:
    write(small, "a", 100)
    version = Memory.objects.get(store=small.store).head_id
    small.call(command="delete", path="/memories/a")
    for name in "bcd":
        write(small, name, 60)
    with pytest.raises(ToolError, match="holds 3 memories"):
        curation.restore(small.store.id, version, ACT)
    small.call(command="delete", path="/memories/d")
    small.call(command="insert", path="/memories/b", insert_line=0, insert_text="x" * 30)
    with pytest.raises(ToolError, match="would hold 252 bytes"):
        curation.restore(small.store.id, version, ACT)


@pytest.mark.parametrize(("characters", "shown"), [(22, 3), (21, 2), (20, 2), (13, 1), (1, 1)])
def test_a_view_is_cut_at_the_stores_own_limit(db: None, characters: int, shown: int) -> None:
    hub = new_hub(limit_view_characters=characters)
    hub.call(command="create", path="/memories/a", file_text="\n\n")
    text = hub.call(command="view", path="/memories/a")[1]
    numbered = [line for line in text.split("\n") if line.endswith("\t")]
    assert len(numbered) == shown or characters < 23
    assert ("[Lines 1 to" in text) == (len(numbered) < 3)


def test_every_limit_of_the_list_has_its_column_and_those_of_writes_are_enforced() -> None:
    columns = {field.name for field in Governed._meta.fields if field.name.startswith("limit_")}
    assert columns == set(COLUMNS)
    assert set(Limits._fields) == {limit.name for limit in LISTED.values() if limit.is_of_writes}
