"""Removing, purging, redacting and erasing at random in random histories: the audit verifies after each of them."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Record, documents
from memoryhub.actions.core.plans import Problem
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.history import restore, undo_plan
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.actions.verification import verify
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    Door,
    Memory,
    MemoryText,
    MemoryVersion,
    Receipt,
    Redaction,
    ReviewState,
)
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.history.histories import PERSON, History, ids_after, tree_now
from tests.api.harness import AT
from tests.support.long import LONG, tried

pytestmark = pytest.mark.django_db

LATER = Act(PERSON, Door.WEB, AT + timedelta(days=40))


def problem(history: History) -> verify.Problem | None:
    return verify.verify(history.store.id)[1]


def some(random: Random, rows: list[object]) -> list[object]:
    return random.sample(rows, random.randint(1, len(rows))) if rows else []


def remove_versions(history: History) -> None:
    random = history.random
    memories = list(Memory.objects.filter(store=history.store).live().order_by("id"))
    if not memories:
        return
    memory = random.choice(memories)
    old = MemoryVersion.objects.of_memory(memory).exclude(pk=memory.head_id)
    old = old.exclude(review_state=ReviewState.UNREVIEWED) if random.random() < 0.3 else old
    ids = some(random, list(old.order_by("pk").values_list("pk", flat=True)))
    with tree.locked(history.store.id, LATER) as store:
        removed = removal.remove_versions(store, memory.pk, [str(id) for id in ids])
        record = Record("prune_versions", path=memory.path, memory=memory.pk, redactions=removed.redactions)
        tree.commit(store, record)
    assert removed.versions == len(ids)


def purge(history: History) -> None:
    gone = list(Memory.objects.filter(store=history.store).in_trash().order_by("id"))
    if not gone:
        return
    memory = history.random.choice(gone)
    with tree.locked(history.store.id, LATER) as store:
        removed = removal.purge(store, memory.pk)
        tree.commit(store, Record("purge", memory=memory.pk, redactions=removed.redactions))
    for model in (MemoryVersion, MemoryText):
        assert not model.objects.filter(memory_id=memory.pk).exists()


def redact(history: History) -> None:
    versions = list(MemoryVersion.objects.filter(store=history.store).order_by("pk"))
    if not versions:
        return
    version = history.random.choice(versions)
    try:
        redaction.redact_version(history.store.id, version.pk, LATER)
    except ToolError:
        assert Memory.objects.get(pk=version.memory_id).head_id == version.pk
        return
    version.refresh_from_db()
    assert (version.text_id, version.path, version.sha256, version.salt) == (None, None, None, None)
    assert (version.redacted_at == LATER.at and version.size is not None) or version.operation == "deleted"


def erase(history: History) -> None:
    word = f"line {history.random.randint(1, max(1, history.words))}"
    terms = history.random.choice([[word], [word, "/d/e"], ["/d/e/名"]])
    found = erasure.search(history.store.id, terms, LATER.at)
    receipt = erasure.erase(history.store.id, terms, found.digest, LATER)
    assert not erasure.search(history.store.id, terms, LATER.at).hits
    assert documents.is_signed(receipt.content, receipt.signature)
    history.model.memories = {f"/memories{path}": text for path, text in tree_now(history.store).items()}


def approve_all(history: History) -> None:
    waiting = MemoryVersion.objects.filter(store=history.store).unreviewed().values_list("pk", flat=True)
    decisions.approve_many(history.store.id, list(waiting), LATER)


def remove_entries(history: History) -> None:
    """Those of versions that await review stay."""
    if history.random.random() < 0.7:
        approve_all(history)
    last = AuditChain.objects.get(pk=history.store.id).last_seq
    up_to = history.random.randint(0, last + 2)
    removal.remove_entries(history.store.id, up_to, LATER)
    start = AuditChain.objects.get(pk=history.store.id).start_seq
    assert not AuditEntry.objects.of_chain(history.store.id).filter(seq__lte=start).exists()


def decide(history: History) -> None:
    """Approves, flags or takes a flag away: what is removed later was reviewed."""
    versions = list(MemoryVersion.objects.filter(store=history.store).order_by("pk").values_list("pk", flat=True))
    if not versions:
        return
    ids = [str(id) for id in some(history.random, list(versions))]
    if history.random.random() < 0.5:
        decisions.approve_many(history.store.id, ids, LATER)
    else:
        decisions.flag(history.store.id, ids, LATER, flagged=history.random.random() < 0.7)


ACTS: tuple[Callable[[History], None], ...] = (
    decide, remove_versions, decide, remove_versions, purge, redact, erase, remove_entries,
)  # fmt: skip


def go_on(history: History) -> None:
    """More steps of the history, whose model counts entries: those of the removals too."""
    history.trees[AuditChain.objects.get(pk=history.store.id).last_seq] = {}
    history.run(5)


@pytest.mark.parametrize("seed", range(tried(30)))
def test_the_audit_verifies_after_any_removal(seed: int) -> None:
    history = History(Random(seed)).run(20)
    before = tree_now(history.store)
    each = history.random.sample(sorted(set(ACTS), key=ACTS.index), len(set(ACTS)))
    for act in history.random.choices(ACTS, k=10) if LONG else each:
        act(history)
        assert problem(history) is None, act.__name__
        if act is not erase:
            assert tree_now(history.store) == before
        if history.random.random() < 0.4:
            go_on(history)
            assert problem(history) is None
        before = tree_now(history.store)


@pytest.mark.parametrize("seed", range(40, 40 + tried(10)))
def test_restoring_and_undoing_never_take_a_removed_version_for_one_that_was_never_there(seed: int) -> None:
    history = History(Random(seed)).run(25)
    then = {seq: ids_after(history.store, seq) for seq in history.trees}
    for _ in range(6):
        history.random.choice((remove_versions, remove_versions, remove_entries, redact))(history)
    last = AuditChain.objects.get(pk=history.store.id).last_seq
    for seq, there in then.items():
        for change in restore.restore_plan(history.store.id, seq).changes:
            if change.problem == Problem.REDACTED:
                assert change.choices == ("keep",)
            elif not change.problem:
                assert change.then.path == there.get(change.memory)
    for seq in range(1, last):
        undo_plan.undo_plan(history.store.id, undo_plan.entry_versions(history.store.id, seq))


def test_entries_go_at_most_a_thousand_at_once_and_never_those_that_a_call_may_repeat() -> None:
    history = History(Random(7)).run(12)
    assert removal.remove_entries(history.store.id, 8, LATER) < 8
    approve_all(history)
    soon = LATER._replace(at=AT + timedelta(days=3))
    assert removal.remove_entries(history.store.id, 8, soon) == 0
    start = AuditChain.objects.get(pk=history.store.id).start_seq
    assert removal.remove_entries(history.store.id, 8, LATER) == 8 - start
    assert removal.remove_entries(history.store.id, 8, LATER) == 0
    entry = AuditEntry.objects.of_chain(history.store.id).newest()[0]
    assert (entry.command, entry.input) == ("remove_entries", f'{{"up_to":8,"entries":{8 - start}}}')
    assert problem(history) is None


def test_a_start_that_nobody_signed_is_an_alarm() -> None:
    history = History(Random(8)).run(12)
    chain = AuditChain.objects.filter(pk=history.store.id)
    entries = AuditEntry.objects.of_chain(history.store.id)
    approve_all(history)
    removal.remove_entries(history.store.id, 5, LATER)
    signed = chain.get()
    with writing():
        entries.filter(seq=6).delete()
        chain.update(start_seq=6, start_hash=signed.start_hash)
    assert "not signed" in str(problem(history))


def test_a_receipt_says_how_much_and_nothing_of_what() -> None:
    history = History(Random(9)).run(20)
    word = next(iter(tree_now(history.store).values())).split("\n")[0]
    found = erasure.search(history.store.id, [word], LATER.at)
    receipt = erasure.erase(history.store.id, [word], found.digest, LATER)
    assert word not in str(receipt.content) and receipt.content["places"] == found.counts
    assert not documents.is_signed(receipt.content | {"texts": 2}, receipt.signature)
    assert Receipt.objects.get().content == receipt.content
    assert Redaction.objects.of_chain(history.store.id).filter(seq=receipt.content["entry"]).exists()


def test_nothing_is_erased_when_something_was_written_meanwhile() -> None:
    history = History(Random(10)).run(20)
    word = next(iter(tree_now(history.store).values())).split("\n")[0]
    found = erasure.search(history.store.id, [word], LATER.at)
    history.call({"command": "create", "path": "/memories/new", "file_text": word}, None)
    with pytest.raises(erasure.FoundChanged) as changed:
        erasure.erase(history.store.id, [word], found.digest, LATER)
    assert len(changed.value.found.hits) > len(found.hits)
    assert erasure.search(history.store.id, [word], LATER.at) == changed.value.found
