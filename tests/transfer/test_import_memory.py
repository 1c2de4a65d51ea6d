"""What an import needs: of memory little more than its texts, of the time of those who write meanwhile little."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.management import call_command
from django.db.models import Sum

from memoryhub.actions.core import transactions
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import forgetting
from memoryhub.models import AuditEntry, Import, ImportItem, ImportState, Memory, MemoryStore, MemoryVersion
from memoryhub.pure import sensitive
from memoryhub.pure.transfer.bundle import Author, Bundle, BundledMemory, BundledVersion, Refused
from memoryhub.pure.transfer.reading import Read
from memoryhub.web.transfer.imports.forms import UploadForm
from tests.api.harness import new_hub
from tests.transfer.trips import START, act, exported, new_store, require_verified, run

pytestmark = pytest.mark.django_db

LINE = "a line of words that anybody could have written\n"


def text(number: int) -> str:
    return f"{number}\n{LINE * 2_000}"


def archive() -> bytes:
    """A ZIP of 6 MB whose texts are stored as they are, so that it is as large as they."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as opened:
        for number in range(60):
            opened.writestr(f"notes/{number}.md", text(number))
    return written.getvalue()


def export() -> bytes:
    """The same texts in JSON Lines."""
    store = new_store()
    told = (BundledVersion(None, 1, "created", f"/notes/{number}.md", text(number), None, None) for number in range(60))
    job = prepared(store, tuple(BundledMemory(None, one.path, (one,)) for one in told))
    run(job)
    return exported(store, "jsonl")


def prepared(store: MemoryStore, memories: tuple[BundledMemory, ...]) -> Import:
    brought = importing.Brought(Read(Bundle("jsonl", memories)), "brought")
    job = importing.prepare(store.pk, brought, "", act(40))
    while importing.step(job.pk, act(40).at):
        pass
    job.refresh_from_db()
    return job


@pytest.mark.push
@pytest.mark.parametrize("name", ["brought.zip", "brought.jsonl"])
def test_an_upload_is_read_from_its_file_and_needs_little_more_memory_than_its_texts(name: str) -> None:
    data = archive() if name.endswith("zip") else export()
    with TemporaryUploadedFile(name, "application/octet-stream", len(data), None) as upload:
        upload.write(data)
        upload.seek(0)
        form = UploadForm(MemoryStore(), {"source": "upload", "place": ""}, {"brought": upload})
        assert form.is_valid()
        tracemalloc.start()
        try:
            brought = form.read()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert len(brought.read.bundle.memories) == 60
    assert peak < 1.4 * len(data), f"{peak:,} bytes for {len(data):,}"


@pytest.mark.long
def test_the_command_reads_a_file_and_a_pipe_without_holding_them_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = archive()
    (tmp_path / "notes.zip").write_bytes(data)
    for source in (str(tmp_path / "notes.zip"), "-"):
        store = new_store(f"From {source}")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        tracemalloc.start()
        try:
            call_command("import_store", store.pk, source, "--dry-run", stdout=io.StringIO())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2.5 * len(data), f"{peak:,} bytes for {len(data):,}"


def versions(count: int) -> tuple[BundledVersion, ...]:
    by = Author("user_actor", "user_1", "Anna")
    return tuple(
        BundledVersion(
            None, number, "created" if number == 1 else "modified", "/long.md",
            f"anna{number}@example.com\n" if number % 100 == 0 else f"line {number}\n",
            START - timedelta(days=1) + timedelta(seconds=number), by,
        )
        for number in range(1, count + 1)
    )  # fmt: skip


