"""Path rules about lines: what agents may not change of one memory, wherever its other lines go."""

import random

import pytest

from memoryhub.actions.core.rules import protected_lines
from memoryhub.actions.core.rules.protected_lines import ProtectedLines
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import path_rules
from memoryhub.models import Memory, MemoryStore
from memoryhub.pure.path_rules import Effect, Lines, PathRule, Verb
from tests.api.harness import Hub, assert_audit_is_right, new_hub
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.api.proposals.test_proposals import ana, merge
from tests.support.long import some

VERBS = frozenset({Verb.EDIT, Verb.DELETE, Verb.RENAME})
TEXT = "head\nrefund in 5 days\nask above 100 EUR\nnotes\n"
WHY = "Finance decides about refunds."


@pytest.fixture
def hub(db: None) -> Hub:
    hub = new_hub(overwrite_on_create=True)
    assert writes(hub, TEXT)[0] == "ok"
    return hub


def writes(hub: Hub, text: str, path: str = "/a.md") -> list[str]:
    return hub.call(command="create", path=f"/memories{path}", file_text=text)


def memory(hub: Hub, path: str = "/a.md") -> Memory:
    return Memory.objects.live().filter(store=hub.store).at(path).get()


def protect(hub: Hub, first: int, last: int, effect: Effect = Effect.REFUSE) -> Lines:
    lines = Lines(str(memory(hub).head_id), first, last)
    set_rules(hub.store, PathRule(effect, "/a.md", VERBS, reason=WHY, only_if=lines))
    return lines


def fresh(hub: Hub) -> MemoryStore:
    return MemoryStore.objects.get(pk=hub.store.pk)


def person_writes(hub: Hub, text: str, path: str = "/a.md") -> None:
    head = memory(hub, path)
    curation.edit(hub.store.pk, head.pk, text, head.sha256, ana())


def test_agents_change_the_other_lines_and_not_the_protected_ones(hub: Hub) -> None:
    protect(hub, 2, 3)
    path = "/memories/a.md"
    assert hub.call(command="insert", path=path, insert_line=0, insert_text="new head")[0] == "ok"
    assert hub.call(command="str_replace", path=path, old_str="notes", new_str="notes\nmore")[0] == "ok"
    held = "new head\nhead\nrefund in 5 days\nask above 100 EUR\nnotes\nmore\n"
    for call in (
        {"command": "str_replace", "path": path, "old_str": "5 days", "new_str": "90 days"},
        {"command": "insert", "path": path, "insert_line": 3, "insert_text": "or not"},
        {"command": "create", "path": path, "file_text": "all new\n"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/b.md"},
    ):
        status, said = hub.call(**call)
        assert status == "err" and WHY in said, call
    assert Api(hub).refused("POST", f"/memories/{memory(hub).pk}", {"content": "x\n"})[0] == 403
    assert texts(hub.store) == {"/a.md": held}
    assert hub.call(command="insert", path=path, insert_line=4, insert_text="after the protected ones")[0] == "ok"
    assert_audit_is_right(hub.store)


def test_what_changes_them_can_wait_for_a_person(hub: Hub) -> None:
    protect(hub, 2, 2, Effect.PROPOSE)
    replaced = {"command": "str_replace", "path": "/memories/a.md", "old_str": "5 days", "new_str": "7 days"}
    assert "is now part of proposal #1" in hub.call(**replaced)[1]
    merge(hub.store)
    assert "refund in 7 days" in texts(hub.store)["/a.md"]
    assert "is now part of proposal #2" in hub.call(**replaced | {"old_str": "7 days", "new_str": "9 days"})[1]


def test_a_directory_with_protected_lines_is_neither_moved_nor_deleted(hub: Hub) -> None:
    assert writes(hub, TEXT, "/in/b.md")[0] == writes(hub, "x\n", "/in/c.md")[0] == "ok"
    lines = Lines(str(memory(hub, "/in/b.md").head_id), 1, 1)
    set_rules(hub.store, PathRule(Effect.REFUSE, "/in/b.md", VERBS, only_if=lines))
    assert hub.call(command="delete", path="/memories/in")[0] == "err"
    assert hub.call(command="rename", old_path="/memories/in", new_path="/memories/out")[0] == "err"
    assert hub.call(command="delete", path="/memories/in/c.md")[0] == "ok"


def test_lines_that_people_took_away_protect_nothing_until_they_are_back(hub: Hub) -> None:
    lines = protect(hub, 2, 2)
    person_writes(hub, "head\nnotes\n")
    assert ProtectedLines(hub.store.pk).in_newest(memory(hub).pk, lines)[1] == []
    assert hub.call(command="insert", path="/memories/a.md", insert_line=1, insert_text="something")[0] == "ok"
    person_writes(hub, "zero\nhead\nrefund in 5 days\nnotes\n")
    assert ProtectedLines(hub.store.pk).in_newest(memory(hub).pk, lines)[1] == [3]
    assert hub.call(command="str_replace", path="/memories/a.md", old_str="5", new_str="6")[0] == "err"


@pytest.mark.both_databases
def test_they_stay_protected_where_a_person_moves_the_memory(hub: Hub) -> None:
    """The rule stayed at the old path, and said that none of the lines was left."""
    lines = protect(hub, 2, 2)
    curation.rename(hub.store.pk, "/a.md", "/in/b.md", ana())
    curation.rename(hub.store.pk, "/in", "/out", ana())
    moved = {"command": "str_replace", "path": "/memories/out/b.md", "old_str": "5 days", "new_str": "9 days"}
    assert hub.call(**moved)[0] == "err"
    assert [(rule.pattern, rule.only_if) for rule in path_rules.of_store(fresh(hub))] == [("/out/b.md", lines)]
    curation.delete(hub.store.pk, "/out/b.md", ana())
    curation.restore(hub.store.pk, lines.version, ana(), path="/c.md")
    assert hub.call(**moved | {"path": "/memories/c.md"})[0] == "err"
    person_writes(hub, TEXT + "more\n", "/c.md")
    redaction.redact_version(hub.store.pk, lines.version, ana())
    curation.rename(hub.store.pk, "/c.md", "/d.md", ana())
    assert hub.call(**moved | {"path": "/memories/d.md"})[0] == "err"
    assert_audit_is_right(hub.store)


def test_another_memory_at_the_path_is_not_protected(hub: Hub) -> None:
    protect(hub, 1, 4)
    curation.delete(hub.store.pk, "/a.md", ana())
    assert writes(hub, "another one\n")[0] == "ok"
    assert hub.call(command="delete", path="/memories/a.md")[0] == "ok"


def test_without_the_text_in_which_they_were_chosen_no_line_may_be_changed(hub: Hub) -> None:
    lines = protect(hub, 2, 2)
    person_writes(hub, TEXT + "more\n")
    redaction.redact_version(hub.store.pk, lines.version, ana())
    assert ProtectedLines(hub.store.pk).in_newest(memory(hub).pk, lines)[1] is None
    path = "/memories/a.md"
    assert hub.call(command="insert", path=path, insert_line=0, insert_text="x")[0] == "ok", "adding is harmless"
    assert hub.call(command="str_replace", path=path, old_str="more", new_str="less")[0] == "err"
    assert hub.call(command="delete", path=path)[0] == hub.call(
        command="rename", old_path=path, new_path="/memories/b.md"
    )[0] == "err"  # fmt: skip


def in_their_place(old: list[str], new: list[str], watched: list[str]) -> list[str]:
    """Return the watched lines that are still there, and the lines in the place of those that were changed. No line
    occurs twice, and none has moved."""
    found: list[str] = []
    for gap_old, gap_new in zip(gaps(old, new), gaps(new, old), strict=True):
        found += gap_new if {*gap_old} & {*watched} else []
    return [line for line in new if line in found or line in watched]


def gaps(text: list[str], other: list[str]) -> list[list[str]]:
    """Return the lines of a text before, between and after those that the other text has too."""
    found: list[list[str]] = [[]]
    for line in text:
        found[-1:] = [found[-1], []] if line in other else [[*found[-1], line]]
    return found


@pytest.mark.parametrize("seed", some(range(4), 2))
def test_random_changes_are_refused_if_the_protected_lines_do_not_stay_side_by_side(hub: Hub, seed: int) -> None:
    rng = random.Random(f"protected lines {seed}")
    names = iter(range(10_000))
    now = [f"line {next(names)}" for _ in range(12)]
    person_writes(hub, "\n".join(now) + "\n")
    first = rng.randrange(1, 9)
    protect(hub, first, first + 2)
    chosen = watched = now[first - 1 : first + 2]
    for _step in range(80):
        new = list(now)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(new))
            what = rng.choice(["add", "add", "replace", "remove"] if len(new) > 4 else ["add"])
            new[at : at + (what != "add")] = [] if what == "remove" else [f"line {next(names)}"]
        text = "\n".join(new) + "\n"
        if rng.random() < 0.2:
            person_writes(hub, text)
            watched, now = in_their_place(now, new, watched), new
            continue
        there = watched or [line for line in chosen if line in now]
        shifts = {new.index(line) - now.index(line) if line in new else None for line in there}
        may = not there or (len(shifts) == 1 and None not in shifts)
        assert (writes(hub, text)[0] == "ok") == may, (now, new, there)
        now = new if may else now
    assert_audit_is_right(hub.store)


