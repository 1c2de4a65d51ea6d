"""The filter of the review inbox: keys, plain words, what it leaves out, and the chips of what was understood."""

from datetime import timedelta

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.review import decisions
from memoryhub.models import Access, Door, MemoryStore, User
from memoryhub.web.review import queries
from tests.support.fixtures import AT, BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.long import some
from tests.web.history.versions import Caller
from tests.web.review.reviewing import everything, inbox, shown, two

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


def by(user: User, note: str | None = None) -> Act:
    return Act(Actor.person(user), Door.WEB, AT + timedelta(hours=9), note=note)


FOUND: list[tuple[str, list[str]]] = [
    ("path:/notes", ["/notes/a.md", "/notes/b.md"]),
    ("path:/notes/", ["/notes/a.md", "/notes/b.md"]),
    ("/notes/a.md", ["/notes/a.md"]),
    ("path:/note", []),
    ('agent:"support bot"', ["/notes/a.md", "/other.md", "/notes/b.md"]),
    ("agent:nobody", []),
    ('agent:"support bot" session:run-2', ["/other.md"]),
    ('agent:"support bot" session:run-1', ["/notes/a.md", "/notes/b.md"]),
    ("session:run-2", ["/other.md"]),
    ('agent:"support bot" session:run-1 path:/notes/b.md', ["/notes/b.md"]),
    ("store:Support", ["/notes/a.md", "/other.md", "/notes/b.md"]),
    ("before:2025-11-03T09:02", ["/notes/a.md"]),
    ("after:2025-11-03T09:02 before:2025-11-03T09:03", ["/other.md"]),
    ("after:2025-11-04", []),
    ("memory:mem_nowhere", []),
    ("by support bot not reviewed", ["/notes/a.md", "/other.md", "/notes/b.md"]),
    ("not by support bot", []),
    ("in /notes a.md", ["/notes/a.md"]),
    ("by support bot, in /notes, is:unreviewed, b.md", ["/notes/b.md"]),
    ("-path:/notes", ["/other.md"]),
    ("-path:/notes, not flagged,", []),
    ('path:"/notes,"', []),
    ("OTHER", ["/other.md"]),
    ("flagged", ["/other.md"]),
    ("not flagged in /notes", ["/notes/a.md", "/notes/b.md"]),
    ("2025-11-03", []),
    ("when:2025-11-03 b.md", ["/notes/b.md"]),
    ("-when:2025-11-03", []),
    ("-store:Support", []),
    ('"flagged"', []),
]
"""What is typed, and the paths of the changes that are found, the oldest first."""


@pytest.mark.push
def test_the_filters(caller: Caller, alice: User) -> None:
    caller.create("/notes/a.md", "a\n")
    caller.session = "run-2"
    other = caller.create("/other.md", "o\n")
    caller.session = "run-1"
    caller.create("/notes/b.md", "b\n")
    decisions.flag(caller.store.pk, [other.head_id], by(alice, "Look"))
    client = signed_in(alice)
    cases = [(*each, "oldest", 1) for each in FOUND] + [(*each, "newest", -1) for each in some(FOUND, 4)]
    for words, found, order, step in cases:
        page = inbox(client, q=words, order=order)
        assert page.context["problem"] == "", words
        assert [path for path, _ in shown(page)] == found[::step], (words, order)


def test_a_verb_that_the_review_cannot_filter_by_is_refused(caller: Caller, alice: User) -> None:
    caller.create("/deleted.md", "a\n")
    client = signed_in(alice)
    for words in ("deleted by support bot", "not Deleted by support bot", "in / deleted by support bot today"):
        page = inbox(client, q=words)
        assert shown(page) == [] and "“by support bot”" in page.context["problem"], words
        assert 'name="all"' not in page.content.decode(), words
    for words in ("written by support bot", "changed by support bot", '"deleted" by support bot'):
        assert [path for path, _ in shown(inbox(client, q=words))] == ["/deleted.md"], words


@pytest.mark.push
@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_what_an_agent_rarely_wrote_is_found_behind_many_versions_of_others(
    caller: Caller, alice: User, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries.page, "__kwdefaults__", {"newest": False, "size": 2, "walk": 4, "beside": None})
    monkeypatch.setattr(queries, "FEW", 0)
    agent = keys_and_roles.create_agent("rare bot", **BY)
    rare = Caller(caller.store, keys_and_roles.issue_key(agent, stores=[caller.store], access=Access.WRITE, **BY)[1])
    for number in range(6):
        caller.create(f"/notes/{number}.md", "a\n")
    rare.at = caller.at
    rare.create("/notes/7.md", "a\n")
    rare.delete("/notes")  # seven versions of one entry
    caller.at = rare.at
    for number in range(6):
        caller.create(f"/other/{number}.md", "a\n")
    client = signed_in(alice)
    parameters = {"q": 'agent:"rare bot" path:/notes', "order": order}
    page = inbox(client, **parameters)
    assert len(shown(page)) == 2 and not page.context["page"].stopped
    found = everything(client, **parameters)
    assert sorted(found) == sorted([(f"/notes/{n}.md", 2) for n in (0, 1, 2, 3, 4, 5, 7)] + [("/notes/7.md", 1)])
    monkeypatch.setattr(queries, "RARE", 0)
    assert everything(client, **parameters) == found


