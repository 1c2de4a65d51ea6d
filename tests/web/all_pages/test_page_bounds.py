"""No page grows with what somebody wrote: hostile texts are shown in pieces, and pages say what they do not show."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.history.undo_plan import PLAN_WORK
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.demo.load import load
from memoryhub.models import Access, Memory, MemoryStore, MemoryVersion, Session, User
from memoryhub.pure.text.diffs import REQUEST_WORK, compare
from memoryhub.pure.text.matching import Budget, Work
from memoryhub.templatetags import diff as diff_rows
from memoryhub.templatetags.diff import MOST_OF_LINE
from memoryhub.web.history import changes
from memoryhub.web.review import items as review_items
from memoryhub.web.undo import rows as undo_rows
from tests.support.fixtures import BY, signed_in
from tests.support.long import LONG, some
from tests.web.all_pages.every_page import Page, page, pages
from tests.web.all_pages.test_browser_pages import NOW
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

MOST = 2_000_000
"""Bytes of the answer of any page."""
MOST_WORK = REQUEST_WORK + 1_000_000
"""What any page may spend on comparisons: what is shared, and what its last one may cost beyond."""
REWRITES = 14 if LONG else 9


def short_lines(number: int) -> str:
    return "".join(f"{(line * 7 + number) % 97}\n" for line in range(35_000))[:99_000] + "\n"


def characters(number: int) -> str:
    return "".join(f"{chr(97 + (line * (number + 3) + line // 7) % 26)}\n" for line in range(50_000))


def each_line(number: int) -> str:
    return "".join(f"line {line} of text {number} {line * number}\n" for line in range(5_000))[:99_000] + "\n"


def one_line(number: int) -> str:
    return (f"w{number} a " * 30_000)[:99_000]


def hidden(number: int) -> str:
    return ("\u200b\u202e<&" * 4_000)[: 16_000 - number]


REWRITTEN = "/refund_policies.xml"
"""The memory of the demo whose pages are opened."""
TEXTS: dict[str, Sequence[Callable[[int], str]]] = {
    REWRITTEN: (each_line, characters), "/short-lines.md": (short_lines,), "/one-line.md": (one_line, hidden),
}  # fmt: skip


@pytest.fixture
def hostile() -> Caller:
    """The demo, in whose store two sessions in turn write three memories anew again and again."""
    load(NOW)
    store = MemoryStore.objects.get(name="Customer service")
    stores.edit_store(store, StoreSettings(store.name, overwrite_on_create=True), **BY)
    agent = keys_and_roles.create_agent("Hostile", **BY)
    secret = keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1]
    run, other = (Caller(store, secret, session=session, at=NOW) for session in ("hostile", "other"))
    for number in range(REWRITES):
        path = list(TEXTS)[number % 3]
        text = TEXTS[path][number // 3 % len(TEXTS[path])](number)
        (other if number % 4 == 3 else run).create(path, text)
    return run


def more_pages(store: MemoryStore) -> Iterator[Page]:
    """The pages of the hostile texts that those of the demo do not lead to."""
    for name in some(("hostile", "other"), 2):
        session = Session.objects.get(name=name)
        yield page("session", called=f"session-{name}", session_id=session.pk)
        yield page("undo_session", called=f"undo-session-{name}", store_id=store.pk, session_id=session.pk)
    yield page("search", "?q=1", called="search-short")
    yield page("changes", "?from=0", called="changes-from-the-beginning", store_id=store.pk)
    rewritten = Memory.objects.filter(store=store, path__in=TEXTS).exclude(path=REWRITTEN).order_by("path")
    for memory, form in zip(rewritten, ("&w=1", "&context=all&mode=split"), strict=True):
        of_memory = {"store_id": store.pk, "memory_id": memory.pk}
        last = memory.version_count
        yield page("compare", f"?from={last - 1}&to={last}{form}", called=f"compare-{memory.path}", **of_memory)
        yield page("memory", called=f"memory-{memory.path}", **of_memory)
        version = MemoryVersion.objects.get(memory=memory, number=last - 1)
        yield page("undo_version", called=f"undo_version-{memory.path}", store_id=store.pk, version_id=version.pk)


@dataclass(slots=True)
class Spent:
    """What has been spent on comparisons since it was last asked."""

    units: int = 0
    pairs: int = 0


@pytest.fixture
def spent(monkeypatch: pytest.MonkeyPatch) -> Spent:
    """Counts beside the hub, and changes nothing."""
    spent, spend, take = Spent(), Work.spend, Budget.take

    def counting_spend(self: Work, cost: int) -> None:
        spent.units += cost
        spend(self, cost)

    def counting_take(self: Budget, work: int) -> bool:
        was_enough = take(self, work)
        spent.pairs += work if was_enough else 0
        return was_enough

    monkeypatch.setattr(Work, "spend", counting_spend)
    monkeypatch.setattr(Budget, "take", counting_take)
    return spent


@pytest.mark.push
def test_every_page_over_hostile_rewrites_is_bounded_in_bytes_and_in_the_work_that_it_compares(
    hostile: Caller, superuser: User, spent: Spent
) -> None:
    """Counted work, and no time: the pairs of lines and words, and what reading the texts costs. In the short form,
    each 24th page of the demo, and those of the hostile texts, of one of the two sessions."""
    client = signed_in(superuser)
    beyond = {}
    for name, address in [*some(pages(), 24), *more_pages(hostile.store)]:
        spent.units = spent.pairs = 0
        answer = client.get(address)
        assert answer.status_code == 200, name
        most = MOST_WORK + (PLAN_WORK if "undo" in name else 0)
        if len(answer.content) > MOST or spent.units > most or spent.pairs > 4 * most:
            beyond[name] = (len(answer.content), spent.units, spent.pairs)
    assert not beyond


def test_a_difference_that_a_page_shows_closed_is_loaded_by_itself(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without script, in pieces, and with other ids than those that stand on the page already."""
    stores.edit_store(store, StoreSettings(store.name, overwrite_on_create=True), **BY)
    caller = Caller(store, key, session="run")
    for path in ("/a.md", "/b.md"):
        caller.create(path, "".join(f"a{line}\n" for line in range(200)))
    begin = caller.last.seq
    for path in ("/a.md", "/b.md"):
        caller.create(path, "".join(f"b{line}\n" for line in range(200)))
    for module in (changes, review_items, undo_rows):
        monkeypatch.setattr(module, "REQUEST_WORK", 3_000)
    monkeypatch.setattr(diff_rows, "MOST_BYTES", 20_000)
    client = signed_in(alice)
    restored = reverse("restore_moment", args=[store.pk, begin])
    for address in (reverse("changes", args=[store.pk]) + f"?from={begin}", reverse("review"), restored):
        html = client.get(address).content.decode()
        closed = re.findall(r'hx-get="([^"]*)" hx-select="\.diff-view" hx-target="closest \.diff-closed"', html)
        assert closed, address
        apart = client.get(urljoin(address, closed[-1].replace("&amp;", "&"))).content.decode()
        assert apart.count('class="diff-view"') == 1, address
        ids = set(re.findall(r'id="([^"]*change-\d+)"', apart))
        assert ids and not ids & set(re.findall(r'id="([^"]*change-\d+)"', html)), address
        more = re.search(r'<a href="([^"]*)" hx-get="[^"]*" hx-target="closest tr"', apart)
        assert more, address
        following = client.get(urljoin(address, urljoin(closed[-1], more[1]).replace("&amp;", "&"))).content.decode()
        assert "Show from the beginning" in following, address


