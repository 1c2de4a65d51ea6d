"""The directory of one run of the tests, shared by its processes and removed at its end."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "MEMORYHUB_TEST_DIRECTORY"


def run_directory() -> Path:
    """The run's directory; the first process to ask makes it, and those that it starts inherit it."""
    if _VARIABLE not in os.environ:
        directory = Path(tempfile.mkdtemp(prefix="memoryhub-tests-")).resolve()
        directory.chmod(0o711)  # the owner of the PostgreSQL cluster has to pass
        os.environ[_VARIABLE] = str(directory)
    return Path(os.environ[_VARIABLE])


@contextmanager
def made_once(name: str, mode: int = 0o700) -> Iterator[tuple[Path, bool]]:
    """A directory in that of the run, and true for the first process to ask, which fills it; others wait until then."""
    directory = run_directory() / name
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = not directory.exists()
        if first:
            directory.mkdir()
            directory.chmod(mode)  # whatever the umask is: a command that ran in this process has made it narrow
        yield directory, first


def remove_run_directory() -> None:
    """Called by the process that started the run."""
    shutil.rmtree(os.environ.pop(_VARIABLE), ignore_errors=True)
