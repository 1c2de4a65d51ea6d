"""A hub whose process is killed while Claude works: no call is lost, and the run goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memoryhub.actions.claude_runs import work
from memoryhub.background.claude_runs import taking
from memoryhub.background.runner import Report
from memoryhub.models import ClaudeRun, MemoryStore, User
from tests.api.server import ROOT, Server, made_store, served
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import started
from tests.support import starts

CREATE = call("toolu_1", command="create", path="/memories/a.md", file_text="one\n")
SCRIPT = (
    Turn([say("I write."), CREATE], 200, 10),
    Turn([say("Now I think about something for a long time.")], 250, 20, pauses_at=0),
    Turn([say("Done.")], 260, 5),
)


def done(server: Server, store: str, what: str) -> Any:
    command = [sys.executable, "-m", "tests.claude_runs.in_hub", store, what]
    found = starts.run(command, cwd=ROOT, env=server.environment, check=True, text=True, stdout=subprocess.PIPE)
    return json.loads(found.stdout) if found.stdout else None


def until(find: Callable[[], Any], is_right: Callable[[Any], bool], patience: float = 60) -> Any:
    end = time.monotonic() + patience
    while not is_right(found := find()):
        assert time.monotonic() < end, found
        time.sleep(0.2)
    return found


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_worker_whose_clock_is_behind_has_not_ended(store: MemoryStore, alice: User) -> None:
    """Each run of a node was interrupted at once by another node whose clock was 15 seconds ahead."""
    run, behind, passed = started(store, alice), timezone.now() - timedelta(minutes=10), [0.0]
    taker = taking.Taker(Report("claude_runs"))
    taker.silent_runs = taking.Silence(lambda: passed[0])
    assert work.claim("elsewhere", behind, 9) == run.pk

    def state_after(seconds: float) -> str:
        passed[0] += seconds
        taker.look(threading.Event())
        return str(ClaudeRun.objects.get(pk=run.pk).state)

    assert (state_after(0), state_after(14)) == ("running", "running")
    work.seen(run.pk, "elsewhere", behind + timedelta(seconds=14))
    assert (state_after(14), state_after(14), state_after(14)) == ("running", "running", "interrupted")


@pytest.mark.push
@pytest.mark.skipif(connection.vendor != "sqlite", reason="a hub on PostgreSQL waits until the worker was silent")
def test_a_killed_worker_loses_no_call(tmp_path: Path) -> None:
    with (
        claude_api(*SCRIPT) as api,
        served(tmp_path, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=api.url) as server,
    ):
        store, _ = made_store(server.environment)
        done(server, store, "start")
        until(lambda: len(api.requests), lambda count: count == 2)
        run = until(lambda: done(server, store, "show"), lambda run: run["state"] == "running")
        os.kill(int(run["worker"].partition("-")[0]), signal.SIGKILL)
        run = until(lambda: done(server, store, "show"), lambda run: run["state"] != "running")
        assert (run["state"], run["created"], run["events"]) == ("interrupted", 1, ["text", "call", "turn"])
        done(server, store, "continue")
        run = until(lambda: done(server, store, "show"), lambda run: run["state"] == "finished")
        assert (run["created"], run["events"]) == (1, ["text", "call", "turn", "text", "turn"])
        assert api.requests[2]["messages"] == api.requests[1]["messages"]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "static" not in path.parts)
    assert KEY.encode() not in kept, "the key is in no file of the hub: neither in its database nor in its log"
