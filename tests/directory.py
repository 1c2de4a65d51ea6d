"""The directory of one run of the tests, shared by its processes and removed at its end."""

import os
import shutil
import tempfile
from pathlib import Path

_VARIABLE = "MEMORYHUB_TEST_DIRECTORY"


def run_directory() -> Path:
    """The run's directory; the first process to ask makes it, and those that it starts inherit it."""
    if _VARIABLE not in os.environ:
        directory = Path(tempfile.mkdtemp(prefix="memoryhub-tests-")).resolve()
        directory.chmod(0o711)  # the owner of the PostgreSQL cluster has to pass
        os.environ[_VARIABLE] = str(directory)
    return Path(os.environ[_VARIABLE])


def remove_run_directory() -> None:
    """Called by the process that started the run."""
    shutil.rmtree(os.environ.pop(_VARIABLE), ignore_errors=True)