def test_the_texts_of_an_import_are_screened_while_nobody_waits_and_a_long_history_is_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """To look through a history takes most of the time of its import: no call waits for that."""
    look, under_lock, looked_at = sensitive.look, list[str](), list[str]()

    def watched(content: str, *how: Any, **options: Any) -> Any:
        if content.startswith(("line ", "anna")):
            (under_lock if transactions.is_open() else looked_at).append(content)
        return look(content, *how, **options)

    monkeypatch.setattr(sensitive, "look", watched)
    store, told = new_store(), versions(500)
    job = prepared(store, (BundledMemory(None, "/long.md", told),))
    run(job)
    assert len(set(looked_at)) == 500 and not under_lock
    memory = Memory.objects.get(store=store)
    made = MemoryVersion.objects.filter(store=store, memory=memory).order_by("number").select_related("text")
    assert [one.content for one in made] == [one.content for one in told]
    assert [one.created_at for one in made] == [one.at for one in told]
    assert {one.origin["type"] for one in made if one.origin} == {"user_actor"} and memory.version_count == 500
    require_verified(store, tmp_path / "checkpoints.jsonl")


def small(number: int) -> BundledMemory:
    path = f"/notes/{number}.md"
    return BundledMemory(None, path, (BundledVersion(None, 1, "created", path, f"{number}\n{LINE * 20}", None, None),))


def watch_pieces(monkeypatch: pytest.MonkeyPatch, between: Callable[[int], None]) -> list[int]:
    """How many items each transaction of an import writes; `between` is called after each."""
    pieces: list[int] = []
    add = importing._add

    def watched(job: Import, items: Sequence[ImportItem]) -> None:
        add(job, items)
        pieces.append(len(items))
        assert not transactions.is_open()
        between(len(pieces))

    monkeypatch.setattr(importing, "_add", watched)
    return pieces


def test_what_is_brought_is_kept_in_short_transactions_and_calls_go_on_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On SQLite a writer of any store waits for a transaction of another."""
    hub, answers = new_hub(), list[list[str]]()

    def call(pieces: int) -> None:
        answers.append(hub.call(command="create", path=f"/memories/{pieces}.md", file_text=""))

    pieces = watch_pieces(monkeypatch, call)
    job = prepared(new_store(), tuple(small(number) for number in range(400)))
    assert len(pieces) == len(answers) >= 8 and {answer[0] for answer in answers} == {"ok"}
    assert job.state == ImportState.PREVIEW and job.byte_count == ImportItem.objects.aggregate(sum=Sum("size"))["sum"]
    assert ImportItem.objects.filter(job=job, found="new").count() == job.memory_count == 400


def test_nothing_is_left_of_an_import_that_could_not_be_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pieces: int) -> None:
        if pieces == 3:
            raise OSError("the disk is full")

    watch_pieces(monkeypatch, fail)
    store = new_store()
    with pytest.raises(OSError):
        prepared(store, tuple(small(number) for number in range(400)))
    assert not Import.objects.exists() and not ImportItem.objects.exists()
    assert not AuditEntry.objects.of_chain(store.pk).of_command("prepare_import").exists()


def test_an_import_that_is_cancelled_while_it_is_read_says_so_and_is_not_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch_pieces(monkeypatch, lambda _: importing.cancel(Import.objects.get().pk, act(41)))
    with pytest.raises(Refused, match="cancelled while it was being read"):
        prepared(new_store(), tuple(small(number) for number in range(400)))
    assert Import.objects.get().state == ImportState.CANCELLED
    assert not ImportItem.objects.exclude(content=None).exists()


def test_what_a_process_that_died_left_of_an_import_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(pieces: int) -> None:
        monkeypatch.setattr(importing, "drop", lambda import_id: None)
        raise Killed

    drop = importing.drop
    watch_pieces(monkeypatch, kill)
    store = new_store()
    with pytest.raises(Killed):
        prepared(store, tuple(small(number) for number in range(400)))
    monkeypatch.setattr(importing, "drop", drop)
    assert Import.objects.get().state == ImportState.ARRIVING and not importing.running()
    forgetting.forget_previews(act(40).at + timedelta(hours=1))
    assert Import.objects.exists()
    forgetting.forget_previews(act(40).at + timedelta(hours=7))
    assert not Import.objects.exists() and not ImportItem.objects.exists()
    require_verified(store, Path("none"))
