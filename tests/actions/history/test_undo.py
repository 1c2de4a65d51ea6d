"""Taking a session, an entry or a version out again: what others changed since stays, or is chosen."""

from random import Random

import pytest
from django.db import connection

from memoryhub.actions.core.audit import Actor
from memoryhub.actions.history import apply_plan, replay, undo_plan
from memoryhub.actions.history.apply_plan import Change, Choice, Plan
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Memory, MemoryVersion, Operation
from memoryhub.models.memories import ReviewState
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.merging import merge
from tests.actions.history.histories import PERSON, History, ids_after, tree_now
from tests.support.long import tried

pytestmark = pytest.mark.django_db


@pytest.fixture
def history() -> History:
    """Nine lines at /a; sessions `one` and `two` are at hand."""
    history = History(Random(1))
    text = "".join(f"{n}\n" for n in range(1, 10))
    history.call({"command": "create", "path": "/memories/a", "file_text": text}, None)
    return history


def edit(history: History, session: int | None, old: str, new: str, path: str = "/a") -> None:
    chosen = None if session is None else history.sessions[session]
    history.call({"command": "str_replace", "path": f"/memories{path}", "old_str": old, "new_str": new}, chosen)


def plan_of(history: History, session: int) -> tuple[list[str], Plan]:
    versions = apply_plan.session_versions(history.store.id, history.sessions[session].id)
    return versions, apply_plan.undo_plan(history.store.id, versions)


def undo(history: History, session: int, choice: Choice | None = None) -> Plan:
    """Undoes a session, with one choice for every memory that needs one."""
    versions, plan = plan_of(history, session)
    chosen = {change.memory: choice for change in plan.changes if change.problem and choice}
    apply_plan.undo(history.store.id, versions, chosen, plan.digest, history.act(PERSON))
    return plan


def only(plan: Plan) -> Change:
    assert len(plan.changes) == 1
    return plan.changes[0]


def lines(history: History, path: str = "/a") -> list[str]:
    return tree_now(history.store)[path].splitlines()


def test_a_session_alone_goes_without_a_trace_in_the_text(history: History) -> None:
    before = tree_now(history.store)
    edit(history, 0, "3\n", "poison\n")
    edit(history, 0, "7\n", "")
    history.call({"command": "create", "path": "/memories/new", "file_text": "x"}, history.sessions[0])
    history.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b/a"}, history.sessions[0])
    assert [change.kind for change in undo(history, 0).changes] == ["moved_modified", "deleted"]
    assert tree_now(history.store) == before
    assert verify.verify(history.store.id)[1] is None


def test_what_others_changed_on_other_lines_stays(history: History) -> None:
    edit(history, 0, "2\n", "poison\n")
    edit(history, 1, "8\n", "eight\n")
    edit(history, 0, "5\n", "poison too\n")
    edit(history, None, "9\n", "nine\nten\n")
    change = only(undo(history, 0))
    assert (change.problem, len(change.later)) == ("", 2)
    assert lines(history) == ["1", "2", "3", "4", "5", "6", "7", "eight", "nine", "ten"]


@pytest.mark.parametrize(("choice", "line"), [(Choice.KEEP, "mended"), (Choice.APPLY, "mended"), (Choice.BEFORE, "2")])
def test_lines_that_were_changed_later_are_a_conflict_and_chosen(history: History, choice: Choice, line: str) -> None:
    edit(history, 0, "2\n", "poison\n")
    edit(history, 0, "6\n", "poison too\n")
    edit(history, 1, "poison\n", "mended\n")
    versions, plan = plan_of(history, 0)
    change = only(plan)
    assert (change.problem, change.choices) == ("conflict", (Choice.KEEP, Choice.APPLY, Choice.BEFORE))
    with pytest.raises(ToolError):
        apply_plan.undo(history.store.id, versions, {}, plan.digest, history.act(PERSON))
    apply_plan.undo(history.store.id, versions, {change.memory: choice}, plan.digest, history.act(PERSON))
    assert lines(history)[1] == line
    taken, dropped = choice != Choice.KEEP, choice == Choice.BEFORE
    assert (lines(history)[5] == "6", states(history)[3] == "reverted") == (taken, dropped)


