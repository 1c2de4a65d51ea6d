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
from tests.deploy.image import Image
from tests.deploy.walk import Walk


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.deploy", description=__doc__)
    parser.add_argument("--suite", default="bookworm", help="the release of Debian (bookworm, trixie)")
    parser.add_argument("--keep", action="store_true", help="keep the machine's files, to look at")
    parser.add_argument("--only", choices=["debian", "image"], help="the one part alone")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        prove(options.inside, options.only)
        return
    if os.getuid() != 0:
        raise SystemExit("This makes a machine of its own: run it as root.")
    if missing := machine.needs():
        raise SystemExit(f"Install first: apt-get install --no-install-recommends {' '.join(missing)}")
    place = Path(tempfile.mkdtemp(prefix="memoryhub-deploy-", dir="/var/tmp"))
    try:
        make(place, options.suite, options.only)
        with machine.network(place.name):
            again = [sys.executable, "-m", "tests.deploy", "--inside", str(place)]
            again += ["--only", options.only] if options.only else []
            done = subprocess.run(["nsenter", f"--net=/run/netns/{place.name}", *again], check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
    finally:
        if options.only != "debian":
            Image(place / "image").remove()
        if options.keep:
            say(f"the machine's files are in {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)


def make(place: Path, suite: str, only: str | None) -> None:
    """Make the machine and the image."""
    if only != "image":
        machine.make_root(place / "root", suite)
        say(f"made a bare machine with Debian's {suite}")
    if only != "debian":
        Image(place / "image").build(suite)
        say("built the image of deploy/Containerfile")


def prove(place: Path, only: str | None) -> None:
    """Try what was made, alone with its network."""
    if only != "image":
        with machine.Machine(place / "root", place.name) as there:
            Walk(there, place, say).all()
        say("every block of docs/deploy.md for Debian did what it says")
    if only != "debian":
        Image(place / "image").prove()
        say("the hub of the image is healthy, confined as deploy/compose.yaml says")


if __name__ == "__main__":
    main()
