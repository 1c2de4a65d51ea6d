"""Events without a person: runs of policies, deletions by agents, and work that failed or waits."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from urllib.parse import urlencode

from django.db.models import OuterRef, Q, Subquery
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from memoryhub.models import (
    AuditEntry,
    Import,
    ImportState,
    Memory,
    MemoryStore,
    MemoryVersion,
    Pause,
    Removal,
    Role,
    Run,
    RunItem,
    RunState,
    User,
    Webhook,
)
from memoryhub.models.audit import ActorKind
from memoryhub.models.memories import MemoryQuerySet
from memoryhub.pure import ids
from memoryhub.web.background.background import rows as background_rows
from memoryhub.web.review.items import roles_in

DAYS = 7
SIZE = 8
EACH = 20
"""The most runs, imports and webhooks that are read, the newest of each; and the most memories of a run that are
checked."""

MOST_STORES = 10
MOST_DELETIONS = 200
"""The most deletions that are read in each store. Only MOST_STORES stores are read: those with the newest deletions."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened without a person: a sentence, and the URL of its details."""

    icon: str
    words: str
    at: datetime
    url: str
    store: str = ""
    asks: bool = False  # something failed or waits for a decision
    back: str = ""  # the URL of a page that can undo it
    verb: str = ""  # the label of the link to `back` (empty: “Undo”)
    by_admin: bool = False  # only an admin can undo it


@dataclass(frozen=True, slots=True)
class _Seen:
    """The stores (ids) that a person may see, with the person's roles, and the moment `at` of the events."""

    user: User
    stores: Sequence[str]
    roles: Mapping[str, Role]
    at: datetime

    @property
    def since(self) -> datetime:
        return self.at - timedelta(days=DAYS)

    def those_of(self, least: Role) -> list[str]:
        """Return the stores in which the person has the role `least` or a higher one."""
        if self.user.is_superuser:
            return list(self.stores)
        return [store for store, role in self.roles.items() if role.includes(least)]

    def has(self, store: str, least: Role) -> bool:
        return self.user.is_superuser or (store in self.roles and self.roles[store].includes(least))


def events(stores: Sequence[str], user: User, at: datetime) -> list[Event]:
    """Return all events: first those that need an answer, then the others, both newest first."""
    seen = _Seen(user, stores, roles_in(user, stores), at)
    found = list(chain(_work(seen), _runs(seen), _imports(seen), _webhooks(seen), _deletions(seen)))
    return sorted(found, key=lambda event: (not event.asks, -event.at.timestamp()))


def _work(seen: _Seen) -> Iterator[Event]:
    """Yield an event for each kind of background work that fails, for administrators of the hub."""
    if not seen.user.is_superuser:
        return
    for row in background_rows(seen.at):
        if row.state == "failing":
            words = _("Background work fails: %(work)s") % {"work": row.label}
            yield Event("triangle-alert", words, row.task.failed_at or seen.at, reverse("hub_background"), asks=True)


def _runs(seen: _Seen) -> Iterator[Event]:
    """Yield recent runs that the hub started and that changed something, and all runs that wait for a decision."""
    of_stores = Q(store__in=seen.stores) | (Q(store=None) if seen.user.is_superuser else Q(pk__in=[]))
    did = Q(expired__gt=0) | Q(purged__gt=0) | Q(versions__gt=0) | Q(entries__gt=0)
    recent = Q(did, pk__gte=_first_id(ids.RUN, seen.since), started_by=None) | Q(state=RunState.WAITING)
    for run in Run.objects.filter(of_stores, recent).select_related("store").newest()[:EACH]:
        asks = run.state == RunState.WAITING
        path = _one_in_trash(run) if run.expired and not asks else None
        words = _("Retention asks before it goes on") if asks else _words_of_run(run, path)
        if words:
            url = reverse("run", args=[run.pk])
            store = run.store
            can_undo = store is not None and not asks and run.expired and path is not None
            back, verb = _back_of_run(seen, url, store) if can_undo and store else ("", "")
            at, by_admin = run.ended_at or run.started_at, bool(can_undo and not back)
            name = store.name if store else ""
            yield Event("clock", words, at, url, name, asks=asks, back=back, verb=verb, by_admin=by_admin)


def _back_of_run(seen: _Seen, url: str, store: MemoryStore) -> tuple[str, str]:
    """Return the URL and the label of the link to the page that brings back the memories that a run expired. Both are
    "" if there is no such page."""
    if seen.has(store.pk, Role.ADMIN):
        return url + "#undo", _("Undo")
    if seen.has(store.pk, Role.CURATOR) and not store.is_archived:
        return reverse("trash", args=[store.pk]), _("Restore from the trash")
    return "", ""


def _words_of_run(run: Run, path: str | None) -> str:
    """Return a sentence on what a run did, or "" if it did nothing. `path` is the path of a memory that the run moved
    to the trash, or None."""
    if path is None:
        put = ngettext("put %(n)s memory into the trash", "put %(n)s memories into the trash", run.expired)
    elif run.expired == 1:
        put = _("put %(path)s into the trash")
    else:
        put = _("put %(path)s and %(others)s more into the trash")
    done = (
        (run.expired, put),
        (run.purged, ngettext("removed %(n)s memory permanently", "removed %(n)s memories permanently", run.purged)),
        (run.versions, ngettext("removed %(n)s old version", "removed %(n)s old versions", run.versions)),
        (run.entries, ngettext("removed %(n)s audit entry", "removed %(n)s audit entries", run.entries)),
    )
    parts = [words % {"n": f"{count:,}", "others": f"{count - 1:,}", "path": path} for count, words in done if count]
    return _("Retention %(did)s") % {"did": ", ".join(parts)} if parts else ""


