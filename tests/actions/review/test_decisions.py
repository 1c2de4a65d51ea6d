"""Decisions about what agents wrote: what they change, what they refuse, and that the audit tells them."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.plans import Plan
from memoryhub.actions.history import apply_plan, revert
from memoryhub.actions.memories import curation
from memoryhub.actions.review import decisions
from memoryhub.actions.verification import verify
from memoryhub.models import (
    AuditEntry,
    Claim,
    Decision,
    Door,
    Memory,
    MemoryStore,
    MemoryVersion,
    Review,
    ReviewState,
    User,
)
from tests.support.fixtures import AT
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db
LATER = AT + timedelta(hours=5)


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


def by(user: User, note: str | None = None, minutes: int = 0) -> Act:
    return Act(Actor.person(user), Door.WEB, LATER + timedelta(minutes=minutes), note=note)


def states(memory: Memory) -> list[str | None]:
    return list(MemoryVersion.objects.of_memory(memory).order_by("number").values_list("review_state", flat=True))


def three(caller: Caller) -> tuple[Memory, list[MemoryVersion]]:
    """A memory of three lines with a version for each."""
    memory = caller.create("/a.md", "one\n\n\n\n")
    caller.replace("/a.md", "one\n", "one\ntwo\n")
    caller.call("insert", path="/memories/a.md", insert_line=5, insert_text="three\n")
    return Memory.objects.get(pk=memory.pk), list(MemoryVersion.objects.of_memory(memory).order_by("number"))


def is_right(store: MemoryStore) -> bool:
    _, problem = verify.verify(store.id)
    assert problem is None, str(problem)
    return True


@pytest.mark.both_databases
def test_approving_a_version_approves_the_earlier_ones(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    done = decisions.approve(caller.store.id, versions[1].pk, by(alice, "Looks right"), earlier=1)
    assert states(memory) == ["approved", "approved", "unreviewed"]
    entry = caller.last
    assert (entry.seq, entry.command, entry.note, entry.version) == (done.seq, "approve", "Looks right", versions[1].pk)
    assert set(done.versions) == {versions[0].pk, versions[1].pk}
    rows = Review.objects.of_entry(caller.store.id, done.seq)
    assert {(row.version_id, row.decision, row.by, row.note) for row in rows} == {
        (version.pk, Decision.APPROVED, alice, "Looks right") for version in versions[:2]
    }
    assert is_right(caller.store)


def test_approving_more_than_was_said_is_refused(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    with pytest.raises(decisions.Changed) as changed:
        decisions.approve(caller.store.id, versions[2].pk, by(alice), earlier=1)
    assert changed.value.count == 2
    assert states(memory) == ["unreviewed"] * 3


def test_approving_versions_in_order_never_meets_ones_own_approval(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    for version, shown in zip(versions, (0, 1, 2), strict=True):
        decisions.approve(caller.store.id, version.pk, by(alice), earlier=shown)
    assert states(memory) == ["approved"] * 3
    assert is_right(caller.store)


@pytest.mark.both_databases
def test_what_one_took_back_oneself_is_known_too(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    done = decisions.approve(caller.store.id, versions[0].pk, by(alice), earlier=0)
    revert.take_back(caller.store.id, done.seq, by(alice))
    decisions.approve(caller.store.id, versions[1].pk, by(alice), earlier=0)
    assert states(memory) == ["approved", "approved", "unreviewed"]


def test_what_somebody_else_decided_between_ones_own_acts_is_still_met(caller: Caller, alice: User, bob: User) -> None:
    _, versions = three(caller)
    decisions.approve(caller.store.id, versions[0].pk, by(alice), earlier=0)
    revert.revert(caller.store.id, versions[1].pk, by(bob))
    with pytest.raises(decisions.Changed):
        decisions.approve(caller.store.id, versions[2].pk, by(alice), earlier=2)


def test_a_decision_after_somebody_elses_is_refused_and_says_whose(caller: Caller, alice: User, bob: User) -> None:
    _, versions = three(caller)
    decisions.approve(caller.store.id, versions[0].pk, by(bob, "fine"), earlier=0)
    for decide in (
        lambda: decisions.approve(caller.store.id, versions[0].pk, by(alice), earlier=0),
        lambda: revert.revert(caller.store.id, versions[0].pk, by(alice)),
    ):
        with pytest.raises(decisions.Decided) as decided:
            decide()
        found = decided.value.review
        assert found is not None
        assert (found.by, found.decision, found.note) == (bob, "approved", "fine")
    with pytest.raises(decisions.Decided):
        decisions.approve(caller.store.id, "memver_nowhere", by(alice), earlier=0)


def test_reverting_takes_one_version_out_and_leaves_the_others(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    done = revert.revert(caller.store.id, versions[1].pk, by(alice, "wrong"))
    memory.refresh_from_db()
    assert memory.head.content == "one\n\n\n\nthree\n"
    assert states(memory) == ["unreviewed", "reverted", "unreviewed", None]
    assert (caller.last.seq, caller.last.command, caller.last.note) == (done.seq, "revert", "wrong")
    assert is_right(caller.store)


@pytest.mark.both_databases
def test_a_revert_makes_the_plan_once_while_the_store_is_locked(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, plan_of = [], apply_plan.undo_plan

    def counted(*arguments: Any) -> Plan:
        made.append(arguments)
        return plan_of(*arguments)

    monkeypatch.setattr(apply_plan, "undo_plan", counted)
    _memory, versions = three(caller)
    revert.revert(caller.store.id, versions[2].pk, by(alice))
    revert.revert_many(caller.store.id, [versions[1].pk], by(alice))
    assert len(made) == 2


def test_reverting_what_later_changes_met_needs_a_choice(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", "red\n")
    version = caller.replace("/a.md", "red", "green")
    caller.replace("/a.md", "green", "blue")
    with pytest.raises(revert.NeedsChoice):
        revert.revert(caller.store.id, version.pk, by(alice))
    assert states(memory) == ["unreviewed"] * 3
    done, left = revert.revert_many(caller.store.id, [version.pk], by(alice))
    assert (done, left) == (None, revert.Skipped(overlapping=1))


def test_reverting_many_leaves_those_that_need_a_choice(caller: Caller, alice: User) -> None:
    caller.create("/a.md", "red\n")
    met = caller.replace("/a.md", "red", "green")
    caller.replace("/a.md", "green", "blue")
    other = caller.create("/b.md", "b\n")
    done, left = revert.revert_many(caller.store.id, [met.pk, other.head_id], by(alice))
    assert done is not None
    assert (done.versions, left) == ((other.head_id,), revert.Skipped(overlapping=1))
    assert not Memory.objects.get(pk=other.pk).is_live
    assert is_right(caller.store)


@pytest.mark.both_databases
def test_a_revert_that_is_taken_back_awaits_review_again(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    done = revert.revert(caller.store.id, versions[1].pk, by(alice))
    assert revert.take_back(caller.store.id, done.seq, by(alice, minutes=1)) is not None
    memory.refresh_from_db()
    assert memory.head.content == "one\ntwo\n\n\n\nthree\n"
    assert states(memory) == ["unreviewed", "unreviewed", "unreviewed", None, None]
    commands = AuditEntry.objects.of_chain(caller.store.id).newest().values_list("command", "group")[:2]
    assert [command for command, _ in commands] == ["reopen", "undo"]
    assert commands[0][1] == commands[1][1] is not None
    assert is_right(caller.store)


def test_an_approval_is_taken_back_once_and_only_where_it_still_stands(caller: Caller, alice: User, bob: User) -> None:
    memory, versions = three(caller)
    done = decisions.approve(caller.store.id, versions[2].pk, by(alice), earlier=2)
    assert revert.take_back(caller.store.id, done.seq, by(alice)) is not None
    assert states(memory) == ["unreviewed"] * 3
    decisions.approve(caller.store.id, versions[0].pk, by(bob), earlier=0)
    assert revert.take_back(caller.store.id, done.seq, by(alice)) is None
    assert states(memory) == ["approved", "unreviewed", "unreviewed"]
    assert revert.take_back(caller.store.id, 1, by(alice)) is None  # the store's creation is no decision
    assert is_right(caller.store)


@pytest.mark.both_databases
def test_an_edit_from_the_review_approves_what_was_opened(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    curation.edit(caller.store.id, memory.pk, "better\n", memory.sha256, by(alice, "clearer"), reviewed=versions[1].pk)
    assert states(memory) == ["edited", "edited", "unreviewed", None]
    assert caller.last.command == "edit"
    assert Review.objects.of_entry(caller.store.id, caller.last.seq).filter(decision="edited").count() == 2
    memory.refresh_from_db()
    curation.edit(caller.store.id, memory.pk, "better\n", memory.sha256, by(alice), reviewed=versions[2].pk)
    assert states(memory) == ["edited", "edited", "approved", None]
    assert is_right(caller.store)


def test_an_edit_that_names_a_version_of_another_memory_reviews_nothing(caller: Caller, alice: User) -> None:
    memory, other = caller.create("/a.md", "a\n"), caller.create("/b.md", "b\n")
    curation.edit(caller.store.id, memory.pk, "c\n", memory.sha256, by(alice), reviewed=other.head_id)
    assert states(memory) == ["unreviewed", None]
    assert states(other) == ["unreviewed"]


def test_a_flag_stays_through_renames_and_deletion_until_it_is_taken_away(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", "a\n")
    decisions.flag(caller.store.id, [memory.head_id], by(alice, "Ask the shop"))
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/b.md")
    caller.delete("/b.md")
    memory.refresh_from_db()
    assert memory.flagged
    assert states(memory) == ["unreviewed"] * 3
    assert is_right(caller.store)
    decisions.flag(caller.store.id, [memory.head_id], by(alice), flagged=False)
    memory.refresh_from_db()
    assert not memory.flagged
    assert decisions.flag(caller.store.id, [memory.head_id], by(alice), flagged=False) is None
    assert is_right(caller.store)


def test_several_versions_of_one_memory_make_one_flag(caller: Caller, alice: User) -> None:
    _memory, versions = three(caller)
    done = decisions.flag(caller.store.id, [version.pk for version in versions], by(alice, "odd"))
    assert done is not None
    assert done.versions == (versions[2].pk,)


def test_approving_many_takes_the_earlier_ones_and_leaves_what_is_decided(caller: Caller, alice: User) -> None:
    memory, versions = three(caller)
    other = caller.create("/b.md", "b\n")
    decisions.approve(caller.store.id, other.head_id, by(alice), earlier=0)
    done = decisions.approve_many(caller.store.id, [versions[2].pk, other.head_id], by(alice))
    assert done is not None
    assert len(done.versions) == 3
    assert states(memory) == ["approved"] * 3
    assert decisions.approve_many(caller.store.id, [other.head_id], by(alice)) is None
    assert is_right(caller.store)


@pytest.mark.both_databases
def test_approving_many_asks_together_and_takes_only_what_is_earlier_in_each_memory(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "LOOK_BACK", 2)
    asked, decided = [], []
    for count in (2, 12):
        chosen = []
        for number in range(count):
            path = f"/of-{count}/{number}.md"
            memory = caller.create(path, "0\n")
            for text in range(4):
                caller.replace(path, f"{text}\n", f"{text + 1}\n")
            versions = list(MemoryVersion.objects.of_memory(memory).order_by("number"))
            chosen.append(versions[1 + 2 * (number % 2)].pk)
        with CaptureQueriesContext(connection) as captured:
            done = decisions.approve_many(caller.store.id, chosen, by(alice))
        asked.append(len(captured))
        decided.append(done and len(done.versions))
        approved = [states(memory) for memory in Memory.objects.filter(path__startswith=f"/of-{count}/")]
        assert sorted(map(str, approved)) == sorted(
            str([*["unreviewed"] * first, *["approved"] * (last - first), *["unreviewed"] * (5 - last)])
            for first, last in [(0, 2), (1, 4)] * (count // 2)
        )
    assert asked[0] == asked[1] and decided == [5, 30]
    assert is_right(caller.store)


@pytest.mark.both_databases
def test_a_claim_from_when_the_clock_was_ahead_keeps_nobody_away_once_it_is_right(
    caller: Caller, alice: User, bob: User
) -> None:
    memory = caller.create("/a.md", "a\n")
    decisions.claim(caller.store.id, memory.pk, bob, LATER + timedelta(days=400))  # the clock is ahead, and put right
    assert not Claim.objects.open(LATER + timedelta(minutes=20)).exists()
    assert decisions.claim(caller.store.id, memory.pk, alice, LATER + timedelta(minutes=20)).by == alice


@pytest.mark.both_databases
def test_a_claim_is_one_persons_until_it_expires(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "a\n")
    claim = decisions.claim(caller.store.id, memory.pk, alice, LATER)
    assert (claim.by, claim.expires_at) == (alice, LATER + timedelta(minutes=5))
    assert decisions.claim(caller.store.id, memory.pk, bob, LATER + timedelta(minutes=4)).by == alice
    renewed = decisions.claim(caller.store.id, memory.pk, alice, LATER + timedelta(minutes=4))
    assert renewed.expires_at == LATER + timedelta(minutes=9)
    assert decisions.claim(caller.store.id, memory.pk, bob, LATER + timedelta(minutes=9)).by == bob
    decisions.release(caller.store.id, [memory.pk], alice)
    assert Claim.objects.get().by == bob
    decisions.release(caller.store.id, [memory.pk], bob)
    assert not Claim.objects.exists()


@pytest.mark.both_databases
def test_a_claim_that_was_released_meanwhile_is_ones_own(
    caller: Caller, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = caller.create("/a.md", "one\n")
    decisions.claim(caller.store.id, memory.pk, bob, AT)
    made = Claim.objects.bulk_create

    def released(claims: list[Claim], **options: Any) -> None:
        made(claims, **options)
        Claim.objects.all().delete()

    monkeypatch.setattr(Claim.objects, "bulk_create", released)
    assert decisions.claim(caller.store.id, memory.pk, alice, AT + 2 * decisions.CLAIM).by == alice


def test_no_claim_is_told_by_the_audit(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", "a\n")
    before = caller.last.seq
    decisions.claim(caller.store.id, memory.pk, alice, LATER)
    assert caller.last.seq == before


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("tamper", "what"),
    [
        (lambda v: MemoryVersion.objects.filter(pk=v.pk).update(review_state="approved"), "review state of"),
        (lambda v: MemoryVersion.objects.filter(pk=v.pk).update(review_state=None), "review state of"),
        (lambda v: Memory.objects.filter(pk=v.memory_id).update(flagged=True), "the flag of memory"),
        (lambda v: Review.objects.filter(decision="approved").delete(), "is missing"),
        (lambda v: Review.objects.filter(decision="approved").update(note="I never said that"), "as its entry tells"),
        (lambda v: Review.objects.filter(decision="approved").update(version=v), "not told by an entry"),
    ],
)
def test_what_was_decided_cannot_be_changed_unnoticed(caller: Caller, alice: User, tamper: Any, what: str) -> None:
    _, versions = three(caller)
    decisions.approve(caller.store.id, versions[0].pk, by(alice, "good"), earlier=0)
    assert is_right(caller.store)
    with tampering():
        tamper(versions[2])
    _, problem = verify.verify(caller.store.id)
    assert problem is not None
    assert what in problem.what


def test_what_people_write_needs_no_review(store: MemoryStore, alice: User) -> None:
    done = curation.create(store.id, "/a.md", "a\n", by(alice))
    version = MemoryVersion.objects.get(pk=done.version)
    assert version.review_state is None
    with pytest.raises(decisions.Decided):
        decisions.approve(store.id, version.pk, by(alice), earlier=0)
    assert ReviewState.UNREVIEWED not in states(Memory.objects.get(pk=done.memory))


def test_a_memory_that_has_just_been_removed_is_claimed_by_nobody(store: MemoryStore, alice: User) -> None:
    assert decisions.claim(store.pk, "mem_01K9Q8ZX1A2B3C4D5E6F7G8H9J", alice, LATER).by == alice
    connection.check_constraints()
    assert not Claim.objects.exists()
