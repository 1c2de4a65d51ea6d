"""Builds the image of deploy/Containerfile with Podman, and runs it as deploy/compose.yaml says.

The registries of images cannot be reached from everywhere, so the base image is a stand-in of Debian's packages, and
the hub is on SQLite, without the images of PostgreSQL and Caddy.
"""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.document import ROOT
from tests.deploy.machine import PATH, Failed, make_root

BASE = "docker.io/library/python:3.13-slim"
PYTHON = "python3-venv,python-is-python3"
NOT_HERE = ("DATABASE_URL",)


class Image:
    """The image, in a storage of its own; its containers use the network of this process."""

    def __init__(self, place: Path) -> None:
        self.place = place
        where = ("--root", str(place / "storage"), "--runroot", str(place / "run"))
        self.command = ("podman", *where, "--storage-driver", "overlay", "--runtime", "runc")
        self.services: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]

    def podman(self, *words: str, check: bool = True) -> str:
        """Run a command of Podman, and return what it prints."""
        done = subprocess.run(
            [*self.command, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if check and done.returncode:
            raise Failed(f"podman {' '.join(words)}: exit code {done.returncode}\n{done.stdout[-6000:]}")
        return done.stdout

    def build(self, suite: str) -> None:
        """Build the image from its own file."""
        base = self.place / "base"
        make_root(base, suite, PYTHON)
        with subprocess.Popen(["tar", "-C", str(base), "-c", "."], stdout=subprocess.PIPE) as packed:
            imported = [*self.command, "import", "--quiet", "--change", f"ENV PATH={PATH}", "-", BASE]
            subprocess.run(imported, stdin=packed.stdout, stdout=subprocess.DEVNULL, check=True)
        file = ("--format", "docker", "--file", "deploy/Containerfile", "--tag", "memoryhub:local")
        self.podman("build", "--network", "host", "--pull=never", *file, ".")

    def options(self, name: str) -> Iterator[str]:
        """Yield the options with which Podman runs a service as Compose would."""
        service = self.services[name]
        yield from ("--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
        if service.get("read_only"):
            yield "--read-only"
        if "user" in service:
            yield from ("--user", service["user"])
        for option in ("tmpfs", "cap_drop", "cap_add", "security_opt"):
            for value in service.get(option, ()):
                yield from (f"--{option.replace('_', '-')}", value)
        for volume in service.get("volumes", ()):
            yield from ("--volume", volume.replace("./", f"{ROOT}/deploy/", 1))
        for variable, value in service.get("environment", {}).items():
            if variable not in NOT_HERE:
                yield from ("--env", f"{variable}={re.sub(r'[$]{HUB_HOST.*?}', 'hub.example.com', value)}")

    def prove(self) -> None:
        """Start the hub confined, and see that it is healthy, and can write nowhere but where it should."""
        self.podman("run", "--rm", *self.options("secrets"), "memoryhub:local", *self.services["secrets"]["command"])
        self.podman("run", "--detach", "--name", "hub", *self.options("hub"), "memoryhub:local")
        self._until("healthcheck", "run", "hub")
        self.podman("exec", "hub", *self.services["hub"]["healthcheck"]["test"][1:])
        assert self.podman("exec", "hub", "sh", "-c", "id -u; id -g").split() == ["10001", "10001"]
        tries = "touch /opt/memoryhub/x || true; touch /etc/x || true; grep -E 'CapBnd|NoNewPrivs' /proc/1/status"
        said = self.podman("exec", "hub", "sh", "-c", tries)
        assert said.count("Read-only file system") == 2, said
        assert re.search(r"CapBnd:\s+0{16}", said) and re.search(r"NoNewPrivs:\s+1", said), said
        assert re.search(r"https://hub\.example\.com/invitations/\S+", self.podman("logs", "hub"))
        assert len(self.podman("exec", "hub", "cat", "/run/hub-secrets/backup_passphrase").strip()) == 32
        assert "/backups/memoryhub-" in self.podman("exec", "hub", *self._manage("backup", "/backups"))
        self.podman("exec", "hub", "pg_dump", "--version")
        self.podman("stop", "hub")
        assert self.podman("inspect", "hub", "--format", "{{.State.ExitCode}}").strip() == "0"

    @staticmethod
    def _manage(*words: str) -> tuple[str, ...]:
        return ".venv/bin/python", "manage.py", *words

    def _until(self, *words: str, seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                self.podman(*words)
                return
            except Failed:
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def remove(self) -> None:
        """Remove containers, images and volumes."""
        self.podman("rm", "--all", "--force", check=False)
        self.podman("system", "prune", "--all", "--force", "--volumes", check=False)
