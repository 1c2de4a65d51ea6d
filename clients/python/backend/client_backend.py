"""Builds the client's package without other packages installed; its modules are those of memoryhub/client, which import
each other by the name of the package there."""

import base64
import hashlib
import io
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
PACKAGE = "hub_memory_tool"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""A fixed date, so that the same sources give the same wheel, byte for byte."""


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Write the wheel and return its file name."""
    project = _project()
    about = f"{_file_name(project)}.dist-info"
    files = {f"{PACKAGE}/{name}": text for name, text in _modules()}
    files |= {
        f"{about}/METADATA": _metadata(project),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: client_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": _commands(project),
        f"{about}/licenses/LICENSE": (HERE / "LICENSE").read_bytes(),
    }
    files[f"{about}/RECORD"] = _record(files, f"{about}/RECORD")
    name = f"{_file_name(project)}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, LONG_AGO)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Write the source archive and return its file name. It contains the modules, so it can be built without the
    checkout."""
    project = _project()
    root = _file_name(project)
    files = {f"{PACKAGE}/{name}": text for name, text in _modules()}
    for own in ("pyproject.toml", "README.md", "LICENSE", "backend/client_backend.py"):
        files[own] = (HERE / own).read_bytes()
    files["PKG-INFO"] = _metadata(project)
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{root}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{root}.tar.gz"


def _modules() -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each module, from the checkout or from an unpacked source archive."""
    unpacked = HERE / PACKAGE
    source = unpacked if unpacked.is_dir() else HERE.parent.parent / "memoryhub" / "client"
    for path in sorted(source.iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.name, path.read_bytes().replace(b"from memoryhub.client", f"from {PACKAGE}".encode())


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _file_name(project: dict[str, Any]) -> str:
    return f"{project['name'].replace('-', '_')}-{project['version']}"


def _metadata(project: dict[str, Any]) -> bytes:
    lines = [
        "Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}",
        f"Summary: {project['description']}", f"Keywords: {','.join(project['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"License-Expression: {project['license']}", *(f"License-File: {name}" for name in project["license-files"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {name}" for name in project["dependencies"]),
        "Description-Content-Type: text/markdown", "", (HERE / project["readme"]).read_text(encoding="utf-8"),
    ]  # fmt: skip
    return "\n".join(lines).encode()


def _commands(project: dict[str, Any]) -> bytes:
    """Return the list of the commands, from which an installer makes programs."""
    lines = [f"{name} = {function}" for name, function in project["scripts"].items()]
    return "\n".join(["[console_scripts]", *lines, ""]).encode()


def _record(files: dict[str, bytes], itself: str) -> bytes:
    """Return the list that an installer checks: the path, hash and size of each file. For the list itself it has only
    the path."""
    lines = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in files.items()]
    return "\n".join([*lines, f"{itself},,", ""]).encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
