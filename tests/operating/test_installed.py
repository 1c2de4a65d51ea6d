"""The hub as a package: its wheel has every file that the hub reads, and serves without the checkout."""

import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

from tests.support.long import LONG

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def in_wheel() -> set[str]:
    return {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}


def in_checkout(*places: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *places], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split("\0")) - {""}


def test_the_wheel_has_every_file_that_the_hub_reads() -> None:
    beside = in_checkout("templates", "static", "docs/*.md", "manage.py", "CONTRIBUTING.md")
    wanted = in_checkout("memoryhub") | {f"memoryhub/beside/{name}" for name in beside}
    assert len(wanted) > 1000 and in_wheel() ^ wanted == set()


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("requirements.in", PROJECT["dependencies"]),
        ("requirements-postgres.in", PROJECT["optional-dependencies"]["postgres"]),
        ("requirements-tracing.in", PROJECT["optional-dependencies"]["tracing"]),
    ],
    ids=["run", "postgres", "tracing"],
)
def test_the_package_asks_for_what_the_requirements_name(file: str, named: list[str]) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith(("#", "pytest"))]
    assert [Requirement(line) for line in lines] == [Requirement(line) for line in named]


def built(place: Path) -> Path:
    """Build the wheel, and install it into an environment that sees the packages of this one."""
    built, environment = place / "built", place / "venv"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(built)]
    subprocess.run([*pip, str(ROOT)], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (environment / "lib" / python / "site-packages" / "others.pth").write_text(sysconfig.get_path("purelib"))
    (wheel,) = built.glob("memoryhub-*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return environment / "bin" / "memoryhub"


@pytest.mark.skipif(not LONG, reason="it builds and installs a package: only in the long form")
def test_the_installed_package_serves_and_runs_commands(tmp_path: Path) -> None:
    command, home = built(tmp_path), tmp_path / "home"
    home.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "MEMORYHUB_BACKUP_PASSPHRASE": "seven words that no one else knows",
    }
    refused = subprocess.run([command, "create_store", "x"], cwd=home, env=own, capture_output=True, check=False)
    assert refused.returncode == 1 and not list(home.iterdir()), "a command makes no second hub"
    hub = subprocess.Popen([command, "serve", "--port", str(port)], cwd=home, env=own, stdout=subprocess.DEVNULL)
    try:
        page = answer(f"http://127.0.0.1:{port}/sign-in")
        (sheet,) = re.findall(r'href="(/static/[^"]+\.css)"', page)[:1]
        assert "{" in answer(f"http://127.0.0.1:{port}{sheet}")
        subprocess.run([command, "create_store", "notes"], cwd=home, env=own, check=True)
        (home / "backups").mkdir()
        subprocess.run([command, "backup", "backups"], cwd=home, env=own, check=True)
    finally:
        hub.terminate()
        assert hub.wait(30) == 0
    assert (home / ".local/share/memoryhub/memoryhub.sqlite3").exists() and list((home / "backups").iterdir())


def answer(address: str) -> str:
    """Return what an address answers, once somebody listens there."""
    for _ in range(3000):
        try:
            with urllib.request.urlopen(address) as response:
                text: str = response.read().decode()
                return text
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError(f"{address} does not answer")
