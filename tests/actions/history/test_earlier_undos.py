"""An undo leaves earlier undos in force: what they took out stays out; a line that they brought back has its writer."""

from random import Random

import pytest

from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Choice
from memoryhub.actions.verification import verify
from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure.protocol import paths
from tests.actions.history.histories import PERSON, History, tree_now
from tests.support.long import tried

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def write(history: History, session: int, command: str, **input: object) -> None:
    history.call({"command": command, "path": "/memories/a", **input}, history.sessions[session])


def undo(history: History, versions: list[str]) -> None:
    """Undo versions and keep what came later."""
    plan = apply_plan.undo_plan(history.store.id, versions)
    choices = {one.memory: Choice.APPLY if Choice.APPLY in one.choices else Choice.KEEP for one in plan.changes}
    apply_plan.undo(history.store.id, versions, choices, plan.digest, history.act(PERSON))
    history.trees[history.seq + 1] = {}
    history.model.memories = {paths.to_tool(path): text for path, text in tree_now(history.store).items()}


def undo_session(history: History, number: int) -> None:
    undo(history, apply_plan.session_versions(history.store.id, history.sessions[number].id))


def made(history: History) -> list[MemoryVersion]:
    found = MemoryVersion.objects.filter(store=history.store).order_by("number")
    return list(found.select_related("text"))


def test_a_line_that_an_undo_brought_back_goes_with_the_session_that_wrote_it() -> None:
    history = History(Random(1))
    write(history, 0, "create", file_text="one\npoison\nthree\n")
    write(history, 1, "str_replace", old_str="poison\n", new_str="")
    write(history, 2, "insert", insert_line=0, insert_text="top\n")
    undo_session(history, 1)
    assert tree_now(history.store)["/a"] == "top\none\npoison\nthree\n"
    undo_session(history, 0)
    assert tree_now(history.store)["/a"] == "top\n"
    assert verify.verify(history.store.id)[1] is None


def test_a_line_of_an_undone_session_does_not_come_back_with_the_undo_of_the_session_that_had_removed_it() -> None:
    history = History(Random(1))
    write(history, 0, "create", file_text="one\npoison\nthree\n")
    write(history, 1, "str_replace", old_str="poison\n", new_str="")
    write(history, 2, "insert", insert_line=0, insert_text="top\n")
    undo_session(history, 0)
    assert tree_now(history.store)["/a"] == "top\n"
    undo_session(history, 1)
    assert tree_now(history.store)["/a"] == "top\n"
    plan = apply_plan.undo_plan(history.store.id, apply_plan.session_versions(history.store.id, history.sessions[1].id))
    assert plan.is_empty


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(tried(25)))
def test_after_any_undos_a_memory_has_the_lines_of_the_versions_in_force(seed: int) -> None:
    """Every line stands once, so that a model of sets knows what each version added and removed. Undos are undone too,
    but not the undos of undos."""
    random = Random(seed)
    history = History(random)
    write(history, 0, "create", file_text="".join(f"{history.word()}\n" for _ in range(4)))
    undone: dict[str, set[str]] = {}
    for _ in range(14):
        lines = tree_now(history.store).get("/a", "").splitlines(keepends=True)
        before = {version.pk for version in made(history)}
        targets: set[str] = set()
        if len(lines) < 2 or random.random() < 0.3:
            own = [pk for pk in sorted(before) if pk not in undone]
            in_force = [pk for pk in undone if pk not in _not_in_force(undone) and undone.keys().isdisjoint(undone[pk])]
            targets = {random.choice(in_force if in_force and random.random() < 0.4 else own)}
            undo(history, sorted(targets))
        elif random.random() < 0.6:
            place = random.randint(0, len(lines))
            write(history, random.randrange(3), "insert", insert_line=place, insert_text=f"{history.word()}\n")
        else:
            write(history, random.randrange(3), "str_replace", old_str=random.choice(lines), new_str="")
        undone |= {version.pk: targets for version in made(history) if targets and version.pk not in before}
        history.trees[history.seq + 1] = {}
        now = Memory.objects.get(store=history.store)
        assert set((now.text.content if now.is_live else "").splitlines()) == _lines_in_force(history, undone), seed


def _not_in_force(undone: dict[str, set[str]]) -> set[str]:
    out: set[str] = set()
    for undo_of in reversed(undone):
        if undo_of not in out:
            out |= undone[undo_of]
    return out


def _lines_in_force(history: History, undone: dict[str, set[str]]) -> set[str]:
    out, before, lines, removed = _not_in_force(undone), set[str](), set[str](), set[str]()
    for version in made(history):
        now = set((version.content or "").splitlines())
        if version.pk not in out and version.pk not in undone:
            lines |= now - before
            removed |= before - now
        before = now
    return lines - removed
