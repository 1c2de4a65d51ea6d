"""The locked requirements: complete, with hashes, and what the short files ask for."""

import json
import re
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = sorted(path.stem for path in ROOT.glob("requirements*.in"))
PYTHONS = ("3.11.9", "3.12.7", "3.13.0")
MACHINES = ("x86_64", "aarch64")


class Locked(NamedTuple):
    """One package at one version, where its marker holds."""

    name: str
    extras: frozenset[str]
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]


def locked(name: str) -> Iterator[Locked]:
    """The packages of a locked file."""
    text = (ROOT / f"{name}.txt").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        wanted, *hashes = line.split("--hash=sha256:")
        if wanted and not wanted.lstrip().startswith("#"):
            asked = Requirement(wanted)
            [pin] = asked.specifier
            assert pin.operator == "==" and "*" not in pin.version, line
            name_in_index, extras = canonicalize_name(asked.name), frozenset(asked.extras)
            yield Locked(name_in_index, extras, pin.version, asked.marker, tuple(map(str.strip, hashes)))


def asked_for(name: str) -> list[Requirement]:
    lines = (ROOT / f"{name}.in").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_there_is_one_locked_file_for_each_short_one() -> None:
    assert FILES == ["requirements", "requirements-dev", "requirements-postgres", "requirements-tracing"]
    assert sorted(path.stem for path in ROOT.glob("requirements*.txt")) == FILES


@pytest.mark.parametrize("name", FILES)
def test_the_locked_requirements_have_every_package_that_is_asked_for_at_its_version(name: str) -> None:
    versions = {(package.name, package.version) for package in locked(name) if package.marker is None}
    for asked in asked_for(name):
        assert (canonicalize_name(asked.name), str(asked.specifier).lstrip("=")) in versions, asked


@pytest.mark.parametrize("name", FILES)
def test_every_locked_requirement_has_the_hashes_of_its_files(name: str) -> None:
    for package in locked(name):
        assert package.hashes and all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in package.hashes), package.name


def test_files_that_are_installed_together_lock_the_same_versions() -> None:
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in FILES:
        for package in locked(name):
            key = package.name, str(package.marker)
            assert seen.setdefault(key, (package.version, *package.hashes)) == (package.version, *package.hashes), key


def environment(python: str, machine: str) -> dict[str, str]:
    """What markers see on Linux under a version of Python."""
    short = ".".join(python.split(".")[:2])
    return {
        **default_environment(), "python_version": short, "python_full_version": python, "platform_machine": machine,
        "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "extra": "",
    }  # type: ignore[dict-item]  # fmt: skip


def brought_by(asked: Requirement, where: dict[str, str]) -> Iterator[Requirement]:
    """What an installed package says that it needs, with the extras that are asked for."""
    for line in metadata.requires(asked.name) or []:
        needed = Requirement(line)
        extras = asked.extras or {""}
        if needed.marker is None or any(needed.marker.evaluate({**where, "extra": extra}) for extra in extras):
            yield needed


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", FILES)
def test_whatever_a_package_needs_is_locked_too(name: str, python: str, machine: str) -> None:
    where = environment(python, machine)
    there = {p.name: p for p in locked(name) if p.marker is None or p.marker.evaluate(where)}
    waiting, done = asked_for(name), set()
    while waiting:
        asked = waiting.pop()
        if str(asked) in done:
            continue
        done.add(str(asked))
        package = there.get(canonicalize_name(asked.name))
        assert package is not None, f"{asked} is not locked for Python {python} on {machine}"
        assert asked.specifier.contains(package.version, prereleases=True), f"{asked}: {package.version} is locked"
        # pip takes the newest release for an extra that has no line of its own, and then refuses it.
        assert asked.extras <= package.extras, f"{asked} is locked without its extras"
        try:
            waiting.extend(brought_by(asked, where))
        except metadata.PackageNotFoundError:
            assert name != "requirements", f"{asked} is not installed"


def test_make_installs_nothing_whose_hash_is_not_locked() -> None:
    assert (
        "pip install --quiet --disable-pip-version-check --require-hashes"
        in (ROOT / "tools/environment.sh").read_text()
    )


def test_the_requirements_say_why_a_package_for_tests_is_among_those_that_run_the_hub() -> None:
    before, _ = (ROOT / "requirements.in").read_text().split("pytest-django==")
    assert before.splitlines()[-1].startswith("#") and "tests" in before.splitlines()[-1]


@pytest.mark.long
def test_make_sbom_lists_every_package_that_the_hub_runs_with() -> None:
    """With its version and its hashes, in the form that scanners read."""
    file = ROOT / "dist/sbom.cdx.json"
    file.unlink(missing_ok=True)
    subprocess.run(["make", "-s", "-o", "developed", "sbom"], cwd=ROOT, check=True)
    made = json.loads(file.read_text())
    assert made["bomFormat"] == "CycloneDX"
    assert made["metadata"]["component"]["name"] == "memoryhub"
    listed = {(canonicalize_name(one["name"]), one["version"], hashes(one)) for one in made["components"]}
    run_with = [one for name in FILES if name != "requirements-dev" for one in locked(name)]
    assert listed == {(one.name, one.version, frozenset(one.hashes)) for one in run_with}


def hashes(component: dict[str, Any]) -> frozenset[str]:
    """The digests of all files of a package."""
    references = component["externalReferences"]
    return frozenset(digest["content"] for one in references for digest in one.get("hashes", ()))
