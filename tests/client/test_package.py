"""The client's package is built without a network, holds the client of this checkout and works without the hub."""

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT, PROJECT = ROOT / "memoryhub" / "client", ROOT / "clients" / "python"
SAYS = """
import sys
sys.modules["django"] = sys.modules["memoryhub"] = None  # importing either fails
import hub_memory_tool as client
from hub_memory_tool.sync import main
assert client.HubMemoryTool("http://127.0.0.1:1", "mh_x", "memstore_x").name == "memory"
print(client.__file__, *client.__all__)
"""


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def build(source: Path, to: Path) -> Path:
    pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", to, source)
    (wheel,) = to.glob("*.whl")
    return wheel


def files() -> list[Path]:
    """What lies in the project, but for what Python has compiled."""
    return [path for path in sorted(PROJECT.rglob("*")) if "__pycache__" not in path.parts]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    before = files()
    built = build(PROJECT, tmp_path_factory.mktemp("wheel"))
    assert files() == before
    return built


def test_the_package_is_the_client_of_the_checkout(wheel: Path) -> None:
    sources = {
        path.name: path.read_bytes().replace(b"from memoryhub.client", b"from hub_memory_tool")
        for path in CLIENT.iterdir() if path.suffix in (".py", ".typed")
    }  # fmt: skip
    with zipfile.ZipFile(wheel) as found:
        held = {name: found.read(name) for name in found.namelist()}
    assert {name.partition("/")[2]: held[name] for name in held if name.startswith("hub_memory_tool/")} == sources
    assert "py.typed" in sources and b"memoryhub.client" not in b"".join(sources.values())
    (metadata,) = (text.decode() for name, text in held.items() if name.endswith("/METADATA"))
    assert "Name: hub-memory-tool\n" in metadata
    assert "Requires-Dist: anthropic>=2.11,<3\n" in metadata
    assert any(name.endswith("/licenses/LICENSE") for name in held)
    (commands,) = (text.decode() for name, text in held.items() if name.endswith("/entry_points.txt"))
    assert commands == "[console_scripts]\nhub-memory-sync = hub_memory_tool.sync:main\n"


@pytest.mark.push
def test_it_is_installed_and_imported_without_the_hub(wheel: Path, tmp_path: Path) -> None:
    pip("install", "--no-index", "--no-deps", "--target", tmp_path, wheel)
    command = [sys.executable, "-W", "error", "-c", SAYS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    place, *names = done.stdout.split()
    assert place == str(tmp_path / "hub_memory_tool" / "__init__.py")
    assert set(names) == {"HubMemoryTool", "AsyncHubMemoryTool", "HubError", "ToolError"}


def test_the_archive_of_the_sources_builds_the_same_package(wheel: Path, tmp_path: Path) -> None:
    script = f"import client_backend; print(client_backend.build_sdist({str(tmp_path)!r}))"
    command = [sys.executable, "-B", "-c", script]
    name = subprocess.run(command, cwd=PROJECT / "backend", capture_output=True, text=True, check=True).stdout.strip()
    with tarfile.open(tmp_path / name) as archive:
        # Python 3.11 has filters from its fourth release on.
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    again = build(tmp_path / name.removesuffix(".tar.gz"), tmp_path)
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


def test_the_licence_is_that_of_the_hub() -> None:
    assert (PROJECT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