def test_of_a_memory_that_a_session_made_the_lines_of_others_stay(history: History) -> None:
    history.call({"command": "create", "path": "/memories/n", "file_text": "a\nb\n"}, history.sessions[0])
    edit(history, 1, "b\n", "x\nb\ny\n", "/n")
    edit(history, 0, "y\n", "y\nc\n", "/n")
    change = only(plan_of(history, 0)[1])
    assert (change.kind, change.problem) == ("modified", "conflict")
    assert (change.choices, change.later_lines) == ((Choice.KEEP, Choice.APPLY, Choice.BEFORE), 2)
    undo(history, 0, Choice.APPLY)
    assert lines(history, "/n") == ["x", "y"]
    assert verify.verify(history.store.id)[1] is None


def test_a_memory_that_a_session_made_goes_with_the_later_lines_only_where_that_is_chosen(history: History) -> None:
    history.call({"command": "create", "path": "/memories/n", "file_text": "a\nb"}, history.sessions[0])
    added = {"command": "insert", "path": "/memories/n", "insert_line": 2, "insert_text": "theirs"}
    history.call(added, history.sessions[1])
    assert only(plan_of(history, 0)[1]).later_lines == 1
    undo(history, 0, Choice.BEFORE)
    assert "/n" not in tree_now(history.store)


def test_a_memory_that_a_session_made_and_others_only_cut_goes_to_the_trash(history: History) -> None:
    history.call({"command": "create", "path": "/memories/n", "file_text": "a\nb\n"}, history.sessions[0])
    edit(history, 1, "b\n", "", "/n")
    change = only(plan_of(history, 0)[1])
    assert (change.kind, change.choices, change.later_lines) == ("deleted", (Choice.KEEP, Choice.APPLY), 0)
    undo(history, 0, Choice.APPLY)
    assert "/n" not in tree_now(history.store)


def test_lines_written_into_a_memory_that_a_session_brought_back_stay(history: History) -> None:
    history.call({"command": "create", "path": "/memories/n", "file_text": "a\nb\n"}, None)
    memory = Memory.objects.get(store=history.store, path="/n")
    history.call({"command": "delete", "path": "/memories/n"}, None)
    act = history.act(Actor.key("apikey_1", history.agent), history.sessions[0])
    curation.restore(history.store.id, str(MemoryVersion.objects.filter(memory=memory).order_by("number")[0].pk), act)
    history.model.memories["/memories/n"] = "a\nb\n"
    edit(history, 1, "b\n", "b\nc\n", "/n")
    change = only(plan_of(history, 0)[1])
    assert (change.choices, change.later_lines) == ((Choice.KEEP, Choice.APPLY, Choice.BEFORE), 1)
    undo(history, 0, Choice.APPLY)
    assert lines(history, "/n") == ["c"]


def test_of_lines_between_those_of_a_session_only_these_go(history: History) -> None:
    edit(history, 0, "5\n", "5\npoison\nmore\n")
    edit(history, 1, "poison\n", "poison\ntheirs\n")
    undo(history, 0, Choice.APPLY)
    assert lines(history) == ["1", "2", "3", "4", "5", "theirs", "6", "7", "8", "9"]


def test_a_line_that_a_session_removed_comes_back_beside_what_was_written_there(history: History) -> None:
    edit(history, 0, "5\n", "")
    edit(history, 1, "4\n", "4\ntheirs\n")
    undo(history, 0, Choice.APPLY)
    assert sorted(lines(history)) == ["1", "2", "3", "4", "5", "6", "7", "8", "9", "theirs"]


def undo_newest(history: History) -> None:
    """Undoes the newest entry, as its banner offers."""
    seq = AuditEntry.objects.of_chain(history.store.id).newest()[0].seq
    versions = apply_plan.entry_versions(history.store.id, seq)
    plan = apply_plan.undo_plan(history.store.id, versions)
    apply_plan.undo(history.store.id, versions, {}, plan.digest, history.act(PERSON), told={"entry": seq})


