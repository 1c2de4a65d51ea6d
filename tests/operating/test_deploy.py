"""The files for deployment: they parse, what they name exists, the units are sound, each alarm has its paragraph."""

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.urls import reverse

from memoryhub.actions.core.hub import background
from memoryhub.models import User
from memoryhub.web.common import guide
from tests.deploy import document
from tests.deploy.walk import Walk
from tests.house.test_docs import all_environment_names
from tests.support.fixtures import signed_in
from tests.support.long import LONG

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNITS = sorted([*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer")])
GUIDE, RUNBOOK = (ROOT / "docs" / "deploy.md").read_text(), (ROOT / "docs" / "operations.md").read_text()


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines()) if name]


def copied() -> list[tuple[str, str]]:
    """What the image copies from the checkout (a path or a pattern), and where to."""
    copies = [rest.split() for name, rest in instructions() if name == "COPY" and "--from" not in rest]
    return [(source, words[-1]) for words in copies for source in words[:-1]]


def in_image(place: Path) -> Path:
    """Make the directory of the hub as it is in the image, of links to the checkout; return its path."""
    hub = place / "opt" / "memoryhub"
    for source, target in copied():
        if target.startswith("/opt/memoryhub"):
            for path in ROOT.glob(source):
                link = place / (target + path.name if target.endswith("/") else target).removeprefix("/")
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
    return hub


@pytest.mark.django_db
def test_the_image_has_every_document_of_the_help(superuser: User, tmp_path: Path, settings: Any) -> None:
    settings.BASE_DIR = in_image(tmp_path)
    guide.document.cache_clear()
    browser = signed_in(superuser)
    for name in guide.DOCUMENTS:
        assert browser.get(reverse("guide", args=[name])).status_code == 200, name
    guide.document.cache_clear()


def test_the_image_has_what_it_copies_and_is_not_root() -> None:
    sources = {source for source, _ in copied()}
    assert all(list(ROOT.glob(source)) for source in sources)
    let_through = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), flags=re.MULTILINE)
    assert sources == set(let_through)
    users = [rest for name, rest in instructions() if name == "USER"]
    assert users == ["10001:10001"]
    assert {"HEALTHCHECK", "VOLUME", "STOPSIGNAL"} <= {name for name, _ in instructions()}
    assert all("latest" not in rest for name, rest in instructions() if name == "FROM")


def test_the_image_needs_every_package_that_the_hub_imports() -> None:
    (installed,) = [rest for name, rest in instructions() if name == "RUN" and "pip install" in rest]
    assert "--require-hashes" in installed
    assert re.findall(r"/build/(\S+)", installed) == [
        "requirements.txt", "requirements-postgres.txt", "requirements-tracing.txt",
    ]  # fmt: skip


def test_the_services_of_compose_are_confined() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"secrets", "database", "hub", "caddy"}
    for name in ("secrets", "hub", "caddy"):
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in services[name]["security_opt"], name
    assert [name for name, service in services.items() if "ports" in service] == ["caddy"]
    assert COMPOSE["networks"]["inside"]["internal"] and services["database"]["networks"] == ["inside"]
    subnet = COMPOSE["networks"]["outside"]["ipam"]["config"][0]["subnet"]
    assert services["hub"]["environment"]["TRUSTED_PROXIES"] == subnet
    assert services["hub"]["hostname"], "else each new container is another node, and doctor finds the last one silent"


def test_what_compose_names_exists() -> None:
    named = set()
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], source
            named.add(source)
        assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])
        assert set(service.get("networks", ())) <= set(COMPOSE["networks"])
        if build := service.get("build"):
            assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    assert set(COMPOSE["volumes"]) <= named
    ours = COMPOSE["services"]["hub"]["environment"].keys()
    assert ours <= all_environment_names()


def test_the_secrets_are_made_once_and_only_their_readers_can_read_them(tmp_path: Path) -> None:
    database, hub = tmp_path / "database", tmp_path / "hub"
    made = []
    for _ in range(2):
        for directory in (database, hub):
            directory.mkdir(exist_ok=True)
        command = [sys.executable, "-c", _MAIN, str(database), str(hub), str(os.getuid())]
        subprocess.run(command, cwd=DEPLOY, check=True)
        files = [*database.iterdir(), *hub.iterdir()]
        made.append({path.name: path.read_text() for path in files})
    assert made[0] == made[1] and set(made[0]) == {"password", "pgpass", "backup_passphrase"}
    assert made[0]["pgpass"] == f"*:*:*:hub:{made[0]['password']}\n"
    assert len(made[0]["backup_passphrase"]) >= 16
    assert {stat.S_IMODE(path.stat().st_mode) for path in hub.iterdir()} == {0o400}


_MAIN = "import sys, pathlib, make_secrets as m; m.main(*map(pathlib.Path, sys.argv[1:3]), owner=int(sys.argv[3]))"


