"""Small imports that would be much work for the hub: reading, previewing and writing them stays within bounds."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import items as import_items
from memoryhub.models import ImportItem, MemoryVersion
from memoryhub.pure.transfer import recognition
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.git import places
from memoryhub.pure.transfer.jsonl import read as jsonl_read
from memoryhub.pure.transfer.reading import Bounds, Read
from tests.support.long import LONG
from tests.transfer import trips
from tests.transfer.hostile import archive

PART = 1 if LONG else 10
"""So many times less work is too much in the short form."""
COMMIT = b"commit refs/heads/m\ncommitter a <a@b> 0 +0000\ndata 0\n"
MARKS = "a" + "\u0301\u0323" * 900
"""Marks that are in the wrong order: to compose them takes the square of their number."""


def read(data: bytes, **bounds: int) -> Read:
    return recognition.read(data, "brought", Bounds(**bounds))


def texts(*names: str) -> bytes:
    return b"".join(b"M 100644 inline %s\ndata 1\nx\n" % name.encode() for name in names)


def lines(*told: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in told)


def export(*numbers: tuple[str, list[int]], texts: Callable[[int], str] = str) -> bytes:
    """An export of memories, each with versions of these numbers."""
    told: list[dict[str, Any]] = [{"type": "header", "format": "memoryhub", "version": 1}]
    for path, of_memory in numbers:
        told.append({"type": "memory", "id": f"mem{path}", "path": path})
        told += [
            {
                "type": "version", "memory": f"mem{path}", "id": f"memver{path}{number}", "number": number,
                "operation": "created" if number == 1 else "modified", "path": path, "content": texts(number),
                "created_at": "2026-01-01T00:00:00Z",
            }
            for number in of_memory
        ]  # fmt: skip
    return lines(*told, {"type": "end", "memories": len(numbers), "versions": sum(len(one) for _, one in numbers)})


@contextmanager
def quick(seconds: float = 10) -> Iterator[None]:
    """Fail if the test's own processor time is longer: without a bound, these imports take minutes."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


# ------------------------------------------------------------------------------------------------ git streams


def test_a_commit_that_removes_all_texts_again_and_again_removes_them_once() -> None:
    stream = COMMIT + texts(*(f"f{number}.md" for number in range(5_000))) + b"deleteall\n" * 100_000 + texts("f1.md")
    with quick():
        memories = read(stream).bundle.memories
    ends = [memory.versions[-1].operation for memory in memories]
    assert len(memories) == 5_000 and ends.count("deleted") == 4_999 and ends[1] == "created"


@pytest.mark.parametrize("moves", [b"R a b\nR b a\n" * 20_000, b"".join(b"C a b%d\n" % one for one in range(20_000))])
@pytest.mark.parametrize("name", [MARKS, "/".join(["d" * 120] * 31)])
def test_a_stream_that_moves_long_names_is_refused_before_it_costs_much(
    name: str, moves: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_LOOKED_AT", places.MOST_LOOKED_AT // PART)
    stream = COMMIT + texts(*(f"a/{name}{number}" for number in range(100))) + moves
    with quick(), pytest.raises(Refused, match="too many texts too often"):
        read(stream)


def test_ordinary_moves_of_a_large_directory_are_read() -> None:
    stream = COMMIT + texts(*(f"a0/notes/2026/project é/{number}.md" for number in range(200)))
    moves = b"".join(b"R a%d a%d\n" % (number, number + 1) for number in range(20))
    memories = read(stream + moves).bundle.memories
    assert {len(memory.versions) for memory in memories} == {21}
    assert memories[0].path == "/a20/notes/2026/project é/0.md"


def test_versions_with_one_blob_share_its_text() -> None:
    blob = "é" * 100_000
    stream = b"blob\nmark :1\ndata 200000\n%s\n" % blob.encode() + COMMIT
    stream += b"".join(b"M 100644 :1 %d.md\nC %d.md copy%d.md\n" % (one, one, one) for one in range(50))
    with quick():
        memories = read(stream).bundle.memories
    assert len({id(memory.versions[0].content) for memory in memories}) == 1 and len(memories) == 100


def test_a_copy_of_what_is_no_text_is_no_memory() -> None:
    read_ = read(COMMIT + texts("a.md") + b"M 100644 inline b\ndata 1\n\0\nC b c\nR b d\n")
    assert [memory.path for memory in read_.bundle.memories] == ["/a.md"]
    assert {left.path for left in read_.left} == {"/c", "/d"}


READING = """
import json, os, resource, sys
from memoryhub.pure.transfer import recognition
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Bounds
HEADER = b'{"type":"header","format":"memoryhub","version":1}\\n'
for told in json.loads(sys.argv[1]):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    data = eval(told)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        recognition.read(data, "brought", Bounds())
    except Refused as refused:
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, refused, flush=True)
    os._exit(0)
"""
SHORT = [
    ("b'\\n' * 5_000_000", "not a git stream"),
    ("b'#\\n' * 2_500_000", "not a git stream"),
    ('HEADER + b\'{"type":"x",\' + b\'"k":0,\' * 2_000_000 + b\'"j":0}\\n\'', "200,000 values"),
    ("HEADER + b'{\"type\":\"x\",\"v\":[' + b'[],' * 5_000_000 + b'0]}\\n'", "200,000 values"),
    ('HEADER + b\'{"type":"x","v":"\' + b\'a\' * 42_000_000 + b\'"}\\n\'', "Line 2 has more than 41,943,040 bytes"),
    ("b'# memoryhub {' + b'\"k\":0,' * 2_000_000 + b'\"j\":0}\\n'", "200,000 values"),
    (f"{COMMIT!r} + b'M 644 inline \"' + b'\\\\141' * 1_000_000 + b'\"\\n'", "longer than 4,096 bytes"),
]


def test_lines_of_a_few_bytes_take_no_memory_of_many_times_their_size() -> None:
    """Each in a process of its own, because the highest use of this one may be higher already."""
    command = [sys.executable, "-c", READING, json.dumps([data for data, _ in SHORT])]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for (data, said), line in zip(SHORT, told, strict=True):
        grown, _, refusal = line.partition(" ")
        assert said in refusal and int(grown) < 100, data


# ------------------------------------------------------------------------------------------------ JSON Lines and ZIP


def test_an_export_of_very_many_short_lines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl_read, "MOST_SHORT", 1_000)
    data = export(("/a.md", [1])).splitlines(keepends=True)
    entry = lines({"type": "entry", "message": "x" * jsonl_read.SHORT})
    assert read(b"".join([*data[:-1], entry * 2_000, data[-1]])).bundle.memories
    with pytest.raises(Refused, match="more than 1,000 lines of less than 256 bytes"):
        read(b"".join([*data[:-1], b'{"type":"x"}\n' * 2_000, data[-1]]))