def _one_in_trash(run: Run) -> str | None:
    """Return the path of a memory that the run moved to the trash and that is still there, or None."""
    items = RunItem.objects.filter(run=run, removal=Removal.EXPIRE, skipped="").order_by("pk")
    first = list(items.values_list("memory", flat=True)[:EACH])
    return (
        Memory.objects.among(run.store_id or "", first)
        .in_trash()
        .filter(expired_by=run.pk)
        .order_by("pk")
        .values_list("path", flat=True)
        .first()
    )


def _imports(seen: _Seen) -> Iterator[Event]:
    """Yield imports that failed, and those whose preview waits for a decision."""
    recent = Q(pk__gte=_first_id(ids.IMPORT, seen.since), state=ImportState.FAILED) | Q(state=ImportState.PREVIEW)
    jobs = Import.objects.filter(recent, store__in=seen.those_of(Role.CURATOR)).select_related("store")
    for job in jobs.order_by("-pk")[:EACH]:
        failed = job.state == ImportState.FAILED
        words = _("The import of %(name)s failed") if failed else _("The import of %(name)s waits for your decision")
        url = reverse("import_", args=[job.store_id, job.pk])
        at = job.ended_at or job.created_at
        yield Event("upload", words % {"name": job.name}, at, url, job.store.name, asks=True)


def _webhooks(seen: _Seen) -> Iterator[Event]:
    """Yield webhooks that the hub paused, and those whose deliveries fail."""
    of_stores = Q(store__in=seen.those_of(Role.ADMIN)) | (Q(store=None) if seen.user.is_superuser else Q(pk__in=[]))
    troubled = Q(paused_for__in=(Pause.GONE, Pause.FAILING)) | Q(paused_at=None, failing_since__isnull=False)
    for webhook in Webhook.objects.filter(of_stores, troubled).select_related("store").order_by("-pk")[:EACH]:
        paused = webhook.paused_at is not None
        words = _("The webhook “%(name)s” was paused: nothing arrives") if paused else _("The webhook “%(name)s” fails")
        at = webhook.paused_at or webhook.failing_since or seen.at
        url = reverse("webhook", args=[webhook.pk])
        store = webhook.store.name if webhook.store else ""
        yield Event("bell", words % {"name": webhook.name}, at, url, store, asks=True)


def _deletions(seen: _Seen) -> Iterator[Event]:
    """Yield recent deletions by agents: one event for each session, or for each agent without a session."""
    newest = _deleted_by_agents().filter(store_id=OuterRef("pk")).order_by("-deleted_at").values("deleted_at")[:1]
    stores = MemoryStore.objects.filter(pk__in=seen.stores).annotate(newest=Subquery(newest))
    for store in stores.filter(newest__gte=seen.since).order_by("-newest", "pk")[:MOST_STORES]:
        yield from _deletions_in(store, seen)


def _deleted_by_agents() -> MemoryQuerySet:
    # only versions by agents have a review state
    return Memory.objects.in_trash().filter(expired_by=None, head__review_state__isnull=False)


def _deletions_in(store: MemoryStore, seen: _Seen) -> Iterator[Event]:
    trash = _deleted_by_agents().filter(store=store, deleted_at__gte=seen.since).order_by("-deleted_at", "-id")
    heads = list(trash.values_list("head_id", "path", "deleted_at")[: MOST_DELETIONS + 1])
    is_cut = len(heads) > MOST_DELETIONS
    heads = heads[:MOST_DELETIONS]
    versions = MemoryVersion.objects.among(store.pk, [head for head, _path, _at in heads])
    seqs = dict(versions.values_list("pk", "seq"))
    columns = ("chain", "seq", "actor_kind", "author_id", "label", "session")
    by_agents = AuditEntry.objects.of_chain(store.pk).of_seqs(seqs.values()).filter(actor_kind=ActorKind.KEY)
    entries = {entry.seq: entry for entry in by_agents.only(*columns)}
    by_run: dict[str, list[tuple[AuditEntry, str, datetime]]] = defaultdict(list)
    for head, path, at in heads:
        if entry := entries.get(seqs.get(head, 0)):
            by_run[entry.session or entry.author_id or ""].append((entry, path, at or seen.at))
    for deleted in by_run.values():
        may_undo = seen.has(store.pk, Role.CURATOR) and not store.is_archived
        yield _deletion(store, deleted, is_cut=is_cut, may_undo=may_undo)


def _deletion(
    store: MemoryStore, deleted: Sequence[tuple[AuditEntry, str, datetime]], *, is_cut: bool, may_undo: bool
) -> Event:
    """Return one event for several deletions, with an undo link if one call made all of them."""
    entry, path, at = deleted[0]
    words = ngettext("%(name)s deleted %(path)s", "%(name)s deleted %(count)s memories", len(deleted) + is_cut)
    url = reverse("trash", args=[store.pk]) + "?" + urlencode({"agent": entry.author_id or ""})
    is_one = len({entry.seq for entry, _path, _at in deleted}) == 1
    back = reverse("undo_entry", args=[store.pk, entry.seq]) if may_undo and is_one else ""
    said = words % {
        "name": entry.label or _("unknown"),
        "path": path,
        "count": f"{len(deleted)}{'+' if is_cut else ''}",
    }
    return Event("trash-2", said, at, url, store.name, back=back)


def _first_id(prefix: str, at: datetime) -> str:
    """Return an id with the prefix `prefix` that sorts before all such ids made at this moment or later."""
    return ids.derived_id(prefix, at, bytes(10))
