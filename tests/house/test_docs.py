"""The documentation names what there is: settings, commands, routes, packages; and its links lead somewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memoryhub.models import MemoryStore

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "memoryhub"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

INTERNAL = {
    "DJANGO_SETTINGS_MODULE": "Django's own, and set by manage.py",
    "MEMORYHUB_SERVING": "how `serve` tells its server process that it is one",
}
READERS = frozenset({"os.environ.get", "os.environ.setdefault", "os.getenv", "kept_secret", "words"})


def environment_names(source: str) -> Iterator[str]:
    """What a module reads from the environment."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            reader, first = ast.unparse(node.func), node.args[0]
        elif isinstance(node, ast.Subscript):
            reader, first = f"{ast.unparse(node.value)}.get", node.slice
        else:
            continue
        is_name = isinstance(first, ast.Constant) and isinstance(first.value, str)
        if reader in READERS and is_name and re.fullmatch(r"[A-Z][A-Z0-9_]{4,}", first.value):
            yield first.value


def all_environment_names() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    return {name for source in sources if "environ" in source for name in environment_names(source)}


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    """Every address, with its parameters as `{name}`."""
    for pattern in patterns:
        address = prefix + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, address)
        else:
            yield address


def machine_routes() -> list[str]:
    probes = ("/livez", "/readyz", "/healthz")
    return sorted(route for route in routes(get_resolver().url_patterns) if route.startswith(("/v1/", *probes)))


def packages() -> set[str]:
    """The names that the requirement files ask for, as the registry writes them."""
    lines = (line for path in ROOT.glob("requirements*.in") for line in path.read_text().splitlines())
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines if not line.startswith(("#", "-")))
    return {name.group().lower() for name in names if name}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are shown on the web."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """The links of a page that lead into this checkout."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]


@pytest.mark.parametrize("name", sorted(all_environment_names() - INTERNAL.keys()))
def test_every_setting_is_documented(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("management/commands/[a-z]*.py")), ids=lambda path: path.stem)
def test_every_command_is_documented(path: Path) -> None:
    assert re.search(rf"`(?:\S+ )*{path.stem}\b|manage\.py {path.stem}\b", TEXT)


@pytest.mark.parametrize("route", machine_routes())
def test_every_route_of_the_machines_door_is_documented(route: str) -> None:
    assert route in TEXT


@pytest.mark.parametrize("package", sorted(packages()))
def test_every_package_has_a_row_that_says_why(package: str) -> None:
    rows = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8").lower().splitlines()
    assert any(row.startswith("|") and f"`{package}`" in row.split("|")[1] for row in rows)


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_links_lead_somewhere(document: Path) -> None:
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_each_test_that_a_document_links_is_in_the_file_of_its_link() -> None:
    named = re.findall(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", TEXT)
    assert len(named) > 40
    missing = [name for name, path in named if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")]
    assert not missing


def test_the_architecture_says_what_each_stylesheet_of_several_rooms_styles() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.split("**Where is the style of a class?**")[1].split("\n\n")[1]
    listed = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))
    assert sorted(listed) == sorted(sheet.stem for sheet in (ROOT / "static/css/common").glob("*.css"))


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", TEXT, flags=re.MULTILINE))
    assert {name for pair in named for name in pair if name} <= targets


@pytest.mark.parametrize("name", ["README.md", "docs/http.md"])
def test_the_calls_that_are_shown_work_as_they_stand(name: str, store: MemoryStore, key: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = re.findall(r"""curl [^"`]*"[^"/]*(?://[^/]+)?(/v1/[^"]+)"[^`]*? -d '\s*({.*?})'""", text, flags=re.DOTALL)
    assert len(shown) == text.count(" -d '")
    client, headers = Client(), {"authorization": f"Bearer {key}"}
    answers = [
        client.post(address.replace("$STORE", store.id), body, "application/json", headers=headers)
        for address, body in shown
    ]
    assert [answer.status_code for answer in answers] == [200] * len(shown)
    calls = [
        answer for answer, (address, _) in zip(answers, shown, strict=True) if address.endswith("/tool_calls")
    ]  # fmt: skip
    assert calls[0].content.decode() in text
    assert all('"is_error":false' in answer.content.decode() for answer in calls)


def test_readme_starts_with_how_to_run_and_how_to_test() -> None:
    beginning = (ROOT / "README.md").read_text(encoding="utf-8")[:1000]
    assert 0 < beginning.index("make run") < beginning.index("make test")


def test_what_the_environment_is_asked_for_is_found() -> None:
    source = 'import os\na = os.environ.get("SOME_NAME")\nb = os.environ["OTHER_NAME"]\nc = words("THIRD_NAME", "")\n'
    assert set(environment_names(source)) == {"SOME_NAME", "OTHER_NAME", "THIRD_NAME"}
