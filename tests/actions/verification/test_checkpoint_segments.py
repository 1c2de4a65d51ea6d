"""Checkpoint files that are full are closed, numbered and kept; what is done to any of them is noticed."""

import errno
import hmac
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from memoryhub.actions.core.audit import key_name
from memoryhub.actions.verification import checkpoints, verify
from memoryhub.actions.verification.checkpoints import check as checkpoint_check, reading as checkpoint_reading
from memoryhub.models import HUB, AuditChain
from memoryhub.pure import chain
from tests.actions.verification.test_checkpoints import cut_off_whole
from tests.api.harness import AT, Hub, new_hub
from tests.support import starts
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub whose checkpoint files are full after a few lines."""
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 1_500)
    return new_hub()


def write(hub: Hub, path: Path, times: int, known: checkpoints.Known | None = None) -> None:
    """So many checkpoints of the hub's chain, and of others as they move."""
    known = known or checkpoints.Known()
    for number in range(times):
        hub.call(
            command="create",
            path=f"/memories/{number}-{AuditChain.objects.get(pk=hub.store.id).last_seq}",
            file_text="",
        )
        checkpoints.append(path, AT, known)


def verified(*options: object) -> str:
    """What `verify_audit` prints, with what it fails with."""
    said = StringIO()
    try:
        call_command("verify_audit", *options, stdout=said)
    except CommandError as error:
        return f"{said.getvalue()}{error}"
    return said.getvalue()


def is_right(*options: object) -> bool:
    return "entries are right." in verified(*options)


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.glob("checkpoints*"))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ------------------------------------------------------------------------------------------------ rotation


def test_the_live_file_alone_shows_what_was_cut_off_and_the_absent_segments_are_named(
    hub: Hub, own_checkpoints: Path
) -> None:
    """The newest checkpoint of a chain that has not moved since is repeated in each segment."""
    other = new_hub()
    other.call(command="create", path="/memories/kept.md", file_text="kept")
    for number in range(20):
        other.call(command="create", path=f"/memories/{number}.md", file_text=str(number))
    write(hub, own_checkpoints, 25)
    for segment in checkpoints.segments(own_checkpoints).values():
        segment.unlink()
    told = verified()
    assert "All " in told and "checkpoints-000001.jsonl to checkpoints-00000" in told and "not verified" in told
    with tampering():
        cut_off_whole(other)
    assert verify.verify(other.store.id)[1] is None
    assert f"{other.store.id} entry 22: it is missing" in verified()