def test_the_filter_by_memory_follows_it_through_renames(caller: Caller, alice: User) -> None:
    memory, _ = two(caller)
    caller.create("/b.md", "b\n")
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/c.md")
    page = inbox(signed_in(alice), q=f"memory:{memory.pk}")
    assert shown(page) == [("/a.md", 1), ("/a.md", 2), ("/c.md", 3)]
    assert [(chip.key, chip.shown) for chip in page.context["chips"]] == [("memory", "/c.md")]


def test_what_was_understood_is_a_chip_to_remove_to_turn_around_and_to_read_as_words(
    caller: Caller, alice: User
) -> None:
    caller.create("/notes/pinned.md", "a\n")
    caller.create("/other.md", "o\n")
    client = signed_in(alice)
    (place, mark) = inbox(client, q="in /notes pinned", order="newest").context["chips"]
    assert (place.label, place.shown, mark.label, mark.shown) == ("Path", "/notes/", "State", "pinned")
    follow = {
        place.query_negated: [], mark.query_without: ["/notes/pinned.md"], mark.query_negated: ["/notes/pinned.md"],
        mark.query_as_words: ["/notes/pinned.md"],
    }  # fmt: skip
    for query, found in follow.items():
        page = client.get(f"{reverse('review')}?{query}")
        assert [path for path, _ in shown(page)] == found, query
        assert page.context["filter"].order == "newest"


def test_all_that_match_are_those_that_the_filter_shows(caller: Caller, alice: User) -> None:
    caller.create("/last/week.md", "a\n")
    caller.create("/other.md", "o\n")
    client = signed_in(alice)
    for words in ('"last" pinned week', '-path:/other.md "last" week', '"in /last"', "week last is:flagged -is:pinned"):
        page = inbox(client, q=words)
        again = inbox(client, q=page.context["filter"].words)
        assert again.context["filter"].values == page.context["filter"].values, words
        assert again.context["filter"].plain_words == page.context["filter"].plain_words, words


def test_a_lone_quotation_mark_takes_no_filter_away(caller: Caller, alice: User) -> None:
    client = signed_in(alice)
    page = inbox(client, q='it"s "new pinned', agent="support bot", path="/a b")
    again = inbox(client, q=page.context["filter"].words)
    assert again.context["filter"].values == {"agent": "support bot", "path": "/a b", "is": "pinned"}
    assert again.context["filter"].plain_words == ['it"s', '"new']
    (mark,) = [chip for chip in page.context["chips"] if chip.key == "is"]
    as_words = client.get(f"{reverse('review')}?{mark.query_as_words}").context["filter"]
    assert as_words.plain_words == ['it"s', '"new', "pinned"]


@pytest.mark.both_databases
def test_a_nul_in_a_form_gets_a_sentence(alice: User, store: MemoryStore) -> None:
    form = {"all": "approve", "q": "by \0", "next": reverse("review")}
    answer = signed_in(alice).post(reverse("decide_many"), form, follow=True)
    assert [str(message) for message in answer.context["messages"]] == ["The filter cannot search for a NUL character."]


def test_a_viewer_names_only_whom_he_may_see(caller: Caller, bob: User, superuser: User) -> None:
    keys_and_roles.create_agent("Secret bot", **BY)
    assert inbox(signed_in(bob), q="by Secret bot").context["filter"].values == {}
    assert inbox(signed_in(superuser), q="by Secret bot").context["filter"].values == {"agent": "Secret bot"}


@in_turn("words", ["color:red", "is:red", "path:notes", "before:yesterday", "store:Nowhere", "a:b:c"])
def test_a_filter_that_cannot_be_read_gets_a_sentence(caller: Caller, alice: User, words: str) -> None:
    caller.create("/a.md", "a\n")
    page = inbox(signed_in(alice), q=words)
    assert page.context["problem"]
    assert shown(page) == []


@pytest.mark.both_databases
@pytest.mark.parametrize("few", [0, 5_000])
def test_a_redacted_version_is_found_by_the_path_that_its_row_shows(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(queries, "FEW", few)
    caller.create("/notes/b.md", "b\n")
    _, (first, _) = two(caller)
    redaction.redact_version(caller.store.pk, first.pk, by(alice))
    client = signed_in(alice)
    for words in ("path:/a.md", "path:/ -path:/notes", "a.md"):
        for order, found in (("oldest", [1, 2]), ("newest", [2, 1])):
            page = inbox(client, q=words, order=order)
            assert [item.version.number for item in page.context["items"]] == found, words
            assert [item.path for item in page.context["items"]] == ["/a.md", "/a.md"]
    assert [item.path for item in inbox(client, q="path:/notes").context["items"]] == ["/notes/b.md"]