def states(history: History) -> list[str | None]:
    versions = MemoryVersion.objects.filter(store=history.store).order_by("seq")
    return list(versions.values_list("review_state", flat=True))


def test_a_session_is_undone_again_after_an_undo_of_its_undo(history: History) -> None:
    edit(history, 0, "1\n", "poison\n")
    edit(history, 1, "9\n", "nine\n")
    for _ in range(3):
        undo(history, 0)
        assert lines(history)[0] == "1" and states(history)[1] == ReviewState.REVERTED
        assert plan_of(history, 0)[1].is_empty
        undo_newest(history)
        assert lines(history)[0] == "poison" and states(history)[1] == ReviewState.UNREVIEWED
        change = only(plan_of(history, 0)[1])
        assert (change.problem, len(change.later)) == ("", 1)
    assert lines(history)[8] == "nine"
    assert verify.verify(history.store.id)[1] is None


def test_undoing_the_undo_of_an_undo_reverts_what_was_reopened(history: History) -> None:
    edit(history, 0, "1\n", "poison\n")
    undo(history, 0)
    undo_newest(history)
    seq = AuditEntry.objects.of_chain(history.store.id).of_command("undo").newest()[0].seq
    versions = apply_plan.entry_versions(history.store.id, seq)
    plan = apply_plan.undo_plan(history.store.id, versions)
    apply_plan.undo(history.store.id, versions, {}, plan.digest, history.act(PERSON), told={"entry": seq})
    assert lines(history)[0] == "1" and states(history)[1] == ReviewState.REVERTED
    assert plan_of(history, 0)[1].is_empty
    assert verify.verify(history.store.id)[1] is None


def test_a_text_that_somebody_brought_back_is_still_its_sessions(history: History) -> None:
    edit(history, 0, "1\n", "poison\n")
    poisoned = MemoryVersion.objects.filter(store=history.store).order_by("-number")[0].pk
    undo(history, 0)
    curation.restore(history.store.id, str(poisoned), history.act(PERSON))
    change = only(plan_of(history, 0)[1])
    assert (change.kind, change.problem) == ("modified", "conflict")
    undo(history, 0, Choice.APPLY)
    assert lines(history)[0] == "1"


def test_a_deletion_that_is_undone_brings_back_the_same_memory(history: History) -> None:
    memory = Memory.objects.get(store=history.store)
    history.call({"command": "delete", "path": "/memories/a"}, history.sessions[0])
    assert only(undo(history, 0)).kind == "created"
    assert Memory.objects.get(store=history.store, deleted_at=None).id == memory.id
    newest = MemoryVersion.objects.of_memory(memory).newest()[0]
    assert newest.operation == Operation.CREATED and newest.number == 3


def test_a_deletion_whose_path_is_taken_offers_another(history: History) -> None:
    history.call({"command": "delete", "path": "/memories/a"}, history.sessions[0])
    history.call({"command": "create", "path": "/memories/a", "file_text": "new"}, None)
    change = only(plan_of(history, 0)[1])
    assert (change.problem, change.then.path, change.choices[0]) == ("taken", "/a-restored", Choice.KEEP)
    undo(history, 0, Choice.APPLY)
    assert tree_now(history.store)["/a"] == "new" and len(tree_now(history.store)["/a-restored"]) == 18


def test_a_later_name_stays(history: History) -> None:
    history.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}, history.sessions[0])
    edit(history, 0, "1\n", "poison\n", "/b")
    history.call({"command": "rename", "old_path": "/memories/b", "new_path": "/memories/c"}, history.sessions[1])
    undo(history, 0)
    assert lines(history, "/c")[0] == "1"


def test_what_somebody_deleted_since_stays_in_the_trash(history: History) -> None:
    edit(history, 0, "1\n", "poison\n")
    history.call({"command": "delete", "path": "/memories/a"}, history.sessions[1])
    assert plan_of(history, 0)[1].is_empty


def test_what_an_undone_session_wrote_needs_no_review_any_more(history: History) -> None:
    edit(history, 0, "1\n", "poison\n")
    edit(history, 1, "9\n", "nine\n")
    undo(history, 0)
    states = list(
        MemoryVersion.objects.filter(store=history.store).order_by("number").values_list("review_state", flat=True)
    )
    assert states == [ReviewState.UNREVIEWED, ReviewState.REVERTED, ReviewState.UNREVIEWED, None]


