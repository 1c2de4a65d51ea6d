"""Verifying while agents write: what comes meanwhile is no alarm, and nobody waits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError

from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.verification import checkpoints, verify as verification
from memoryhub.actions.verification.derived import derived_problems
from memoryhub.models import Memory
from tests.api.harness import AT, Hub, new_hub


@pytest.fixture
def hub(transactional_db: None) -> Hub:
    hub = new_hub()
    hub.call(command="create", path="/memories/a.md", file_text="a")
    return hub


def in_another_thread(act: Callable[[], object]) -> None:
    def run() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_a_snapshot_stays_as_it_was_and_lets_others_write(hub: Hub) -> None:
    with snapshot():
        assert Memory.objects.count() == 1
        in_another_thread(lambda: hub.call(command="create", path="/memories/b.md", file_text="b"))
        assert Memory.objects.count() == 1
    assert Memory.objects.count() == 2


def test_a_read_that_fails_inside_does_not_end_a_snapshot(hub: Hub) -> None:
    with snapshot():
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("select nothing from nowhere")
        assert Memory.objects.count() == 1


def test_what_is_written_and_checkpointed_while_the_audit_is_verified_is_no_alarm(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoints.jsonl"

    def write() -> None:
        hub.call(command="create", path="/memories/b.md", file_text="b")
        hub.call(command="str_replace", path="/memories/a.md", old_str="a", new_str="A")
        checkpoints.append(path, AT)

    def meanwhile(store: str) -> Iterator[tuple[int, str]]:
        in_another_thread(write)
        return derived_problems(store)

    monkeypatch.setattr(verification, "derived_problems", meanwhile)
    assert verification.verify(hub.store.id, path) == (2, None)
    monkeypatch.undo()
    assert verification.verify(hub.store.id, path) == (4, None)
