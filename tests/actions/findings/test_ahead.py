"""Long texts are screened before their store is locked, and a text that takes too long is refused."""

from importlib import import_module

import pytest

from memoryhub.actions.core import transactions
from memoryhub.actions.core.transactions import NotTogether
from memoryhub.actions.findings import ahead
from memoryhub.models import Memory
from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import TooMuch, look
from memoryhub.pure.sensitive.passwords import Keyword
from memoryhub.pure.sensitive.text import BETWEEN_PAUSES, Text
from tests.api.harness import assert_audit_is_right, contents, newest_entry
from tests.api.rules import CARD, findings_of, hub_with

pytestmark = pytest.mark.django_db

LONG = "An ordinary line of a note, about nothing in particular.\n" * 300 + f"{CARD}\n"
MANY = "".join(f"token: abc{number}def\n" for number in range(60))


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The length of each text that was searched, and whether a transaction was open."""
    found: list[tuple[int, bool]] = []
    novelty = import_module("memoryhub.pure.text.novelty")

    def spied(text: str, *rest: object) -> object:
        found.append((len(text), transactions.is_open()))
        return look(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(novelty.sensitive, "look", spied)
    return found


def assert_no_long_search_has_a_lock(searched: list[tuple[int, bool]]) -> None:
    assert any(length > ahead.LONG for length, _ in searched)
    assert [length for length, is_open in searched if is_open and length > ahead.LONG] == []
    searched.clear()


def test_no_long_text_is_searched_while_its_store_is_locked(searched: list[tuple[int, bool]]) -> None:
    hub = hub_with(card="mask", password="flag", jwt="mask")
    hub.call(command="create", path="/memories/a.md", file_text=LONG)
    assert_no_long_search_has_a_lock(searched)
    more = LONG.replace(CARD, "the password is hunter7!Xy")
    hub.call(command="str_replace", path="/memories/a.md", old_str="[redacted:card]\n", new_str=more)
    assert [kind for kind, _, _ in findings_of(hub)] == ["password"]
    assert contents(hub.store)["/memories/a.md"] == LONG.replace(f"{CARD}\n", more)
    assert_audit_is_right(hub.store)


def test_a_text_of_one_long_line_is_searched_before_the_lock_at_each_edit(searched: list[tuple[int, bool]]) -> None:
    hub = hub_with()
    line = LONG.replace("\n", " ")
    hub.call(command="create", path="/memories/a.md", file_text=f"x{line}")
    for command in (
        {"command": "str_replace", "old_str": "x", "new_str": "y"},
        {"command": "insert", "insert_line": 0, "insert_text": "z"},
    ):
        searched.clear()
        hub.call(path="/memories/a.md", **command)
        assert all(length < ahead.LONG or not is_open for length, is_open in searched)
    assert contents(hub.store)["/memories/a.md"].startswith("z")


def test_a_long_text_has_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = hub_with()
    monkeypatch.setattr(transactions._thread, "in_group", True, raising=False)
    assert ahead.of_text(hub.store.id, None, "short") == {}
    with pytest.raises(NotTogether):
        ahead.of_text(hub.store.id, None, LONG)


@pytest.mark.parametrize("action", ["flag", "mask", "block"])
def test_a_text_that_takes_too_long_is_refused_and_kept_out_as_the_rules_say(
    monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(sensitive, "STEPS", 300)
    hub = hub_with(password=action)
    for text in (MANY, LONG + MANY):
        state, answer = hub.call(command="create", path="/memories/a.md", file_text=text)
        assert state == "err" and answer.startswith("Error: too much of /memories/a.md looks like a password")
        kept = newest_entry(hub.store.id).input or ""
        assert action == "flag" or "token: abc" not in kept
    assert not Memory.objects.exists()
    hub.call(command="create", path="/memories/b.md", file_text="a\n")
    hub.call(command="insert", path="/memories/b.md", insert_line=0, insert_text=MANY)
    assert contents(hub.store) == {"/memories/b.md": "a\n"}
    assert_audit_is_right(hub.store)


def test_the_search_pauses_and_ends_after_so_many_steps() -> None:
    pauses: list[int] = []
    found = look(MANY, {"password"}, 100_000, lambda: pauses.append(1))
    assert found == look(MANY, {"password"}) and len(pauses) == 1
    assert look(MANY * 40, {"password"}, 100_000, lambda: pauses.append(1)) and len(pauses) > 5
    with pytest.raises(TooMuch, match="password"):
        look(MANY * 400, None, 100_000)


def test_no_keyword_is_judged_without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """All keywords of a text were judged at once, for 26 milliseconds in a text of nothing but names: none paused."""
    module = import_module("memoryhub.pure.sensitive.passwords")
    judge, judged, between = module._begins_well, [0], list[int]()

    def counted(text: Text, keyword: Keyword) -> Keyword | None:
        judged[0] += 1
        found: Keyword | None = judge(text, keyword)
        return found

    def pause() -> None:
        between.append(judged[0] - sum(between))

    monkeypatch.setattr(module, "_begins_well", counted)
    with pytest.raises(TooMuch):
        look("a_key=" * 16_000, {"password"}, sensitive.STEPS, pause)
    pause()
    assert sum(between) == 16_000 and max(between) <= BETWEEN_PAUSES
