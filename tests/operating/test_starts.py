"""A process that is forked from one which has loaded the hub is as a real start would have made it."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support import starts

TELLS = """
import json, os, sys
told = [os.getcwd(), dict(os.environ), os.getppid(), os.getsid(0) == os.getpid(), sys.stdin.read(), sys.argv]
from memoryhub import settings
print(json.dumps([*told, str(settings.DATA_DIR)]))
sys.exit(3)
"""


def test_it_has_the_directory_environment_input_and_data_that_were_asked_for_and_is_a_child(tmp_path: Path) -> None:
    own = {"PATH": "/nowhere", "MEMORYHUB_DATA_DIR": str(tmp_path / "data")}
    done = starts.run(
        [sys.executable, "-c", TELLS, "one"], cwd=tmp_path, env=own, input="in", text=True, capture_output=True,
        start_new_session=True,
    )  # fmt: skip
    told = [str(tmp_path), own, os.getpid(), True, "in", ["-c", "one"], str(tmp_path / "data")]
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (3, told, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_it_is_ended_by_signals(number: signal.Signals) -> None:
    code = "import sys, time; sys.stdout.write('ready\\n'); sys.stdout.flush(); time.sleep(60)"
    process = starts.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert output == "" and ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    assert process.returncode == (1 if number == signal.SIGINT else -number)


def test_what_is_raised_is_shown() -> None:
    done = starts.run([sys.executable, "-c", "raise ValueError('wrong')"], text=True, capture_output=True)
    assert done.returncode == 1 and "ValueError: wrong" in done.stderr


def test_a_variable_that_python_reads_at_its_start_makes_it_a_real_start() -> None:
    own = os.environ | {"PYTHONWARNINGS": "error"}
    done = starts.run(
        [sys.executable, "-c", "import sys; print(sys.warnoptions)"], env=own, text=True, capture_output=True
    )
    assert done.stdout == "['error']\n"
