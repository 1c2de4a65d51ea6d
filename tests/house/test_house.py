"""The house style: nothing too long, nothing left undone, and templates that a strict policy lets through."""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST_FILE, LONGEST_FUNCTION = 400, 40
MADE = ("migrations", "vendor", "node_modules", "locale")
OURS = ("memoryhub", "tests", "benchmarks", "templates", "static", "tools")
TYPES = frozenset({".py", ".html", ".css", ".js", ".mjs", ".sh"})
NAMES = re.compile(r"&\w+;|\b(MemoryHub|SHA-256|JSON|CSV|HMAC|Markdown|curl|Python)\b")
OPENS = re.compile(r'(?:#.*\n)*"""')
"""A module that says what it is for."""
UNDONE = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b")


def our_files(*folders: str, types: frozenset[str] = TYPES) -> list[Path]:
    """What we wrote ourselves, by path."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in types)
    return sorted(path for path in found if not set(MADE) & set(path.relative_to(ROOT).parts))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def too_long(source: str) -> Iterator[str]:
    """The functions that have more than LONGEST_FUNCTION lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{node.name} has {lines} lines"


class Markup(HTMLParser):
    """Collects what a Content-Security-Policy without exceptions, or htmx without eval, would refuse."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "style" and "nonce" not in given:
            self._note("a <style> without a nonce")
        if tag == "script" and not given.keys() & {"src", "nonce"}:
            self._note("an inline <script>")
        for name, value in attributes:
            self._attribute(tag, name, value or "")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name == "style":
            self._note("style=")
        if name.startswith(("on", "hx-on", "data-hx-on")):
            self._note(f"{name}=")
        if name.removeprefix("data-").startswith("hx-") and value.strip().startswith(("js:", "javascript:")):
            self._note(f"script in {name}=")
        if name.removeprefix("data-") == "hx-trigger" and "[" in value:
            self._note("a filter in hx-trigger=")
        if value.strip().lower().startswith("javascript:"):
            self._note(f"script in {name}=")
        if tag != "a" and name in ("src", "href", "action", "poster", "srcset") and is_elsewhere(value):
            self._note(f"{name}= fetches from elsewhere")

    def _note(self, problem: str) -> None:
        self.problems.append(f"line {self.getpos()[0]}: {problem}")


def is_elsewhere(address: str) -> bool:
    return address.strip().lower().startswith(("http:", "https:", "//"))


def untranslated(source: str) -> list[str]:
    """Words that stand in a template outside of every translation, names and the values of classes apart."""
    without = re.sub(r"{%\s*blocktrans.*?{%\s*endblocktrans(?:late)?\s*%}", "", source, flags=re.DOTALL)
    without = re.sub(r"{%\s*block \w*class\w* %}.*?{%\s*endblock.*?%}", "", without)
    without = re.sub(r"{%\s*comment.*?{%\s*endcomment\s*%}|{#.*?#}", "", without, flags=re.DOTALL)
    without = re.sub(r"<(script|style|code|kbd|pre|svg|title)\b.*?</\1>", " ", without, flags=re.DOTALL)
    without = re.sub(r"{%.*?%}|{{.*?}}", " ", without, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", "\n", without)
    return [line.strip() for line in text.splitlines() if re.search(r"[A-Za-z]{3,}", re.sub(NAMES, "", line))]


TEMPLATES = our_files("templates", "memoryhub", types=frozenset({".html"}))
OUTSIDE = [ROOT / "templates" / name for name in ("mail/letter.html", "erasure/collected.html")]
"""Not pages of the hub, but read elsewhere: an e-mail, and a report in an archive. The policy does not concern them."""


def wrong(paths: list[Path], problems_of: Callable[[str], object]) -> dict[str, object]:
    """By its name, what is wrong with each file whose text has a problem."""
    found = {name_of(path): problems_of(path.read_text(encoding="utf-8")) for path in paths}
    return {name: problems for name, problems in found.items() if problems}


def test_a_file_is_short_and_nothing_in_it_is_left_undone() -> None:
    files = our_files(*OURS)
    assert len(files) > 500
    assert wrong(files, lambda text: text.count("\n") > LONGEST_FILE) == {}
    assert wrong(files, UNDONE.findall) == {}


def test_functions_are_short_and_a_module_says_what_it_is_for() -> None:
    files = our_files("memoryhub", types=frozenset({".py"}))
    assert wrong(files, lambda source: list(too_long(source))) == {}
    assert wrong(files, lambda source: bool(source.strip()) and not OPENS.match(source)) == {}


def test_a_template_needs_no_exception_from_the_policy() -> None:
    assert len(TEMPLATES) > 100
    assert wrong([path for path in TEMPLATES if path not in OUTSIDE], lambda source: Markup(source).problems) == {}


def test_every_word_of_a_template_can_be_translated() -> None:
    assert wrong(TEMPLATES, untranslated) == {}


def test_scripts_and_styles_fetch_nothing_from_elsewhere() -> None:
    fetches = re.compile(r"""(?:@import|url\(|\bimport\b|\bfrom\b|fetch\()\s*["'(]*\s*(?:https?:)?//""")
    for path in our_files("static", types=frozenset({".css", ".js", ".mjs"})):
        assert not fetches.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("path", [ROOT / ".ci/run", *(ROOT / "tools").glob("*.sh")], ids=name_of)
def test_a_shell_script_parses(path: Path) -> None:
    shell = path.read_text(encoding="utf-8").splitlines()[0].rpartition("/")[2].split()[-1]
    assert subprocess.run([shell, "-n", str(path)], check=False).returncode == 0


@pytest.mark.parametrize(
    "markup",
    [
        '<p style="color: red">',
        "<script>alert(1)</script>",
        "<style>p {}</style>",
        '<button onclick="go()">',
        '<div hx-on:click="go()">',
        '<div hx-on--after-request="go()">',
        "<div hx-vals='js:{a: 1}'>",
        '<div hx-get="/x" hx-trigger="keyup[key==\'j\']">',
        '<a href="javascript:go()">',
        '<script src="https://cdn.example.com/x.js"></script>',
        '<img src="//example.com/x.png">',
    ],
)
def test_the_checker_finds_what_the_policy_refuses(markup: str) -> None:
    assert len(Markup(markup).problems) == 1


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="{% static "js/app.js" %}" defer></script>',
        '<script nonce="{{ request.csp_nonce }}">x</script>',
        '<a href="https://example.com" rel="noopener">x</a>',
        '<div hx-get="/x" hx-trigger="every 5s">',
        '<input name="on" {% if x %}checked{% endif %}>',
    ],
)
def test_the_checker_allows_what_the_policy_lets_through(markup: str) -> None:
    assert Markup(markup).problems == []


def test_the_checker_finds_untranslated_words_and_long_functions() -> None:
    assert untranslated(
        '<p>Hello {{ name }}</p>{% translate "Bye" %}<b>{% blocktranslate %}x{% endblocktranslate %}</b>'
    )
    assert not untranslated('<p>{{ name }} &middot; {% translate "Bye" %} <kbd>Ctrl</kbd></p>')
    assert list(too_long("def f():\n" + "    pass\n" * 40)) == ["f has 41 lines"]
    assert not list(too_long("def f():\n" + "    pass\n" * 39))
