"""Backups while clients write: each is restored elsewhere, verifies, and has what was acknowledged before it."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pyrage import x25519

from tests.faults import checker, postgres
from tests.faults.clients import Call, Load
from tests.faults.hub import ROOT, Hub
from tests.faults.test_faults import SQLITE, running, times
from tests.support import starts
from tests.support.long import LONG

IDENTITY = x25519.Identity.generate()


@pytest.mark.push
@pytest.mark.skipif(not SQLITE and not LONG, reason="on PostgreSQL a part of the long form")
def test_every_backup_under_load_verifies_elsewhere_and_has_what_was_acknowledged_before(tmp_path: Path) -> None:
    (backups := tmp_path / "backups").mkdir()
    with nullcontext() if SQLITE else postgres.running() as server:
        url, key = server.url if server else "", {"MEMORYHUB_BACKUP_RECIPIENT": str(IDENTITY.to_public())}
        with running(Hub(tmp_path / "data", url, **key)) as hub:
            for number in range(times(1, 50)):  # each beside clients of a new store, which reaches no limit
                with Load(hub, tmp_path / f"journal-{number}", times(3, 8), pause=0.2) as load:
                    load.wait_for(10)
                    before = {call.id for call in list(load.journal.calls) if call.acknowledged}
                    made = hub.command("backup", str(backups), check=False)
                    assert made.returncode == 0, made.stderr
                    known = [call if call.id in before else unanswered(call) for call in list(load.journal.calls)]
                file = Path(made.stdout.strip().splitlines()[-1])
                with restored(file, tmp_path / f"restored-{number}", server) as there:
                    assert checker.problems(there, load.store, known) == []
    assert len(list(backups.iterdir())) == times(1, 50)


def unanswered(call: Call) -> Call:
    return replace(call, answers=[])


@contextmanager
def restored(file: Path, directory: Path, server: postgres.Cluster | None) -> Iterator[Hub]:
    """A hub that a backup is restored to, removed afterwards; it is not started."""
    name = directory.name.replace("-", "_")
    hub = Hub(directory, server.beside(name) if server else "")
    key = directory.with_suffix(".key")
    key.write_text(str(IDENTITY))
    command = [sys.executable, "manage.py", "restore", str(file), "--identity", str(key)]
    done = starts.run(command, cwd=ROOT, env=hub.environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "audit entries are right" in done.stdout
    yield hub
    shutil.rmtree(directory)
    if server:
        server.remove(name)
