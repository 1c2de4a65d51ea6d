"""All restores and undos: the plan of each, the function that applies it, and the words of its page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from django.http import Http404
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from memoryhub.actions.core.audit import Act
from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Choice, Done, Plan
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing.preview import AFTER_MEMORIES
from memoryhub.models import AuditEntry, Import, ImportItem, Memory, MemoryStore, MemoryVersion, Session, User
from memoryhub.web.common import moment_addresses
from memoryhub.web.common.moment_addresses import Scope
from memoryhub.web.common.versions import memory_of, version_of
from memoryhub.web.common.versions.removed_history import Lost, lost_of
from memoryhub.web.common.versions.undone import Undone, undo_of
from memoryhub.web.history.moments import past
from memoryhub.web.undo.spread import Spread, Ticks, spread_of

Apply = Callable[[Mapping[str, Choice], str, Act, Ticks], Done]
WHOLE = Scope()


@dataclass(frozen=True, slots=True)
class Task:
    """One restore or undo: `plan` makes the preview, and `apply` carries it out with (choices, digest, act, ticks)."""

    verb: Literal["restore", "undo"]
    title: str
    lead: str
    back_url: str
    back: str
    plan: Callable[[Ticks], Plan]
    apply: Apply
    scope: Scope = WHOLE
    seq: int | None = None
    # returns the readers of the undone versions, and what they wrote
    spread: Callable[[User, Ticks], Spread] | None = None
    lost: Callable[[], Lost] = Lost  # returns the versions to undo that retention has removed
    lacks: bool = False  # retention has removed memories of the moment to restore
    version: MemoryVersion | None = None  # set if only this version is undone
    undone: Callable[[], Undone | None] = lambda: None


def to_moment(store: MemoryStore, seq: int, scope: Scope) -> Task:
    """Return the task that restores the `scope` (the store, a directory or a memory) to its state after the entry
    `seq`.

    Raise Http404 if there is no such entry.
    """
    if past.entry_at(store.id, seq) is None:
        raise Http404  # also for a removed entry; the pages of moments explain it
    path, memory = scope.path or None, scope.memory or None

    def apply(choices: Mapping[str, Choice], digest: str, act: Act, ticks: Ticks) -> Done:
        return apply_plan.restore(store.id, seq, choices, digest, act, path=path, memory=memory)

    return Task(
        "restore",
        _title(store, seq, scope),
        _("Each memory that differs from that moment gets a new version. Nothing that was written later is lost."),
        moment_addresses.of_scope(store.id, seq, scope),
        _("As it was after entry %(seq)s") % {"seq": seq},
        lambda ticks: apply_plan.restore_plan(store.id, seq, path=path, memory=memory),
        apply,
        scope,
        seq,
        lacks=not memory and (past.lacks_memories(store.id, seq) or bool(path and past.lacks_paths(store.id, seq))),
    )


def _title(store: MemoryStore, seq: int, scope: Scope) -> str:
    if scope.memory:
        path = Memory.objects.filter(store=store, pk=scope.memory).values_list("path", flat=True).first()
        return _("Restore the memory %(path)s to entry %(seq)s") % {"path": path, "seq": seq}
    if scope.path:
        return _("Restore the directory %(path)s to entry %(seq)s") % {"path": scope.path, "seq": seq}
    return _("Restore the store to entry %(seq)s") % {"seq": seq}


def of_session(store: MemoryStore, session_id: str) -> Task:
    """Return the task that undoes everything that one session wrote in the store."""
    session = Session.objects.filter(pk=session_id).first()
    if session is None or not AuditEntry.objects.of_chain(store.id).of_session(session_id).exists():
        raise Http404
    details: dict[str, object] = {"session": session_id, "session_name": session.name}
    seqs = AuditEntry.objects.of_chain(store.id).of_session(session_id).oldest().values_list("seq", flat=True)
    return _undo(
        store,
        lambda: apply_plan.session_versions(store.id, session_id),
        details,
        _("Undo the session %(name)s") % {"name": session.name},
        _("Removes what this session wrote. Later changes by others stay."),
        _session_url(store.id, session_id),
        _("Session %(name)s") % {"name": session.name},
        lambda: lost_of(store.id, seqs.iterator(2_000), session.first_seen_at),
    )


def of_entry(store: MemoryStore, seq: int) -> Task:
    """Return the task that undoes everything that the entry `seq` changed. Raise Http404 if there is no such entry."""
    if past.entry_at(store.id, seq) is None:
        raise Http404
    return _undo(
        store,
        lambda: apply_plan.entry_versions(store.id, seq),
        {"entry": seq},
        _("Undo entry %(seq)s") % {"seq": seq},
        _("Reverses what this entry changed. Later changes stay."),
        reverse("entry", args=[store.id, seq]),
        _("Entry %(seq)s") % {"seq": seq},
        lambda: lost_of(store.id, [seq]),
    )


def of_import(store: MemoryStore, import_id: str) -> Task:
    """Return the task that undoes everything that one import added or replaced."""
    job = Import.objects.filter(pk=import_id, store=store).first()
    if job is None or job.group is None:
        raise Http404
    stays = " " + _("Its proposals stay, and so do path rules that were taken over.")
    has_more = ImportItem.objects.filter(job=job, found__in=AFTER_MEMORIES, outcome="taken").exists()
    return _undo(
        store,
        lambda: importing.versions_of(import_id),
        {"import": job.pk, "name": job.name},
        _("Undo the import of %(name)s") % {"name": job.name},
        _("Reverses what this import changed. Later changes stay.") + (stays if has_more else ""),
        reverse("import_", args=[store.id, job.pk]),
        _("Import of %(name)s") % {"name": job.name},
        lambda: lost_of(store.id, importing.seqs_of(import_id)),
    )


def of_version(store: MemoryStore, version_id: str) -> Task:
    """Return the task that undoes one version of a memory. Later versions keep their changes."""
    version = version_of(store, version_id)
    memory = memory_of(store, version.memory_id)
    task = _undo(
        store,
        lambda: [version.pk],
        {"version": version.pk},
        _("Undo version %(number)s of %(path)s") % {"number": version.number, "path": memory.path},
        _("Reverses what this version changed. The changes of later versions stay."),
        reverse("version", args=[store.id, version.pk]),
        _("Version %(number)s") % {"number": version.number},
    )
    return replace(task, version=version)


def _undo(
    store: MemoryStore,
    versions: Callable[[], list[str]],
    details: dict[str, object],
    title: str,
    lead: str,
    back_url: str,
    back: str,
    lost: Callable[[], Lost] = Lost,
) -> Task:
    def all_of(ticks: Ticks) -> list[str]:
        return sorted({*versions(), *apply_plan.entry_versions(store.id, *ticks.too)})

    def apply(choices: Mapping[str, Choice], digest: str, act: Act, ticks: Ticks) -> Done:
        more = details | ticks.entry_input
        flagged = apply_plan.entry_versions(store.id, *ticks.flag)
        return apply_plan.undo(store.id, all_of(ticks), choices, digest, act, told=more, flagged=flagged)

    def plan(ticks: Ticks) -> Plan:
        return apply_plan.undo_plan(store.id, all_of(ticks))

    def spread(user: User, ticks: Ticks) -> Spread:
        return spread_of(store, versions(), user, ticks)

    def undone() -> Undone | None:
        return undo_of(store, versions())

    return Task("undo", title, lead, back_url, back, plan, apply, spread=spread, lost=lost, undone=undone)


def _session_url(store_id: str, session_id: str) -> str:
    try:
        return reverse("session", args=[session_id])
    except NoReverseMatch:
        return reverse("store_audit", args=[store_id]) + f"?session={session_id}"
