"""Scans of the history: what they find, what they leave alone, and that they go on wherever they were stopped."""

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.findings import findings, scans
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.background import tasks
from memoryhub.models import (
    AuditEntry,
    Door,
    Finding,
    FindingState,
    Memory,
    MemoryStore,
    MemoryVersion,
    Scan,
    ScanState,
)
from tests.support.fixtures import AT, BY
from tests.support.write_guard import arranging

pytestmark = pytest.mark.django_db

ACT = Act(Actor.system("Anna"), Door.WEB, AT)
CARD, OTHER = "4111 1111 1111 1111", "5500 0055 5555 5559"
KINDS = ("card",)


def off(store: MemoryStore) -> None:
    """Nothing of it is looked for when it is written."""
    rules = dict.fromkeys(("card", "email", "provider_key"), "off")
    with arranging():
        MemoryStore.objects.filter(pk=store.id).update(rules=rules)


@pytest.fixture(autouse=True)
def _off(store: MemoryStore) -> None:
    off(store)


def write(store: MemoryStore, path: str, *texts: str) -> Memory:
    """A memory whose versions had these texts."""
    memory = Memory.objects.get(pk=curation.create(store.id, path, texts[0], ACT).memory)
    for text in texts[1:]:
        memory.refresh_from_db()
        curation.edit(store.id, memory.pk, text, memory.sha256, ACT)
    memory.refresh_from_db()
    return memory


def run(scan: Scan) -> Scan:
    """To its end, as the background work does it."""
    while scans.step(scan.pk, AT):
        pass
    scan.refresh_from_db()
    return scan


def found(store: MemoryStore) -> list[tuple[str, int, int, str, bool]]:
    """(path of the memory, number of the version, line, the text there, whether of the path)."""
    rows = []
    for finding in Finding.objects.filter(store=store).order_by("memory_id", "version_id", "start"):
        version = MemoryVersion.objects.select_related("text").get(pk=finding.version_id)
        memory = Memory.objects.get(pk=finding.memory_id)
        where = (version.path if finding.in_path else version.content) or ""
        rows.append((memory.path, version.number, finding.line, where[finding.start : finding.end], finding.in_path))
    return sorted(rows)


@pytest.mark.parametrize("size", [1, 2, 200])
def test_every_value_is_found_once_at_the_first_version_that_has_it(
    store: MemoryStore, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "STEP_VERSIONS", size)
    write(store, "/a.md", "no\n", f"one\n{CARD}\n", f"one\n{CARD}\n{CARD}\n{OTHER}\n", "clean\n")
    gone = write(store, "/gone.md", CARD)
    curation.delete(store.id, gone.path, ACT)
    moved = write(store, f"/cards/{OTHER}.md", "nothing")
    curation.rename(store.id, moved.path, "/clean.md", ACT)
    scan = run(scans.start(store.id, KINDS, ACT))
    assert found(store) == [
        ("/a.md", 2, 2, CARD, False), ("/a.md", 3, 4, OTHER, False), ("/clean.md", 1, 1, OTHER, True),
        ("/gone.md", 1, 1, CARD, False),
    ]  # fmt: skip
    assert (scan.state, scan.checked, scan.total, scan.found) == (ScanState.DONE, 8, 8, 4)
    assert {finding.state for finding in Finding.objects.all()} == {FindingState.OPEN}
    assert CARD not in str(list(Finding.objects.values()))


def test_the_findings_are_the_same_as_those_of_new_text(store: MemoryStore) -> None:
    """Of one value the fingerprint is one, whether it was found when it was written or later."""
    write(store, "/a.md", CARD)
    run(scans.start(store.id, KINDS, ACT))
    assert Finding.objects.get().fingerprint == findings.fingerprint("card", CARD)


def test_what_is_known_stays_as_it_is(store: MemoryStore) -> None:
    write(store, "/a.md", f"{CARD} {OTHER}")
    run(scans.start(store.id, KINDS, ACT))
    first = Finding.objects.order_by("start")[0]
    findings.decide(store.id, [first.pk], FindingState.DISMISSED, "a test number", ACT)
    before = list(Finding.objects.order_by("pk").values())
    scan = run(scans.start(store.id, KINDS, ACT))
    assert scan.found == 0 and list(Finding.objects.order_by("pk").values()) == before


