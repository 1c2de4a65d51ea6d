"""No page grows with what somebody wrote: hostile texts are shown in pieces, and pages say what they do not show."""

import re
from collections.abc import Callable, Iterator

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from memoryhub.actions import stores
from memoryhub.actions.stores import StoreSettings
from memoryhub.diffs import compare
from memoryhub.models import Memory, MemoryStore, MemoryVersion, Session, User
from memoryhub.templatetags.diff import MOST_OF_LINE
from tests.fixtures import BY, signed_in
from tests.web.history import Caller

pytestmark = pytest.mark.django_db

MOST = 2_000_000
"""Bytes of the answer of any page."""
ROUND = 4
"""How often a memory is rewritten."""


def short_lines(number: int) -> str:
    return "".join(f"{(line * 7 + number) % 97}\n" for line in range(35_000))[:99_000] + "\n"


def one_line(number: int) -> str:
    return (f"w{number} a " * 30_000)[:99_000]


def alternating(number: int) -> str:
    return "".join("same\n" if line % 2 else f"{number}{line % 10}\n" for line in range(22_000))[:99_000] + "\n"


def hidden(number: int) -> str:
    return ("\u200b\u202e<&" * 12_000)[: 33_000 - number]


TEXTS: dict[str, Callable[[int], str]] = {
    "/short-lines.md": short_lines, "/one-line.md": one_line, "/alternating.md": alternating, "/hidden.md": hidden,
}  # fmt: skip
COMPARED: dict[str, tuple[str, str]] = {
    "/short-lines.md": (f"?from=1&to={ROUND}", "undo_version"),
    "/one-line.md": ("?from=1&to=2&w=1", "restore_version"),
    "/alternating.md": (f"?from=1&to={ROUND}&mode=split", "restore_version"),
    "/hidden.md": ("?from=1&to=2&context=all", "undo_version"),
}
"""Of each text one form of the comparison, and one act with a preview: all of them for each take a minute."""


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """Every text is written anew again and again, by an agent in one session."""
    stores.edit_store(store, StoreSettings(store.name, overwrite_on_create=True), **BY)
    caller = Caller(store, key, session="run")
    for number in range(ROUND):
        for path, text in TEXTS.items():
            caller.create(path, text(number))
    return caller


def pages(store: MemoryStore) -> Iterator[tuple[str, str]]:
    """(name, address) of every page that shows texts or what differs between them."""
    for route in ("store_audit", "store", "store_sessions", "store_overview", "store_findings"):
        yield route, reverse(route, args=[store.pk])
    yield "changes from the beginning", reverse("changes", args=[store.pk]) + "?from=0"
    yield "review", reverse("review")
    yield "search", reverse("search") + "?q=same"
    yield "search short", reverse("search") + "?q=1"
    for session in Session.objects.all():
        yield "session", reverse("session", args=[session.pk])
        yield "session undo", reverse("undo_session", args=[store.pk, session.pk])
    for memory in Memory.objects.filter(store=store):
        name = memory.path
        query, undoing = COMPARED[name]
        for route in ("memory", "versions", "blame", "edit_memory"):
            yield f"{route} {name}", reverse(route, args=[store.pk, memory.pk])
        yield f"compare {name} {query}", reverse("compare", args=[store.pk, memory.pk]) + query
        version = MemoryVersion.objects.filter(memory=memory, number=3).get()
        for route in ("version", undoing):
            yield f"{route} {name}", reverse(route, args=[store.pk, version.pk])
        yield f"entry {name}", reverse("entry", args=[store.pk, version.seq])


def test_no_page_over_hostile_rewrites_is_larger_than_two_megabytes_and_each_says_what_it_does_not_show(
    caller: Caller, alice: User
) -> None:
    client = signed_in(alice)
    large = {}
    for name, address in pages(caller.store):
        answer = client.get(address)
        assert answer.status_code == 200, name
        if len(answer.content) > MOST:
            large[name] = len(answer.content)
    assert not large
    page = client.get(reverse("changes", args=[caller.store.pk]) + "?from=0").content.decode()
    assert re.search(r"Not shown here: lines \d+ to \d+ before, lines \d+ to \d+ after\.", page)


def _lines(page: str) -> list[tuple[str, str]]:
    """The two numbers of each row of a unified comparison."""
    return re.findall(r'<td class="diff-number">(\d*)</td><td class="diff-number">(\d*)</td>', page)


def test_a_comparison_is_shown_whole_in_pieces_that_follow_each_other(
    store: MemoryStore, key: str, alice: User
) -> None:
    stores.edit_store(store, StoreSettings(store.name, overwrite_on_create=True), **BY)
    caller = Caller(store, key)
    old, new = ("".join(f"{sign}{line}\n" for line in range(6_000)) for sign in "ab")
    memory = caller.create("/a.md", old)
    caller.create("/a.md", new)
    client, address = signed_in(alice), reverse("compare", args=[store.pk, memory.pk])
    seen: list[tuple[str, str]] = []
    query, pieces = "?from=1&to=2", 0
    while query:
        page = client.get(address + query).content.decode()
        assert len(page) < MOST
        seen, pieces = seen + _lines(page), pieces + 1
        more = re.search(r'<a href="([^"]*)" hx-get="[^"]*" hx-target="closest tr"', page)
        assert ("Show from the beginning" in page) == (pieces > 1)
        query = more[1].replace("&amp;", "&") if more else ""
    assert pieces >= 3
    assert [int(number) for number, _ in seen if number] == list(range(1, 6_001))
    assert [int(number) for _, number in seen if number] == list(range(1, 6_001))


def test_a_line_that_would_take_all_of_a_page_is_cut_and_says_by_how_much() -> None:
    html = render_to_string("diff/_diff.html", {"diff": compare("a\n", "\u200b<" * 20_000 + "\n")})
    assert len(html) < 2 * MOST_OF_LINE and re.search(r"… [\d,]+ more characters of this line are not shown", html)