def _lines(page: str) -> list[tuple[str, str]]:
    """The two numbers of each row of a unified comparison."""
    return re.findall(r'<td class="diff-number">(\d*)</td><td class="diff-number">(\d*)</td>', page)


def test_a_comparison_is_shown_whole_in_pieces_that_follow_each_other(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_rows, "MOST_BYTES", diff_rows.MOST_BYTES // 10)
    stores.edit_store(store, StoreSettings(store.name, overwrite_on_create=True), **BY)
    caller = Caller(store, key)
    old, new = ("".join(f"{sign}{line}\n" for line in range(600)) for sign in "ab")
    memory = caller.create("/a.md", old)
    caller.create("/a.md", new)
    client, address = signed_in(alice), reverse("compare", args=[store.pk, memory.pk])
    seen: list[tuple[str, str]] = []
    query, pieces = "?from=1&to=2", 0
    while query:
        page = client.get(address + query).content.decode()
        assert len(page) < MOST // 10
        seen, pieces = seen + _lines(page), pieces + 1
        more = re.search(r'<a href="([^"]*)" hx-get="[^"]*" hx-target="closest tr"', page)
        assert ("Show from the beginning" in page) == (pieces > 1)
        query = more[1].replace("&amp;", "&") if more else ""
    assert pieces >= 3
    assert [int(number) for number, _ in seen if number] == list(range(1, 601))
    assert [int(number) for _, number in seen if number] == list(range(1, 601))


def test_a_line_that_would_take_all_of_a_page_is_cut_and_says_by_how_much() -> None:
    html = render_to_string("common/diff/_whole.html", {"diff": compare("a\n", "\u200b<" * 20_000 + "\n")})
    assert len(html) < 2 * MOST_OF_LINE and re.search(r"… [\d,]+ more characters of this line are not shown", html)