def test_many_chains_do_not_make_a_segment_of_each_checkpoint(
    hub: Hub, own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        new_hub()
    write(hub, own_checkpoints, 12)
    assert len(lines_of(own_checkpoints)) > 15  # what each begins with is larger than a full file
    assert len(checkpoints.segments(own_checkpoints)) <= 1
    write(hub, own_checkpoints, 35)
    assert 1 <= len(checkpoints.segments(own_checkpoints)) <= 3
    checked = checkpoint_check.check(own_checkpoints)
    assert (len(checked.chains), checked.files, checked.problems) == (6, [], {})


def test_a_file_from_before_there_were_segments_becomes_the_first(hub: Hub, own_checkpoints: Path) -> None:
    hub.call(command="view", path="/memories")
    with own_checkpoints.open("w") as stream:
        for _ in range(200):
            for head in AuditChain.objects.all():
                stream.write(old_line(head))
    assert is_right()
    write(hub, own_checkpoints, 1)
    first = checkpoints.segment_of(own_checkpoints, 1)
    assert len(lines_of(first)) == 401 and "segment" not in lines_of(first)[399] and lines_of(first)[400]["line"] == 401
    assert is_right()
    text = first.read_text().splitlines(keepends=True)
    first.write_text("".join(text[:100] + text[101:]))
    assert "checkpoints-000001.jsonl" in verified() and not is_right()


def test_an_old_file_goes_on_with_numbered_lines_and_none_of_its_lines_can_be_removed_then(
    hub: Hub, own_checkpoints: Path
) -> None:
    old = "".join(old_line(head) for head in AuditChain.objects.all())
    own_checkpoints.write_text(old)
    write(hub, own_checkpoints, 1)
    assert [line.get("line") for line in lines_of(own_checkpoints)] == [None, None, 3, 4] and is_right()
    text = own_checkpoints.read_text().splitlines(keepends=True)
    own_checkpoints.write_text("".join(text[1:]))
    assert not is_right()
    own_checkpoints.write_text("".join([*text, text[0]]))
    assert "line 5 was changed" in verified()


def old_line(head: AuditChain) -> str:
    """A line as it was written before there were segments."""
    told = {"at": chain.moment(AT), "chain": head.id, "seq": head.last_seq, "hash": head.last_hash, "key": key_name()}
    text = b"checkpoint\0" + json.dumps(list(told.values())).encode()
    mac = hmac.digest(settings.MEMORYHUB_AUDIT_KEY, text, "sha256").hex()
    return json.dumps({**told, "mac": mac}) + "\n"


# ------------------------------------------------------------------------------------------------ tampering


def test_a_live_file_that_is_missing_or_older_than_its_segments_is_noticed(hub: Hub, own_checkpoints: Path) -> None:
    known = checkpoints.Known()
    write(hub, own_checkpoints, 3, known)
    older = own_checkpoints.read_bytes()
    write(hub, own_checkpoints, 30, known)
    own_checkpoints.write_bytes(older)
    assert f"{own_checkpoints} is older than it" in verified()
    own_checkpoints.write_bytes(b"")
    assert f"{own_checkpoints} is empty" in verified()
    own_checkpoints.unlink()
    assert f"{own_checkpoints} is missing" in verified()


@pytest.mark.parametrize("line", [b"[" * 4_000, b'{"key": [[]], "mac": 1}', b"\0" * 5_000])
def test_a_line_that_is_none_is_named_and_checkpoints_go_on(hub: Hub, own_checkpoints: Path, line: bytes) -> None:
    known = checkpoints.Known()
    write(hub, own_checkpoints, 3, known)
    with own_checkpoints.open("ab") as stream:
        stream.write(line + b"\n")
    assert f"{own_checkpoints} line 5 was changed" in verified()
    write(hub, own_checkpoints, 1, known)
    last = own_checkpoints.read_bytes().splitlines(keepends=True)[-1]
    assert checkpoints.checkpoint_lines.parsed(last) and "line 5 was changed" in verified()


def test_lines_cut_off_the_live_file_of_a_running_hub_leave_a_gap(
    hub: Hub, own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 8_000_000)
    known = checkpoints.Known()
    write(hub, own_checkpoints, 10, known)
    lines = own_checkpoints.read_bytes().splitlines(keepends=True)
    own_checkpoints.write_bytes(b"".join(lines[:-4]))
    write(hub, own_checkpoints, 1, known)
    assert "lines 8 to 11 are missing" in verified()


def test_a_live_file_removed_from_a_running_hub_leaves_a_gap_and_begins_with_all_chains(
    hub: Hub, own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 8_000_000)
    known = checkpoints.Known()
    write(hub, own_checkpoints, 10, known)
    own_checkpoints.unlink()
    write(hub, own_checkpoints, 1, known)
    assert {line["chain"] for line in lines_of(own_checkpoints)} == {HUB, hub.store.id}
    assert "lines 1 to 11 are missing" in verified()


# ------------------------------------------------------------------------------------------------ crashes


def test_half_a_line_that_a_crash_left_is_named_and_goes_with_the_next_checkpoint(
    hub: Hub, own_checkpoints: Path
) -> None:
    write(hub, own_checkpoints, 3)
    whole = own_checkpoints.read_bytes()
    for left in (whole[:-1], whole[:-100], whole + b"\0" * 70_000):
        own_checkpoints.write_bytes(left)
        assert not is_right()
        checkpoints.append(own_checkpoints, AT)
        assert is_right(), left[-200:]


class Crash(BaseException):
    """The process is gone at this moment."""


STEPS = ("write", "fsync", "link", "replace")


@pytest.mark.parametrize(("has_links", "is_done"), [
    pytest.param(True, False, id="before it, with hard links"),
    pytest.param(False, True, id="after it, without hard links"),
    pytest.param(True, True, id="after it, with hard links", marks=pytest.mark.long),
    pytest.param(False, False, id="before it, without hard links", marks=pytest.mark.long),
])  # fmt: skip
def test_a_crash_at_any_step_of_closing_a_file_is_made_good_by_the_next_checkpoint(
    hub: Hub, own_checkpoints: Path, tmp_path: Path, is_done: bool, has_links: bool
) -> None:
    write(hub, own_checkpoints, 1)
    while own_checkpoints.stat().st_size <= checkpoints.MOST_BYTES:
        write(hub, own_checkpoints, 1)
    before = {file.name: file.read_bytes() for file in tmp_path.glob("checkpoints*")}
    steps = 0
    while True:
        for file in tmp_path.glob("checkpoints*"):
            file.unlink()
        for name, text in before.items():
            (tmp_path / name).write_bytes(text)
        with pytest.MonkeyPatch.context() as patched:
            reached = crash_at(patched, steps, is_done=is_done, has_links=has_links)
            hub.call(command="view", path="/memories")
            with suppress(Crash):
                checkpoints.append(own_checkpoints, AT)
        checkpoints.append(own_checkpoints, AT)
        assert {"checkpoints-000001.jsonl", "checkpoints.jsonl"} <= set(names(own_checkpoints)), steps
        checked = checkpoint_check.check(own_checkpoints)
        assert (checked.chains, checked.files, checked.problems) == ({HUB, hub.store.id}, [], {}), steps
        if not reached:
            break
        steps += 1
    assert steps >= 8 and is_right()


def crash_at(patched: pytest.MonkeyPatch, step: int, *, is_done: bool, has_links: bool) -> list[str]:
    """Lets the step of this number be the last one of the process; the list has its name once it was reached."""
    reached: list[str] = []
    count = iter(range(1_000))

    def crashing(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            if reached:
                raise Crash
            is_last = next(count) == step
            if is_last:
                reached.append(name)
                if not is_done:
                    raise Crash
            result = do(*arguments, **options)
            if is_last:
                raise Crash
            return result

        return run

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    for name in STEPS:
        patched.setattr(os, name, crashing(name, no_links if name == "link" and not has_links else getattr(os, name)))
    return reached


def test_another_file_with_the_name_of_the_next_segment_is_kept_and_checkpoints_go_on(
    hub: Hub, own_checkpoints: Path
) -> None:
    write(hub, own_checkpoints, 2)
    other = checkpoints.segment_of(own_checkpoints, 1)
    other.write_text("notes\n")
    write(hub, own_checkpoints, 30)
    assert other.read_text() == "notes\n" and len(lines_of(own_checkpoints)) > 30
    assert str(other) in verified() and not is_right()
    other.unlink()
    write(hub, own_checkpoints, 1)
    assert other.exists() and is_right()


WRITER = """
import sys
from pathlib import Path
import django
django.setup()
from memoryhub.actions.verification.checkpoints import lines as checkpoint_lines
from memoryhub.actions.verification import checkpoints
from memoryhub.actions.verification.checkpoints.lines import Checkpoint
checkpoints.MOST_BYTES = 3_000
path, name = Path(sys.argv[1]), sys.argv[2]
for seq in range(40):
    with checkpoints.locked(path):
        end = checkpoints._ready(path, checkpoints.Known())
        checkpoints._append(path, end, [Checkpoint("2026-01-01T00:00:00Z", name, seq, "0" * 64, "key")])
"""


def test_two_processes_write_one_after_the_other_and_no_line_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.jsonl"
    environment = {
        **os.environ,
        "MEMORYHUB_AUDIT_KEY": "one key of both" * 4,
    }
    environment["MEMORYHUB_DATA_DIR"] = str(tmp_path)
    started = [
        starts.Popen([sys.executable, "-c", WRITER, str(path), name], env=environment) for name in ("one", "two")
    ]
    assert [process.wait(120) for process in started] == [0, 0]
    files = [*checkpoints.segments(path).values(), path]
    assert len(files) > 5
    told = [line for file in files for line in lines_of(file)]
    for name in ("one", "two"):
        assert {line["seq"] for line in told if line.get("chain") == name} == set(range(40))
    for file in files:
        assert [line["line"] for line in lines_of(file)] == list(range(1, len(lines_of(file)) + 1))


def test_a_file_that_is_closed_while_it_is_read_is_read_whole(hub: Hub, own_checkpoints: Path) -> None:
    write(hub, own_checkpoints, 2)
    reading = iter(files := checkpoint_reading.Files(own_checkpoints))
    next(reading)
    write(hub, own_checkpoints, 25)
    assert len(checkpoints.segments(own_checkpoints)) >= 2
    list(reading)
    assert files.problems == [] and files.absent == []
