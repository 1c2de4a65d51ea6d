"""Processes of the hub that tests start, forked from one that has loaded the hub: it takes a tenth of a real start.

`Popen` and `run` take what those of `subprocess` take, for `manage.py`, `-m` or `-c` after `sys.executable`, and the
process is a child of the test's own. Tests of an installation, of what is loaded, and of what a shell does to a command
start real processes.
"""

import array
import ctypes
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.directory import run_directory

ROOT = Path(__file__).resolve().parent.parent.parent
OF_PYTHON = ("PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONPATH", "PYTHONWARNINGS")
READ_AT_START = ("LD_PRELOAD", "MEMORYHUB_BENCHMARK", *OF_PYTHON)
"""A process with other values of these is really started, and so is one of another program."""
_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)
_lock = threading.Lock()
_loaded: dict[bool, socket.socket] = {}


class Popen(subprocess.Popen[Any]):
    """A process of the hub: the same as `subprocess.Popen`, but its modules are loaded by the time it begins."""

    def _execute_child(  # type: ignore[override]  # called with positions by subprocess
        self, args: Sequence[str], executable: None, preexec_fn: None, close_fds: bool, pass_fds: object,
        cwd: os.PathLike[str] | None, env: Mapping[str, str] | None, startupinfo: None, creationflags: int, shell: bool,
        p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int, errwrite: int,
        restore_signals: bool, gid: None, gids: None, uid: None, umask: int, start_new_session: bool, *rest: Any,
    ) -> None:  # fmt: skip
        environment = dict(os.environ if env is None else env)
        command = [str(argument) for argument in args]
        is_other = any(environment.get(name) != os.environ.get(name) for name in READ_AT_START)
        if command[0] != sys.executable or is_other or sys.platform != "linux":
            super()._execute_child(  # type: ignore[misc]
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
                p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
                start_new_session, *rest,
            )  # fmt: skip
            return
        order = {
            "arguments": command[1:], "environment": environment, "directory": str(cwd or Path.cwd()),
            "session": start_new_session, "umask": _umask(),
        }  # fmt: skip
        own = [given if given >= 0 else number for number, given in enumerate((p2cread, c2pwrite, errwrite))]
        self.pid = _forked(order, own, environment.get("DATABASE_URL", "").startswith("postgres"))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def run(
    command: Sequence[str | os.PathLike[str]], *, input: str | bytes | None = None, capture_output: bool = False,
    timeout: float | None = None, check: bool = False, **options: Any,
) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    """The process of a command from its start to its end, as `subprocess.run` gives it."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(list(map(str, command)), **options) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _umask() -> int:
    return int(re.findall(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[0], 8)


def _forked(order: dict[str, Any], descriptors: list[int], postgres: bool) -> int:
    """The id of a new process. Its first parent ends at once, and this process takes it in."""
    with _lock:
        if postgres not in _loaded:
            _loaded[postgres] = _load(postgres)
        _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        try:
            channel = _loaded[postgres]
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
            message = json.dumps(order).encode()
            channel.sendmsg([len(message).to_bytes(4, "big")], [rights])
            channel.sendall(message)
            answer = b""
            while not answer.endswith(b"\n"):  # the first parent has ended
                answer += (more := channel.recv(20))
                assert more, "the process that has loaded the hub has ended"
        finally:
            _libc.prctl(_SUBREAPER, 0, 0, 0, 0)
    return int(answer)


def _load(postgres: bool) -> socket.socket:
    """Starts the process that loads the hub, and gives the end of its channel."""
    here, there = socket.socketpair()
    directory = run_directory() / f"loaded-{os.getpid()}"
    own = {
        "PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(directory),
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "DATABASE_URL": "postgres://nobody@localhost/nothing" if postgres else "",
        **{name: os.environ[name] for name in READ_AT_START if name in os.environ},
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.support.loaded", str(there.fileno())]
    subprocess.Popen(command, cwd=ROOT, env=own, pass_fds=[there.fileno()])
    there.close()
    return here
