"""A Debian machine of its own: a root file system from Debian's packages, booted by systemd in namespaces.

Its network is a namespace too, in which it is alone with the script that tries it: all ports are free there, and what
it fetches goes out through slirp4netns.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

CERTIFICATES = Path("/usr/local/share/ca-certificates")
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIKE_A_SERVER = "ca-certificates,dbus,iproute2,less,nano,systemd-sysv,udev"
"""What Debian's installer puts on a bare server, and the smallest variant of debootstrap leaves out."""
NAMES = "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 hub.example.com mail.example.com\n"
"""Stand-in for DNS: the names of the document are those of this machine."""


class Failed(Exception):
    """A command did not do what the document says."""


def needs() -> list[str]:
    """Return the programs that are missing here, and Debian's packages of them."""
    programs = {
        "debootstrap": "debootstrap", "systemd-nspawn": "systemd-container", "slirp4netns": "slirp4netns",
        "ip": "iproute2", "nsenter": "util-linux", "podman": "podman", "runc": "runc",
    }  # fmt: skip
    return [package for program, package in programs.items() if shutil.which(program) is None]


@contextlib.contextmanager
def network(name: str) -> Iterator[None]:
    """Make a network namespace from which the packages can be fetched."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    path = f"/run/netns/{name}"
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        command = ["slirp4netns", "--configure", "--mtu=1400", "--netns-type=path", path, "tap0"]
        slirp = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            slirp.terminate()
            slirp.wait()
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)


def make_root(root: Path, suite: str, further: str = "") -> None:
    """Make the root file system of a bare server, with what this machine needs to reach the registries of packages."""
    root.parent.mkdir(parents=True, exist_ok=True)
    packages = ",".join(filter(None, (LIKE_A_SERVER, further)))
    mirror = os.environ.get("MEMORYHUB_DEBIAN_MIRROR", "http://deb.debian.org/debian")
    with (root.parent / "debootstrap.log").open("w") as log:
        command = ["debootstrap", "--variant=minbase", f"--include={packages}", suite, str(root), mirror]
        subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=True)
    updates = f"deb {mirror} {suite}-updates main\ndeb {mirror}-security {suite}-security main\n"
    (root / "etc/apt/sources.list.d/updates.list").write_text(updates)
    (root / "etc/hosts").write_text(NAMES)
    (root / "etc/hostname").write_text("hub\n")
    trust(root, *CERTIFICATES.glob("*.crt"))
    if own := [f"{name}={os.environ[name]}\n" for name in PROXIES if name in os.environ]:
        (root / "etc/environment").write_text("".join(own))


def trust(root: Path, *certificates: Path) -> None:
    """Have the machine trust further certificates, as an administrator would; pip asks for a line of its own."""
    for path in certificates:
        shutil.copy(path, root / "usr/local/share/ca-certificates" / path.with_suffix(".crt").name)
    if certificates:
        subprocess.run(["chroot", str(root), "update-ca-certificates"], check=True, capture_output=True)
        (root / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")


class Machine:
    """A running machine."""

    def __init__(self, root: Path, netns: str) -> None:
        self.root = root
        self.netns = netns
        self.console = root.parent / "console.log"

    def __enter__(self) -> "Machine":
        (self.root / "etc/resolv.conf").unlink(missing_ok=True)
        (self.root / "etc/resolv.conf").write_text("nameserver 10.0.2.3\n")
        command = [
            "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", f"--directory={self.root}",
            f"--network-namespace-path=/run/netns/{self.netns}", "--resolv-conf=off", "--timezone=off",
            "--link-journal=no", "--console=pipe", "--machine=memoryhub-deploy",
        ]  # fmt: skip
        newer = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}  # systemd of Debian 13 boots under no other
        with self.console.open("w") as log:
            self.process = subprocess.Popen(
                command, env=newer, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        self.until("systemctl is-system-running | grep -E 'running|degraded'", 60)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)  # systemd-nspawn powers the machine off
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def leader(self) -> int:
        """Return the number that the machine's first process has here."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            raise Failed(f"The machine did not boot: see {self.console}")
        return int(children[0])

    def run(self, script: str, *, check: bool = True, seconds: float = 900) -> str:
        """Run lines in root's shell on the machine, and return what they print."""
        inside = ["nsenter", f"--target={self.leader()}", "--all"]
        clean = ["env", "-i", "-C", "/root", "HOME=/root", f"PATH={PATH}", "LANG=C.UTF-8"]
        shell = ["DEBIAN_FRONTEND=noninteractive", "bash", "-e", "-u", "-o", "pipefail"]
        done = subprocess.run(
            [*inside, *clean, *shell], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=seconds, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise Failed(f"exit code {done.returncode}\n{script}\n--- printed:\n{done.stdout[-6000:]}")
        return done.stdout

    def until(self, script: str, seconds: float) -> str:
        """Repeat lines until they succeed."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.run(script)
            except Failed:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