def test_undoing_twice_finds_nothing_the_second_time(history: History) -> None:
    edit(history, 0, "1\n", "poison\n")
    undo(history, 0)
    versions, plan = plan_of(history, 0)
    assert plan.is_empty
    done = apply_plan.undo(history.store.id, versions, {}, plan.digest, history.act(PERSON))
    assert done.count == 0


@pytest.mark.parametrize("seed", range(tried(150 if connection.vendor == "sqlite" else 50)))
def test_nothing_that_came_later_is_lost_unless_somebody_chose_so(seed: int) -> None:
    """Every text here is of lines that stand once, so that each line tells who wrote it."""
    history = History(Random(seed)).run(40)
    session = history.random.choice(history.sessions)
    versions = apply_plan.session_versions(history.store.id, session.id)
    plan = apply_plan.undo_plan(history.store.id, versions)
    before, chosen = tree_now(history.store), {}
    for change in plan.changes:
        chosen[change.memory] = change.choices[0]
    apply_plan.undo(history.store.id, versions, chosen, plan.digest, history.act(PERSON))
    after = dict(Memory.objects.filter(store=history.store).live().values_list("pk", "text__content"))
    _assert_only_the_session_went(history, plan, set(versions), after)
    kept = {c.now.path: before[str(c.now.path)] for c in plan.changes if chosen[c.memory] == Choice.KEEP and c.now.path}
    assert kept.items() <= tree_now(history.store).items()
    assert ids_after(history.store, history.seq + 1).keys() == after.keys()
    assert verify.verify(history.store.id)[1] is None


def _assert_only_the_session_went(history: History, plan: Plan, undone: set[str], after: dict[str, str]) -> None:
    """Lines that only the session brought are gone, and those that others brought last and left are there."""
    for change in plan.changes:
        if change.problem or change.memory not in after:
            continue
        now = set(after[change.memory].splitlines())
        ours: set[str] = set()
        theirs: set[str] = set()
        before: set[str] = set()
        made = MemoryVersion.objects.filter(store=history.store, memory=change.memory).order_by("number")
        for version in made.exclude(seq=history.seq + 1).select_related("text"):
            if version.operation == Operation.DELETED:
                continue
            text = {line for line in version.text.content.splitlines() if line}  # blank ones stand more than once
            (ours if version.pk in undone else theirs).update(text - before)
            if version.pk not in undone:
                ours -= text - before
                theirs &= text | ours
            before = text
        assert not (ours - theirs) & now, change.path
        assert theirs & before <= now | ours, change.path


@pytest.mark.parametrize("seed", range(1000, 1000 + tried(200 if connection.vendor == "sqlite" else 50)))
def test_what_is_taken_out_are_the_lines_that_a_session_owns_and_no_others(seed: int) -> None:
    """Each memory is compared with a model that only knows which version brought which line."""
    history = History(Random(seed)).run(40)
    session = history.random.choice(history.sessions)
    versions = apply_plan.session_versions(history.store.id, session.id)
    plan = apply_plan.undo_plan(history.store.id, versions)
    chosen = {c.memory: Choice.APPLY for c in plan.changes if Choice.APPLY in c.choices}
    chosen = {c.memory: chosen.get(c.memory, Choice.KEEP) for c in plan.changes}
    owned = {change.memory: _owned(change.memory, set(versions)) for change in plan.changes}
    apply_plan.undo(history.store.id, versions, chosen, plan.digest, history.act(PERSON))
    after = dict(Memory.objects.filter(store=history.store).live().values_list("pk", "text__content"))
    for change in plan.changes:
        ours, theirs, is_lost = owned[change.memory]
        now = set(after.get(change.memory, "").splitlines())
        assert not (change.then.is_there and ours & now), (seed, change.path)
        if change.now.is_there and not is_lost and chosen[change.memory] == Choice.APPLY:
            assert theirs <= now, (seed, change.path)