def test_only_what_was_chosen_is_looked_for_else_what_the_rules_say(store: MemoryStore) -> None:
    write(store, "/a.md", f"{CARD} ada@example.com AKIAIOSFODNN7EXAMPLE")
    assert run(scans.start(store.id, ["email"], ACT)).kinds == ["email"]
    assert {finding.kind for finding in Finding.objects.all()} == {"email"}
    kinds = scans.start(store.id, [], ACT).kinds
    assert "card" not in kinds and "email" not in kinds and "jwt" in kinds


def test_start_and_end_are_audited_and_the_audit_verifies(store: MemoryStore) -> None:
    write(store, "/a.md", CARD)
    scan = run(scans.start(store.id, KINDS, ACT))
    entries = list(AuditEntry.objects.of_chain(store.id).newest()[:3])
    assert [entry.command for entry in entries] == ["end_scan", "note_findings", "start_scan"]
    assert entries[0].input == f'{{"scan":"{scan.pk}","kinds":["card"],"checked":1,"found":1}}'
    assert verify.verify(store.id, None)[1] is None  # type: ignore[arg-type]


def test_one_at_a_time_and_cancelled_it_keeps_what_it_found(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "STEP_VERSIONS", 1)
    for number in range(3):
        write(store, f"/{number}.md", CARD)
    scan = scans.start(store.id, KINDS, ACT)
    with pytest.raises(scans.ScanRuns) as running:
        scans.start(store.id, KINDS, ACT)
    assert running.value.scan.pk == scan.pk
    assert scans.step(scan.pk, AT)
    assert scans.cancel(scan.pk, ACT) and not scans.cancel(scan.pk, ACT)
    assert not scans.step(scan.pk, AT)
    scan.refresh_from_db()
    assert (scan.state, scan.checked, scan.found, scan.ended_at) == (ScanState.CANCELLED, 1, 1, AT)
    assert [entry.command for entry in AuditEntry.objects.of_chain(store.id).newest()[:1]] == ["cancel_scan"]
    assert run(scans.start(store.id, KINDS, ACT)).found == 2


def test_a_step_is_bounded_and_the_steps_together_see_everything(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "STEP_BYTES", 100)
    for number in range(4):
        write(store, f"/{number}.md", "x" * 90, "y" * 40, f"{CARD}\n" + "z" * 200)
    scan = scans.start(store.id, KINDS, ACT)
    steps = 0
    while scans.step(scan.pk, AT):
        before, steps = scan.checked, steps + 1
        scan.refresh_from_db()
        assert 0 < scan.checked - before <= 3
    assert steps == 12 and Finding.objects.count() == 4


def test_a_version_that_is_redacted_while_it_is_looked_at_leaves_no_trace(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = write(store, "/a.md", CARD, "clean")
    scan = scans.start(store.id, KINDS, ACT)
    look = scans._findings

    def and_redact(*given: object) -> object:
        rows = list(look(*given))  # type: ignore[arg-type]
        if rows:
            redaction.redact_version(store.id, MemoryVersion.objects.get(memory=memory, number=1).pk, ACT)
        return rows

    monkeypatch.setattr(scans, "_findings", and_redact)
    assert scans.step(scan.pk, AT)
    scan.refresh_from_db()
    assert (scan.checked, Finding.objects.count()) == (0, 0)
    assert run(scan).checked == 2 and not Finding.objects.exists()


def test_two_processes_do_not_count_twice(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    write(store, "/a.md", CARD)
    scan = scans.start(store.id, KINDS, ACT)
    look = scans._findings

    def slowly(*given: object) -> object:
        monkeypatch.setattr(scans, "_findings", look)
        rows = list(look(*given))  # type: ignore[arg-type]
        assert scans.step(scan.pk, AT)
        return rows

    monkeypatch.setattr(scans, "_findings", slowly)
    scans.step(scan.pk, AT)
    scan.refresh_from_db()
    assert (scan.checked, scan.found, Finding.objects.count()) == (1, 1, 1)


def test_a_scan_stays_in_its_store_and_ends_with_it_empty(store: MemoryStore) -> None:
    other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
    off(other)
    write(other, "/a.md", CARD)
    scan = run(scans.start(store.id, KINDS, ACT))
    assert (scan.state, scan.checked, Finding.objects.count()) == (ScanState.DONE, 0, 0)


def test_the_background_work_goes_on_with_open_scans(store: MemoryStore) -> None:
    for number in range(3):
        write(store, f"/{number}.md", CARD)
    scan = scans.start(store.id, KINDS, ACT)
    tasks.runner(lambda: AT).run_due()
    scan.refresh_from_db()
    assert (scan.state, scan.found) == (ScanState.DONE, 3)