def test_too_many_versions_are_refused_before_all_are_read() -> None:
    """The end of the file is missing: it is not reached."""
    data = b"".join(export(("/a.md", list(range(1, 20)))).splitlines(keepends=True)[:-1])
    with pytest.raises(Refused, match="more than 10 versions"):
        read(data, versions=10)


def test_a_manifest_of_very_many_lines_is_refused() -> None:
    header = lines({"type": "header", "format": "memoryhub-files", "version": 1})
    text = lines({"type": "file", "name": "a.md", "path": "/a.md", "sha256": hashlib.sha256(b"x").hexdigest()})
    named = header + text + lines({"type": "file", "name": "b.md", "path": "/b.md", "sha256": ""}) * 19
    for entries, is_taken in ((20, True), (19, False)):
        data = archive((".memoryhub/manifest.jsonl", named), ("a.md", b"x"))
        if is_taken:
            assert [memory.path for memory in read(data, entries=entries).bundle.memories] == ["/a.md"]
        else:
            with pytest.raises(Refused, match="manifest has more than 19 lines"):
                read(data, entries=entries)


# ------------------------------------------------------------------------------------------------ previews and runs


@pytest.mark.django_db(transaction=True)
def test_a_history_that_no_database_can_keep_leaves_out_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_items, "MOST_HISTORY", 1024**2)
    escaped = export(("/a.md", [1, 2]), ("/b.md", [1]), texts=lambda number: "\1" * 150_000)
    job = trips.run(trips.prepared(trips.new_store(), escaped))
    assert trips.outcomes(job) == {"/a.md": "refused", "/b.md": "refused"}
    reasons = dict(ImportItem.objects.filter(job=job).values_list("path", "reason"))
    assert reasons["/a.md"] == "Its versions have more than 1 MB in all." and "limit" in reasons["/b.md"]


@pytest.mark.django_db(transaction=True)
def test_removed_versions_of_a_source_are_written_a_few_at_a_time_and_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each removed version becomes a row, of which the source says nothing but a number."""
    monkeypatch.setattr(import_items, "MOST_GAPS_IN_ALL", 450)
    monkeypatch.setattr(importing, "MOST_VERSIONS", 300)
    store = trips.new_store()
    job = trips.prepared(store, export(*((f"/{number}.md", [201]) for number in range(4))))
    importing.start(job.pk, trips.act(41))
    done = []
    while importing.step(job.pk, trips.act(41).at):
        job.refresh_from_db()
        done.append(job.done_count)
    assert done == [1]  # and the other three in the last step
    versions = MemoryVersion.objects.filter(store=store).order_by("path").values_list("number", flat=True)
    assert list(versions) == [201, 201, 1, 1]
