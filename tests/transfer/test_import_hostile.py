"""What an import brings that nobody honest would: ids of others, signs that no database keeps, work without end."""

import json
from pathlib import Path
from typing import Any

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.memories import curation, reading
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.memories.calls import find_caller
from memoryhub.actions.retention import removal
from memoryhub.actions.transfer import importing
from memoryhub.management.commands import import_store
from memoryhub.models import Access, Door, ImportItem, Memory, MemoryVersion
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.git import places as git_places, read as git_read
from memoryhub.pure.transfer.reading import Bounds
from tests.support.fixtures import BY
from tests.transfer import trips

SOMEBODY = "mem_" + "0" * 26
MOVED = b"commit refs/heads/m\ncommitter a <a@b> 0 +0000\ndata 0\n"


def lines(memory: str, version: str, path: str = "/forged.md") -> bytes:
    """An export with one forged memory, and an honest one."""
    told: list[dict[str, Any]] = [{"type": "header", "format": "memoryhub", "version": 1}]
    for memory_id, version_id, at in ((memory, version, path), ("mem_2", "memver_2", "/honest.md")):
        told.append({"type": "memory", "id": memory_id, "path": at})
        told.append({
            "type": "version", "memory": memory_id, "id": version_id, "number": 1, "operation": "created", "path": at,
            "content": "forged", "created_at": "2026-01-01T00:00:00Z",
        })  # fmt: skip
    told.append({"type": "end", "memories": 2, "versions": 2})
    return b"".join(json.dumps(line).encode() + b"\n" for line in told)


@pytest.mark.django_db(transaction=True)
def test_the_id_of_a_version_that_was_removed_here_is_not_taken_again(own_checkpoints: Path) -> None:
    store = trips.new_store()
    made = curation.create(store.pk, "/a.md", "first\n", trips.act(1))
    memory, version = str(made.memory), str(made.version)
    key = keys_and_roles.issue_key(
        keys_and_roles.create_agent("Reader", **BY), stores=[store], access=Access.READ, **BY
    )[1]
    caller = find_caller(key, store.pk, trips.act(2).at)
    assert caller is not None
    reading.with_texts(store.pk, Asked(caller, Door.MCP, trips.act(2).at), [version], {"version": version})
    curation.edit(store.pk, memory, "second\n", Memory.objects.get(pk=memory).sha256, trips.act(3))
    with tree.locked(store.pk, trips.act(4)) as locked:
        removed = removal.remove_versions(locked, memory, [version])
        tree.commit(locked, Record("purge", memory=memory, redactions=removed.redactions))
    job = trips.run(trips.prepared(store, lines(SOMEBODY, version)))
    assert trips.outcomes(job)["/forged.md"] == "taken"
    assert not MemoryVersion.objects.filter(pk=version).exists()
    trips.require_verified(store, own_checkpoints)


@pytest.mark.django_db(transaction=True)
def test_signs_that_no_database_keeps_leave_out_what_has_them_and_nothing_else() -> None:
    store = trips.new_store()
    for number, sign in enumerate(("\0", "\ud800")):
        data = lines(f"mem{sign}", f"memver{sign}", f"/a{sign}.md")
        job = trips.run(trips.prepared(store, data, place=f"/{number}", name=f"a{sign}.jsonl"))
        assert trips.outcomes(job) == {f"/{number}/a\ufffd.md": "refused", f"/{number}/honest.md": "taken"}
        assert job.name == "a\ufffd.jsonl"


def test_a_stream_that_moves_texts_to_and_fro_is_refused_before_it_costs_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a few bytes made a version of every text, or looked at all of them, as often as they stood there."""
    monkeypatch.setattr(git_places, "MOST_LOOKED_AT", 10_000)
    texts = b"".join(b"M 100644 inline a/%d\ndata 0\n" % number for number in range(100))
    for moves, said in ((b"R a b\nR b a\n", "more than 5,000 versions"), (b"C a b\n", "too many texts too often")):
        with pytest.raises(Refused, match=said):
            git_read.read(MOVED + texts + moves * 100_000, Bounds(versions=5_000))


@pytest.mark.django_db(transaction=True)
def test_what_the_rules_block_is_not_kept_by_a_preview_and_not_many_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    store = trips.new_store()
    job = trips.prepared(store, lines("mem_1", "memver_1", "/a\0.md"))
    assert [item.content for item in ImportItem.objects.filter(job=job).order_by("number")] == ["forged", None]
    monkeypatch.setattr(importing, "MOST_OPEN", 1)
    with pytest.raises(Refused, match="not over"):
        trips.prepared(store, lines("mem_1", "memver_1"))


def test_a_path_that_was_brought_moves_no_cursor_of_a_terminal() -> None:
    assert (
        import_store.printable("refused: /a\x1b]0;x\x07\r\u202e.md ü") == "refused: /a\ufffd]0;x\ufffd\ufffd\ufffd.md ü"
    )


@pytest.mark.django_db(transaction=True)
def test_a_preview_looks_through_a_few_bytes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MOST_BYTES", 1)
    store = trips.new_store()
    brought = importing.Brought(trips.read(lines("mem_1", "memver_1")), "a.jsonl")
    job = importing.prepare(store.pk, brought, "", trips.act(40))
    states = []
    for _ in range(2):
        importing.step(job.pk, trips.act(40).at)
        job.refresh_from_db()
        states.append((job.done_count, job.state))
    assert states == [(1, "reading"), (2, "preview")]
