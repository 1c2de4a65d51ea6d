"""`make test-deploy`: follows docs/deploy.md on a bare Debian machine. Needs root, Debian's packages and PyPI."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.deploy import machine
from tests.deploy.walk import Walk


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.deploy", description=__doc__)
    parser.add_argument("--suite", default="bookworm", help="the release of Debian (bookworm, trixie)")
    parser.add_argument("--keep", action="store_true", help="keep the machine's files, to look at")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        with machine.Machine(options.inside / "root", options.inside.name) as there:
            Walk(there, options.inside, say).all()
        return
    if os.getuid() != 0:
        raise SystemExit("This makes a machine of its own: run it as root.")
    if missing := machine.needs():
        raise SystemExit(f"Install first: apt-get install {' '.join(missing)}")
    place = Path(tempfile.mkdtemp(prefix="memoryhub-deploy-", dir="/var/tmp"))
    try:
        machine.make_root(place / "root", options.suite)
        say(f"made a bare machine with Debian's {options.suite}")
        with machine.network(place.name):
            again = [sys.executable, "-m", "tests.deploy", "--inside", str(place)]
            done = subprocess.run(["nsenter", f"--net=/run/netns/{place.name}", *again], check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
        say("every block of docs/deploy.md for Debian did what it says")
    finally:
        if options.keep:
            say(f"the machine's files are in {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
