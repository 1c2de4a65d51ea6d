"""The search page: what it shows, to whom, how it goes on, and what it says to what it cannot read."""

import html as htmllib
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from memoryhub.actions.memories import curation
from memoryhub.models import Agent, MemoryStore, User
from memoryhub.pure.text.folding import found_lines
from memoryhub.web.common.filters import names as filter_names
from memoryhub.web.search import scan as search_scan, search
from memoryhub.web.search.filters import Query
from memoryhub.web.search.results import excerpt
from tests.api.harness import Hub, new_store
from tests.support.fixtures import signed_in
from tests.support.in_turn import in_turn
from tests.web.all_pages.hostile import HIDDEN, TARGET, build
from tests.web.memories.pages import act, write


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)
    monkeypatch.setattr(search, "FIRST_HITS", 90)


def asked(person: User, query: str = "", **parameters: str) -> str:
    answer = signed_in(person).get(reverse("search"), {"q": query, **parameters})
    assert answer.status_code == 200
    return answer.content.decode()


def text_of(html: str) -> str:
    """The words of the page's main part."""
    return re.sub(r"\s+", " ", htmllib.unescape(re.sub(r"<[^>]*>", " ", html.split("<main")[1])))


def next_of(html: str) -> str | None:
    """The address from which the page goes on."""
    match = re.search(r'(?:hx-get|href)="(\?[^"]*at=[^"]*?)"', html)
    return htmllib.unescape(match[1]) if match else None


def test_matches_are_marked_with_lines_around_and_linked(store: MemoryStore, bob: User) -> None:
    memory = write(store, "/policies/refund.md", "one\ntwo\nRefund in 30 days\nfour\nfive\nsix\n")
    page = asked(bob, "refund")
    link = f"/stores/{store.id}/memories/{memory.id}"
    assert "/policies/</span><mark>refund</mark>.md" in page
    assert (
        f'<li class="excerpt-found"><a href="{link}#L3">3</a><code><mark>Refund</mark> in 30 days</code></li>' in page
    )
    assert f'<a href="{link}#L2">2</a><code>two</code>' in page
    assert "five" not in page
    assert "last change: " in text_of(page)
    assert "1 memory found." in text_of(page)


def test_case_and_width_do_not_matter_and_japanese_is_found(store: MemoryStore, bob: User) -> None:
    write(store, "/顧客.md", "担当はﾀﾅｶです\nＡＣＭＥ株式会社\n")
    assert "<mark>ﾀﾅｶ</mark>" in asked(bob, "タナカ")
    assert "<mark>ＡＣＭＥ</mark>" in asked(bob, "acme")
    assert "<mark>株式会社</mark>" in asked(bob, "㍿")