def test_the_files_of_the_proxies_pass_what_the_hub_needs() -> None:
    nginx, caddy = (DEPLOY / "nginx.conf").read_text(), (DEPLOY / "Caddyfile").read_text()
    for text in (nginx, caddy):
        assert text.count("{") == text.count("}") and "127.0.0.1:8000" in text and "330s" in text
    assert "X-Forwarded-Proto $scheme" in nginx and "X-Forwarded-For $remote_addr" in nginx
    assert "client_max_body_size 256m" in nginx and "max_size 256MB" in caddy


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    text = re.sub(r"\n    ssl_certificate.*", "", (DEPLOY / "nginx.conf").read_text()).replace("443 ssl", "443")
    (tmp_path / "all.conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{text}\n}}\n")
    subprocess.run(["nginx", "-t", "-q", "-c", str(tmp_path / "all.conf")], check=True)


def values(unit: Path, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", unit.read_text(), flags=re.MULTILINE)


def test_what_the_units_name_exists() -> None:
    commands = {path.stem for path in (ROOT / "memoryhub" / "management" / "commands").glob("*.py")}
    for unit in UNITS:
        for line in values(unit, "ExecStart"):
            program, manage, command, *_ = shlex.split(line)
            assert (program, manage) == ("/opt/memoryhub/.venv/bin/python", "manage.py") and command in commands
        variables = {one.partition("=")[0] for line in values(unit, "Environment") for one in shlex.split(line)}
        assert variables <= all_environment_names()
        for path in re.findall(r"/opt/memoryhub/(\S+)", unit.read_text()):
            assert path.startswith(".venv/") or (ROOT / path).exists(), path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_units_are_sound_and_confined(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text().replace("/opt/memoryhub/.venv/bin/python", sys.executable)
        text = text.replace("/opt/memoryhub", str(ROOT))
        (tmp_path / unit.name).write_text(text)
    copies = [str(tmp_path / unit.name) for unit in UNITS]
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *copies], capture_output=True, text=True, check=False
    )
    ours = [line for line in verified.stderr.splitlines() if "memoryhub" in line and str(tmp_path) in line]
    assert verified.returncode == 0 and ours == [], verified.stderr
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(tmp_path / "memoryhub.service")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert rated.returncode == 0, rated.stdout[-2000:] + rated.stderr


def test_the_commands_of_the_guide_parse_and_name_what_exists() -> None:
    commands_of_it = "\n".join(block.commands for block in document.blocks(GUIDE))
    assert subprocess.run(["sh", "-n"], input=commands_of_it, text=True, check=False).returncode == 0
    for path in re.findall(r"(?:/opt/memoryhub/|-f )(deploy/[\w.-]+|requirements[\w-]*\.txt)", GUIDE):
        assert list(ROOT.glob(path)), path
    commands = {path.stem for path in (ROOT / "memoryhub" / "management" / "commands").glob("*.py")}
    assert set(re.findall(r"(?:manage\.py|^memoryhub) ([a-z_]+)", GUIDE + RUNBOOK, flags=re.MULTILINE)) <= commands


def test_every_block_of_the_guide_is_known_to_the_script_that_runs_them() -> None:
    headings = [block.heading for block in document.blocks(GUIDE)]
    assert {*headings} == {*document.ON_DEBIAN, *document.IN_CONTAINERS, *document.ELSEWHERE}
    assert len(headings) == GUIDE.count("```sh\n")
    named = {name.partition("_")[2] for name in vars(Walk) if name.startswith(("before_", "within_", "after_"))}
    assert named <= {re.sub(r"\W", "_", heading.lower()) for heading in document.ON_DEBIAN}


def test_each_alarm_has_its_paragraph() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "memoryhub" / "doctor").glob("*.py"))
    words = set(re.findall(r'(?:error|warning)\(\s*"(\w+)"', sources)) | {"settings"}
    assert len(words) > 8
    for word in words:
        assert f"### `{word}`" in RUNBOOK, word
    for work in background.EVERY:
        assert f"`{work}`" in RUNBOOK, work


@pytest.mark.skipif(not LONG, reason="it installs all packages: only in the long form")
def test_the_steps_of_the_image_make_a_hub_that_starts(tmp_path: Path) -> None:
    own = {**os.environ, "MEMORYHUB_DATA_DIR": str(tmp_path / "data"), "DATABASE_URL": ""}
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    files = [
        word
        for name in ("requirements.txt", "requirements-postgres.txt", "requirements-tracing.txt")
        for word in ("-r", str(ROOT / name))
    ]
    subprocess.run([str(environment / "bin" / "pip"), "install", "-q", "--require-hashes", *files], check=True)
    hub = tmp_path / "copy"
    shutil.copytree(in_image(tmp_path), hub)
    python = str(environment / "bin" / "python")
    for command in (["migrate", "-v", "0"], ["create_store", "notes"], ["verify_audit"]):
        subprocess.run([python, "manage.py", *command], cwd=hub, env=own, check=True)
