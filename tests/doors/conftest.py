"""A hub in processes of its own, agents with keys to it, and the TypeScript SDK where it can be had."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import Server, served
from tests.support.node import typescript_sdk


@dataclass(frozen=True, slots=True)
class Served:
    """A hub that answers at `url`; `store` is one that each agent of `keys` may write to."""

    server: Server
    store: str
    keys: dict[str, str]
    ids: dict[str, str]
    cookie: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The hub that the real clients of this process's tests talk to."""
    with served(tmp_path_factory.mktemp("doors")) as server:
        made = json.loads(server.command("shell", "-c", "from tests.doors.prepare import main; main()"))
        cookie = {"name": made["cookie_name"], "value": made["cookie"], "url": f"http://127.0.0.1:{server.port}"}
        yield Served(server, made["store"], made["keys"], made["ids"], cookie)


@dataclass(frozen=True, slots=True)
class TypeScript:
    """The pinned TypeScript SDK in `place`."""

    place: Path

    def start(self, what: str, target: dict[str, Any]) -> subprocess.Popen[str]:
        """Starts one of the things that drive.mjs does; its output is JSON."""
        own = {"SDK_PLACE": str(self.place), "TARGET": json.dumps(target)}
        return subprocess.Popen(
            ["node", str(Path(__file__).parent / "typescript" / "drive.mjs"), what], env={**os.environ, **own},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, what: str, target: dict[str, Any]) -> Any:
        return self.result(self.start(what, target))

    @staticmethod
    def result(process: subprocess.Popen[str]) -> Any:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        return json.loads(output)


@pytest.fixture(scope="session")
def typescript() -> TypeScript:
    """The SDK as `tools/typescript.sh` installs it."""
    return TypeScript(typescript_sdk())