def _owned(memory: str, undone: set[str]) -> tuple[set[str], set[str], bool]:
    """The lines of a memory's newest text that what is undone brought, and those of others; and whether it is there
    only because what is undone took it out of the trash, and nobody has written into it since."""
    owners: dict[str, bool] = {}
    first: dict[str, dict[str, bool]] = {}
    is_there, is_lost, before = False, False, ""
    for version in MemoryVersion.objects.filter(memory=memory).order_by("number").select_related("text"):
        text, is_ours = version.content, version.pk in undone
        if text is None:
            is_there = False
            continue
        if text != before:
            brought = {line: owners.get(line, is_ours) for line in text.splitlines() if line}
            is_written = bool(set(brought) - set(owners))
            owners = first.setdefault(text, brought)
            is_lost = is_lost and (is_ours or not is_written)
        if not is_there:
            is_lost = is_ours and version.number > 1
        is_there, before = True, text
    ours = {line for line, is_ours in owners.items() if is_ours}
    return ours, set(owners) - ours, is_lost


@pytest.mark.parametrize("seed", range(tried(40)))
def test_undoing_everything_since_a_moment_is_restoring_to_it(seed: int) -> None:
    history = History(Random(500 + seed)).run(25)
    seq = history.random.randint(1, history.seq)
    later = MemoryVersion.objects.filter(store=history.store, seq__gt=seq).values_list("pk", flat=True)
    undo_plan, restore_plan = (
        apply_plan.undo_plan(history.store.id, list(later)),
        apply_plan.restore_plan(history.store.id, seq),
    )
    assert [(c.memory, c.then) for c in undo_plan.changes] == [(c.memory, c.then) for c in restore_plan.changes]
    assert not undo_plan.has_problems


@pytest.mark.parametrize("keeps", [False, True])
def test_an_undo_of_very_many_versions_is_verified(keeps: bool) -> None:
    history = History(Random(3))
    for number in range(apply_plan.MOST_NAMED + 20):
        history.call({"command": "create", "path": f"/memories/{number}", "file_text": "x"}, history.sessions[0])
    versions, plan = plan_of(history, 0)
    kept = plan.changes[10:] if keeps else ()
    chosen = {change.memory: Choice.KEEP for change in kept}
    apply_plan.undo(history.store.id, versions, chosen, plan.digest, history.act(PERSON))
    assert verify.verify(history.store.id)[1] is None
    waiting = MemoryVersion.objects.filter(store=history.store, review_state=ReviewState.UNREVIEWED)
    assert waiting.count() == len(kept)


def test_of_very_many_later_versions_the_last_is_merged_and_a_person_is_asked(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    merges: list[None] = []
    monkeypatch.setattr(replay, "merge", lambda *texts, **how: (merges.append(None), merge(*texts, **how))[1])
    edit(history, 0, "3\n", "poison\n")
    for number in range(replay.MOST_STEPS + 1):
        added = {"command": "insert", "path": "/memories/a", "insert_line": 9, "insert_text": f"line {number}\n"}
        history.call(added, history.sessions[1])
    _, plan = plan_of(history, 0)
    assert len(merges) == 1
    assert (only(plan).problem, only(plan).choices[0]) == ("conflict", Choice.KEEP)
    undo(history, 0, Choice.APPLY)
    assert "poison" not in lines(history)
    assert len(lines(history)) == 9 + replay.MOST_STEPS + 1


def test_where_a_plan_has_no_work_left_for_a_merge_a_person_keeps_the_memory_or_takes_it_back(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted work: the plan that is done is the one that was shown."""
    monkeypatch.setattr(undo_plan, "PLAN_WORK", 0)
    edit(history, 0, "3\n", "poison\n")
    edit(history, 1, "9\n", "nine" * 100 + "\n")
    edit(history, 1, "1\n", "one\n")
    change = only(plan_of(history, 0)[1])
    assert (change.problem, change.choices) == ("unmerged", (Choice.KEEP, Choice.BEFORE))
    assert change.then == change.now and change.later_lines is None
    assert undo(history, 0, Choice.BEFORE).digest
    assert lines(history) == [str(number) for number in range(1, 10)]
    assert verify.verify(history.store.id)[1] is None