def test_texts_that_take_much_work_to_compare_protect_more_and_hold_nobody_up(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text(turn: int) -> str:
        before, after = ([f"{side} {number * number + turn}" for number in range(300)] for side in ("a", "b"))
        return "\n".join([*before, "refund in 5 days", *after]) + "\n"

    person_writes(hub, text(0))
    protect(hub, 301, 301)
    with monkeypatch.context() as patched:
        patched.setattr(protected_lines, "LINES_SEARCHED", 10)
        assert writes(hub, text(1))[0] == "err", "with too little work left, a line counts as changed"
    for turn in (1, 2):
        assert writes(hub, text(turn))[0] == "ok"
    monkeypatch.setattr(protected_lines, "MOST_CHARACTERS", 1_000)
    assert writes(hub, text(3))[0] == "ok", "of long texts, the first and the last one are compared"
    assert writes(hub, text(4).replace("5 days", "6 days"))[0] == "err"


def test_texts_of_many_memories_are_not_kept_together(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {}
    for number in range(6):
        path = f"/many/{number}.md"
        writes(hub, TEXT, path)
        named[path] = Lines(str(memory(hub, path).head_id), 2, 3)
        for line in range(4):
            writes(hub, f"line {line}\n{TEXT}", path)
        writes(hub, TEXT.replace("5 days", "6 days"), path)
    monkeypatch.setattr(protected_lines, "MOST_CHARACTERS", 4 * len(TEXT))
    protected, newest, of_page = ProtectedLines(hub.store.pk), ProtectedLines(hub.store.pk), []
    for path, lines in named.items():
        whose, changing = protected.past_of(lines)
        assert (whose, changing) == (memory(hub, path).pk, {memory(hub, path).head_id})
        assert newest.in_newest(whose, lines)[1] == [2, 3]
        of_page += [sum(map(len, one._contents.values())) for one in (protected, newest)]
    assert max(of_page) <= 2 * protected_lines.MOST_CHARACTERS
