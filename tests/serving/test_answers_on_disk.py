"""Answers that wait on the disk for slow clients leave room for everything else."""

import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from django.http import StreamingHttpResponse

from memoryhub.serving import answers
from memoryhub.serving.answers import Answers, NoRoom

MB = 1024 * 1024
FREE = 20 * MB
Usage = namedtuple("Usage", "free")


class SlowClients:
    """What granian does for clients that take their answers slowly: it has the files open, and reads little of them."""

    def __init__(self) -> None:
        self.open: list[IO[bytes]] = []

    def response_file(self, _status: int, _headers: Any, name: str) -> None:
        self.open.append(Path(name).open("rb"))  # noqa: SIM115

    @property
    def bytes(self) -> int:
        return sum(Path(f"/proc/self/fd/{file.fileno()}").stat().st_size for file in self.open)

    def leave(self) -> None:
        for file in self.open:
            file.close()
        self.open.clear()


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowClients]:
    """A small disk on which nothing is but answers, and no pause before an answer is looked at again."""
    clients = SlowClients()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(FREE - clients.bytes))
    monkeypatch.setattr(answers, "OPENED_WITHIN", 0.0)
    monkeypatch.setattr(answers, "LOOK_EVERY", 0.0)
    yield clients
    clients.leave()


def ask(hub: Answers, clients: SlowClients, size: int) -> bool:
    """Whether an export of this size is answered."""
    chunks = (b"x" * 64 * 1024 for _ in range(size // (64 * 1024)))
    try:
        hub.send(clients, StreamingHttpResponse(chunks), is_head=False)
    except NoRoom:
        return False
    return True


def test_exports_that_many_clients_take_slowly_leave_half_of_the_disk_to_the_others(
    tmp_path: Path, clients: SlowClients
) -> None:
    workers = [Answers(tmp_path / "answers"), Answers(tmp_path / "answers")]
    for size in (4 * MB, MB, MB // 2):
        for worker in workers * 20:
            ask(worker, clients, size)
            worker.forget()
    assert FREE // 2 - MB < clients.bytes <= FREE // 2
    assert not ask(workers[0], clients, MB)
    clients.leave()
    for worker in workers:
        worker.forget()
    assert list((tmp_path / "answers").iterdir()) == []
    assert ask(workers[0], clients, 8 * MB)
