"""What the tests of exports share: a store with a history, and exports of it as somebody reads them."""

import io
import json
import re
import subprocess
import zipfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import Wanted
from memoryhub.models import Door, Memory, MemoryStore, MemoryVersion
from tests.actions.history.histories import PERSON, History
from tests.api.harness import AT

Line = dict[str, Any]


def act(actor: Actor = PERSON) -> Act:
    return Act(actor, Door.WEB, AT + timedelta(days=1))


def grown(seed: int = 5, steps: int = 60) -> History:
    """Agents and a person have written, moved, deleted and restored; one version is redacted."""
    history = History(Random(seed)).run(steps)
    memory = curation.create(history.store.id, "/redacted.md", "first secret\n", act())
    head = Memory.objects.get(pk=memory.memory)
    curation.edit(history.store.id, head.id, "second\n", head.sha256, act())
    first = MemoryVersion.objects.get(store=history.store, memory=head, number=1)
    redaction.redact_version(history.store.id, first.id, act())
    trashed = curation.create(history.store.id, "/trashed/one.md", "to go\n", act())
    curation.delete(history.store.id, "/trashed/one.md", act(), memory_id=trashed.memory)
    return history


def export(store: MemoryStore, form: str, **more: Any) -> bytes:
    begun = exporting.begin(store.id, Wanted(form, **more), act())
    with snapshot():
        return b"".join(begun.body())


def lines_of(body: bytes) -> list[Line]:
    return [json.loads(line) for line in body.decode("ascii").splitlines()]


def of_type(lines: list[Line], *types: str) -> list[Line]:
    return [line for line in lines if line["type"] in types]


def archive(body: bytes) -> tuple[dict[str, str], list[Line], list[Line] | None]:
    """The texts by their names, the manifest, and the history if there is one."""
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        assert len(names) == len(set(names))
        history = lines_of(opened.read(".memoryhub/history.jsonl")) if ".memoryhub/history.jsonl" in names else None
        texts = {name: opened.read(name).decode() for name in names if not name.startswith(".memoryhub/")}
        return texts, lines_of(opened.read(".memoryhub/manifest.jsonl")), history


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as git tells it; `trailers` are those of the hub, by their names without `Memoryhub-`."""

    author: str
    seconds: int
    committer: str
    subject: str
    trailers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Repository:
    """A real repository into which a stream was imported."""

    place: Path

    @classmethod
    def of(cls, stream: bytes, place: Path) -> "Repository":
        place.mkdir()
        made = cls(place)
        made.git("init", "--quiet", ".")
        made.git("fast-import", "--quiet", "--done", given=stream)
        return made

    def git(self, *words: str, given: bytes = b"") -> str:
        """Its own settings alone; it complains loudly."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.place), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
        done = subprocess.run(
            ["git", *words], cwd=self.place, input=given, capture_output=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape")

    def commits(self) -> list[Commit]:
        """The oldest first."""
        told = self.git("log", "--reverse", "--format=%an <%ae>%x00%at%x00%cn <%ce>%x00%s%x00%B%x01", "main")
        found = []
        for commit in told.split("\x01")[:-1]:
            author, at, committer, subject, body = commit.strip("\n").split("\0")
            trailers = dict(re.findall(r"^Memoryhub-(\w+): (.*)$", body, re.MULTILINE))
            found.append(Commit(author, int(at), committer, subject, trailers))
        return found

    def tree(self) -> dict[str, str]:
        """path -> text at the newest commit."""
        names = self.git("ls-tree", "-r", "-z", "--name-only", "main").split("\0")[:-1]
        return {name: self.git("show", f"main:{name}") for name in names}

    def blame(self, path: str) -> list[str]:
        """The version that brought each line."""
        told = self.git("blame", "--line-porcelain", "main", "--", path)
        commits = re.findall(r"^([0-9a-f]{40}) \d+ \d+", told, re.MULTILINE)
        return [self.git("log", "-1", "--format=%(trailers:key=Memoryhub-Version,valueonly)", one).strip()
                for one in commits]  # fmt: skip