def test_all_words_must_occur_and_a_phrase_in_one_line(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", "red fox\nblue hen\n")
    assert "1 memory found." in text_of(asked(bob, "fox blue"))
    assert "Nothing was found" in asked(bob, "fox green")
    assert "1 memory found." in text_of(asked(bob, '"red fox"'))
    assert "Nothing was found" in asked(bob, '"fox blue"')


@pytest.mark.both_databases
def test_word_endings_hide_nothing_and_a_phrase_is_exact(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", "We refund in 30 days.\n")
    write(store, "/b.md", "Refunds are slow. See the policies.\n")
    for word in ("refund", "refunds", "refunded", "REFUNDS"):
        assert "2 memories found." in text_of(asked(bob, word)), word
    assert "<mark>Refunds</mark> are slow. See the <mark>policie</mark>s" in asked(bob, "refunds policy")
    assert "1 memory found." in text_of(asked(bob, '"refunds"'))
    assert "Nothing was found" in asked(bob, '"refunded"')


@pytest.mark.both_databases
def test_a_short_word_without_its_ending_is_found_as_a_word_of_its_own(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", "See the latest log; login is elsewhere.\n")
    page = asked(bob, "logged")
    assert "1 memory found." in text_of(page)
    assert "latest <mark>log</mark>; login" in page
    assert "Nothing was found" in asked(bob, "testing")


@pytest.mark.both_databases
def test_stores_agents_and_people_are_chosen_from_a_list(store: MemoryStore, agent: Agent, key: str, bob: User) -> None:
    fields = re.split("<label ", asked(bob, "x", agent=agent.name))
    lists = {match[1]: field for field in fields if (match := re.search('select name="([^"]*)"', field))}
    assert f'<option value="{store.id}">{store.name}</option>' in lists["store"]
    assert f'<option value="{agent.id}" selected>{agent.name}</option>' in lists["agent"]
    assert f'<option value="{bob.id}">{bob.email}</option>' in lists["person"]


def test_where_there_are_too_many_a_name_is_typed(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_names, "MOST_LISTED", 0)
    assert '<input name="store"' in asked(bob)


def test_a_filter_by_author_says_that_it_means_the_last_change(store: MemoryStore, alice: User, bob: User) -> None:
    memory = write(store, "/a.md", "one\n")
    curation.edit(store.id, memory.id, "two\n", memory.sha256, act(alice))
    assert "Nothing was found" in asked(alice, f"person:{bob.email}")
    page = asked(alice, f"person:{alice.email}")
    assert "This search finds a memory only if this author made its last change." in page
    link = htmllib.unescape(str(re.search(r'<a href="\?([^"]*)">Find every change', page)[1]))  # type: ignore[index]
    everything = signed_in(alice).get(f"{reverse('search')}?{link}").content.decode()
    assert "This search finds a memory only if" not in everything
    assert "This search finds a memory only if" not in asked(alice, "one")


def test_a_store_that_one_may_not_see_is_unknown_and_nothing_is_said_of_audits(store: MemoryStore, bob: User) -> None:
    page = text_of(asked(bob, "x", store="Elsewhere"))
    assert "There is no store “Elsewhere”, or you may not see it." in page
    assert "audit" not in page.split("There is no store")[1]


def test_where_is_looked_can_be_chosen(store: MemoryStore, bob: User) -> None:
    note = act()
    curation.create(store.id, "/apple.md", "pear", type(note)(note.actor, note.door, note.at, note="a plum"))
    for word, place in (("apple", "paths"), ("pear", "contents"), ("plum", "notes")):
        for where in ("contents", "paths", "notes"):
            assert ("1 memory found." in text_of(asked(bob, word, **{"in": where}))) == (place == where)
        assert "1 memory found." in text_of(asked(bob, f"{word} in:{place}"))
    assert "a <mark>plum</mark>" in asked(bob, "plum")


def test_the_fields_say_what_is_typed_in_the_filter(bob: User) -> None:
    html = asked(bob, "refund in:paths versions:all")
    assert '<option value="paths" selected>' in html
    assert 'name="versions" value="all" checked' in html and 'name="trash" value="yes" checked' not in html


def test_old_versions_and_the_trash_are_found_when_asked_for(store: MemoryStore, bob: User) -> None:
    memory = write(store, "/a.md", "the old word\n")
    curation.edit(store.id, memory.id, "the new word\n", memory.sha256, act())
    first = store.versions.get(memory=memory, number=1)
    assert "Nothing was found" in asked(bob, "old")
    page = asked(bob, "old", versions="all")
    assert f'href="/stores/{store.id}/versions/{first.id}#L1"' in page
    assert "old version 1" in text_of(page)
    write(store, "/gone.md", "secret thing\n")
    curation.delete(store.id, "/gone.md", act())
    assert "Nothing was found" in asked(bob, "secret")
    assert "in the trash" in text_of(asked(bob, "secret", trash="yes")).split("found.")[0]


def test_old_versions_that_say_the_same_are_shown_as_one(store: MemoryStore, bob: User) -> None:
    memory = write(store, "/a.md", "apple\n0")
    for number in range(4):
        memory.refresh_from_db()
        curation.edit(store.id, memory.id, f"apple\n\n\n{number + 1}", memory.sha256, act())
    assert "old versions 2 to 4" in text_of(asked(bob, "apple", versions="all"))


def test_filters_by_agent_session_time_store_and_directory(
    store: MemoryStore, bob: User, key: str, superuser: User
) -> None:
    hub = Hub(store, key)
    block = hub.block(command="create", path="/memories/bot/a.md", file_text="apple")
    hub.send(block, memoryhub_session="run-1")
    write(store, "/hand/a.md", "apple")
    both = {'agent:"Support bot"': 1, "path:/hand": 1, "path:hand/": 1, "from:2020-01-01": 2, "to:2020-01-01": 0, "": 2}
    for words, count in both.items():
        assert asked(bob, f"apple {words}").count('<article class="card found-memory"') == count, words
    assert "/bot/</span>a.md" in asked(bob, 'agent:"Support bot" session:run-1')
    assert "Nothing was found" in asked(bob, 'agent:"Support bot" session:run-2')
    other = new_store()
    write(other, "/x.md", "apple")
    assert asked(superuser, "apple").count('<article class="card found-memory"') == 3
    assert asked(superuser, "apple", store=other.id).count('<article class="card found-memory"') == 1


def test_a_filter_without_words_lists_what_fits(store: MemoryStore, bob: User) -> None:
    write(store, "/d/a.md")
    write(store, "/e.md")
    assert asked(bob, "path:/d").count('<article class="card found-memory"') == 1


def test_plain_words_narrow_a_search(store: MemoryStore, alice: User, key: str) -> None:
    hub = Hub(store, key)
    hub.send(hub.block(command="create", path="/memories/bot/a.md", file_text="apple pinned"))
    write(store, "/hand/b.md", "apple")
    found = {
        "by support bot": 1, "not by Support bot": 1, "written by nobody": 0, "not reviewed": 1, "in /hand": 1,
        "not in /hand": 1, "today": 1, "pinned": 0, "not pinned": 2, '"pinned"': 1, "by nobody": 0, "-agent:nobody": 2,
        "-store:Support": 0, "is:unreviewed -path:/bot": 0,
    }  # fmt: skip
    for words, count in found.items():
        assert asked(alice, f"apple {words}").count('<article class="card found-memory"') == count, words
    assert asked(alice, "not reviewed").count('<article class="card found-memory"') == 1


def test_a_filter_is_a_chip_that_can_be_removed_turned_around_and_read_as_words(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", "apple pinned")
    page = asked(bob, "apple pinned")
    for address, words in (("?q=apple", "Remove the filter State: pinned"), ("-is=pinned", "show all but this"),
                       ("q=apple+%22pinned%22", ">as words</a>")):  # fmt: skip
        assert address in page and words in page
    assert 'value="apple pinned"' in page


def test_nobody_finds_what_is_not_for_them(store: MemoryStore, alice: User, charlie: User, client: Client) -> None:
    write(store, "/secret.md", "apple")
    assert "/</span><mark>secret</mark>.md" in asked(alice, "secret")
    assert "Nothing was found" in asked(charlie, "apple")
    assert "There is no store" in asked(charlie, "apple", store=store.id)
    assert store.name not in asked(charlie)
    place = next_of(asked_with_small_pages(alice))
    assert place
    answer = signed_in(charlie).get(reverse("search") + place, headers={"HX-Request": "true"})
    assert "secret" not in answer.content.decode()
    assert client.get(reverse("search")).status_code == 302
    assert signed_in(alice).post(reverse("search")).status_code == 405


def asked_with_small_pages(person: User) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_scan, "MOST_MEMORIES", 1)
        return asked(person, "apple")


def test_without_script_one_press_looks_through_the_rest_of_a_normal_store(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        write(store, f"/{number}.md", "apple" if number % 8 == 0 else "pear")
    monkeypatch.setattr(search, "FIRST_HITS", 1)
    monkeypatch.setattr(search, "SECONDS", 0)
    monkeypatch.setattr(search, "SECONDS_OF_A_PRESS", 60)
    address = next_of(asked(bob, "apple"))
    assert address is not None
    whole = signed_in(bob).get(reverse("search") + address).content.decode()
    assert "5 memories found." in text_of(whole) and next_of(whole) is None
    part = signed_in(bob).get(reverse("search") + address, headers={"HX-Request": "true"}).content.decode()
    assert next_of(part) is not None


def test_a_long_search_goes_on_by_itself_and_by_hand(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        write(store, f"/{number}.md", "apple")
    monkeypatch.setattr(search, "FIRST_HITS", 1)
    monkeypatch.setattr(search, "SECONDS", 0)
    monkeypatch.setattr(search, "SECONDS_OF_A_PRESS", 0)
    page = asked(bob, "apple")
    assert 'hx-trigger="load' in page
    assert "Searched 1 of 8 memories" in text_of(page)
    seen = 1
    client = signed_in(bob)
    address = next_of(page)
    while address:
        part = client.get(reverse("search") + address, headers={"HX-Request": "true"}).content.decode()
        assert "<html" not in part
        whole = client.get(reverse("search") + address).content.decode()  # without script
        assert whole.count('<article class="card found-memory"') == part.count('<article class="card found-memory"')
        seen += part.count('<article class="card found-memory"')
        address = next_of(part)
    assert seen == 8
    assert "8 memories found." in text_of("<main" + part)


def test_it_can_be_stopped_and_goes_on_from_there(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write(store, f"/{number}.md", "apple")
    monkeypatch.setattr(search, "FIRST_HITS", 1)
    monkeypatch.setattr(search, "SECONDS", 30.0)
    address = next_of(asked(bob, "apple"))
    assert address
    client = signed_in(bob)
    stopped = client.get(reverse("search") + address + "&stop=1", headers={"HX-Request": "true"}).content.decode()
    assert "found-memory" not in stopped and 'hx-trigger="load' not in stopped
    assert "Go on" in stopped
    rest = client.get(reverse("search") + str(next_of(stopped)), headers={"HX-Request": "true"}).content.decode()
    assert rest.count('<article class="card found-memory"') == 2


@in_turn(
    ("given", "said"),
    [
        ({"q": "a", "at": "nonsense"}, "This link is out of date"),
        ({"q": "a", "in": "everything"}, "is not possible here"),
        ({"q": "a versions:none"}, "is not possible here"),
        ({"q": "a", "from": "yesterday"}, "is not a time"),
        ({"q": "a", "from": "2026-02-01", "to": "2026-01-01"}, "must be before"),
        ({"q": "a b c d e f g h i"}, "at most 8 words"),
        ({"q": "a" * 501}, "too long"),
        ({"q": "a", "store": "memstore_nowhere"}, "There is no store"),
        ({"q": "a agent:x person:y"}, "one author"),
        ({"q": "a", "agent": "x\ny"}, "cannot search for this value"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(store: MemoryStore, bob: User, given: dict[str, str], said: str) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        answer = signed_in(bob).get(f"{reverse('search')}?{urlencode(given)}", headers=headers)
        assert answer.status_code == 200
        assert said in htmllib.unescape(answer.content.decode())


def test_an_empty_query_explains_what_can_be_searched(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", "apple")
    for query in ("", "   ", '""', "in:contents versions:all trash:yes"):
        page = asked(bob, query)
        assert "How to search" in page
        assert "apple" not in page


@pytest.mark.parametrize("query", ["'", "%", "_", "http://x", "a:b", "\u0301", "\x01", "(", '"', "ﷺ", "İ", "\u200b"])
def test_any_words_can_be_searched(store: MemoryStore, bob: User, query: str) -> None:
    write(store, "/a.md", f"before {query} after\n")
    assert "1 memory found." in text_of(asked(bob, query))


def test_hostile_texts_stay_text(db: None) -> None:
    world = build()
    for query in ("onerror", "hx-get", "7|add", "elsewhere.example", "gnp", "onmouseover"):
        page = asked(world.person, query, versions="all")
        main = page.split('id="found"')[1].split("</section>")[0]
        assert "<mark>" in main
        assert not re.search(r"<(script|img|iframe|svg onload|base|style|b )", main)
        assert f"hx-get={TARGET}" not in re.sub(r"&lt;.*?&gt;", "", main)
    assert HIDDEN not in asked(world.person, "gnp")
    assert "hidden-character" in asked(world.person, "gnp")


def test_a_long_line_shows_what_stands_around_the_first_match() -> None:
    shown = excerpt("x" * 5000 + " apple " + "y" * 5000, ["apple"], "/m", "from")
    assert "<mark>apple</mark>" in shown.html
    assert len(shown.html) < 600
    assert shown.html.count("…") == 2


def test_lines_far_down_are_linked_through_their_part_of_the_page() -> None:
    shown = excerpt("\n" * 25_000 + "apple\n", ["apple"], "/m", "from")
    assert 'href="/m?from=25001#L25001"' in shown.html


def test_the_first_line_of_every_word_is_shown() -> None:
    shown = excerpt("apple\n" * 10 + "pear\n", ["apple", "pear"], "/m", "from")
    assert "<mark>pear</mark>" in shown.html
    assert shown.more == 7
    assert not shown.over
    numbers, over = found_lines("apple\n" * 5000, ["apple"])
    assert (len(numbers[0]), over) == (100, True)


def test_words_and_filters_are_told_apart() -> None:
    query = Query.of({"q": 'Refund "in 30 days" agent:bot http://x.y path:"/a b"', "trash": "yes"})
    assert query.plain_words == ["Refund", "in 30 days", "http://x.y"]
    assert dict(query.values) == {"path": "/a b", "agent": "bot", "trash": "yes"}
    assert query.words == 'Refund "in 30 days" http://x.y path:"/a b" agent:bot trash:yes'
    assert Query.of({"q": query.words}).values == query.values


@pytest.mark.both_databases
def test_a_search_that_finds_nothing_says_which_word_occurs_nowhere(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", "We refund in some days.\n")
    write(store, "/b.md", "The days are long.\n")
    page = asked(bob, "refund 90 days")
    said = text_of(page)
    assert "No searched memory has all of these words: refund , 90 , days . 90 occurs in no searched memory." in said
    assert 'href="?q=refund+days"' in page and "Search for refund days" in page
    page = asked(bob, 'refund "are long" path:/')
    assert "Each word occurs, but no memory has all the words." in text_of(page)
    assert "None of the searched memories contains 90 ." in text_of(asked(bob, "90"))


@pytest.mark.both_databases
def test_a_near_spelling_is_offered_for_a_word_that_occurs_nowhere(store: MemoryStore, bob: User) -> None:
    write(store, "/customers/northwind.md", "Northwind pays.\nNorthwind called.\n")
    write(store, "/b.md", "northwind\n")
    page = asked(bob, "nortwind pays store:Support")
    assert "Did you mean northwind pays?" in text_of(page)
    assert htmllib.unescape(re.findall(r'href="(\?[^"]*northwind[^"]*)"', page)[0]).startswith("?q=northwind+pays")
    assert "Did you mean" not in asked(bob, "southwind")
    assert "Did you mean" not in asked(bob, "north pays")


@pytest.mark.both_databases
def test_old_versions_are_not_counted_as_memories(store: MemoryStore, bob: User) -> None:
    memory = write(store, "/a.md", "refund\n")
    curation.edit(store.id, memory.pk, "refund twice\n", memory.sha256, act())
    assert "1 memory found, and old versions of 1 memory." in text_of(asked(bob, "refund", versions="all"))
