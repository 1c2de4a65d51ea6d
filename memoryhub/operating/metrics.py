"""Metrics for Prometheus at `/metrics`: the numbers of calls, which the audit counts, and the states of the hub that
need a person's attention.

The metrics have no ids and no names of memory stores, people or agents.
"""

import ipaddress
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import Error, connection
from django.db.models import Count, Min, Q, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from memoryhub.actions.core import transactions
from memoryhub.actions.core.audit import metering
from memoryhub.actions.core.hub import background, disk_space, outbox
from memoryhub.actions.core.sql import lists
from memoryhub.middleware import request_id
from memoryhub.models import (
    HUB,
    AuditChain,
    CallCount,
    Delivery,
    Figures,
    HubSettings,
    Mail,
    MailState,
    MemoryStore,
    Pause,
    Webhook,
)  # fmt: skip

PATH = "/metrics"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
PASSED_ON = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_X_FORWARDED_HOST")
"""The headers that a proxy adds to a request. A request with one of them does not count as a request from this
machine."""
MOST = 10_000
"""Items that wait are counted up to this number."""


class Sample(NamedTuple):
    """One value of a metric, with its labels and the `suffix` of the metric's name."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Family(NamedTuple):
    """The samples of one metric."""

    name: str
    kind: str
    help: str
    samples: Iterable[Sample]


def metrics(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Answer `/metrics` before all other middleware, whatever host name the request has."""

    own = request_id(answer)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        return own(request) if request.path_info == PATH else get_response(request)

    return middleware


def answer(request: HttpRequest) -> HttpResponse:
    """Return the metrics, or a refusal if the request may not read them.

    If a token is set in the environment, the request must have it. Otherwise it must come from this machine.
    """
    refusal = _refusal(request)
    if refusal is not None:
        return refusal
    try:
        with connection.wrap_database_errors:  # closing a cursor of PostgreSQL raises the driver's own
            text = "".join(line for family in families(timezone.now()) for line in _lines(family))
    except Error:
        return _plain("The database does not answer.\n", 503)
    return HttpResponse(text, content_type=TYPE)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if request.method not in ("GET", "HEAD"):
        response = _plain("", 405)
        response.headers["Allow"] = "GET, HEAD"
        return response
    if token := settings.MEMORYHUB_METRICS_TOKEN:
        if constant_time_compare(request.META.get("HTTP_AUTHORIZATION", ""), f"Bearer {token}"):
            return None
        response = _plain("Send the token of the environment: Authorization: Bearer …\n", 401)
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    return None if _is_of_this_machine(request) else _plain("There is nothing here.\n", 404)


def _plain(text: str, status: int) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def _is_of_this_machine(request: HttpRequest) -> bool:
    try:
        address = ipaddress.ip_address(str(request.META.get("REMOTE_ADDR") or ""))
    except ValueError:
        return False
    return address.is_loopback and not any(name in request.META for name in PASSED_ON)


def families(now: datetime) -> Iterator[Family]:
    """Yield all metrics as they are at a moment."""
    yield from _calls()
    yield from _audit(now)
    yield from _work(now)
    yield from _waiting(now)
    yield from _space()


def _calls() -> Iterator[Family]:
    rows = list(CallCount.objects.order_by("command", "door", "outcome"))
    named = [({"command": row.command, "door": row.door, "outcome": row.outcome}, row) for row in rows]
    yield Family("memoryhub_calls_total", "counter", "Entries of memory stores, by command, door and outcome.",
                 [Sample(row.count, labels) for labels, row in named])  # fmt: skip
    yield Family("memoryhub_call_seconds", "histogram", "How long they took, until the entry was written.",
                 [sample for labels, row in named for sample in _histogram(labels, row)])  # fmt: skip


def _histogram(labels: Mapping[str, str], row: CallCount) -> Iterator[Sample]:
    total = 0
    for bound, count in zip((*metering.BOUNDS, None), row.buckets, strict=True):
        total += count
        end = "+Inf" if bound is None else f"{bound / 1_000:g}"
        yield Sample(total, {**labels, "le": end}, "_bucket")
    yield Sample(row.micros / 1_000_000, labels, "_sum")
    yield Sample(row.count, labels, "_count")


def _audit(now: datetime) -> Iterator[Family]:
    stores = AuditChain.objects.exclude(pk=HUB)
    there = MemoryStore.objects.values("pk")
    counted = Figures.objects.filter(store__in=there).aggregate(last=Sum("seq"))["last"] or 0
    heads = stores.filter(pk__in=there).aggregate(last=Sum("last_seq"))["last"] or 0
    hub = AuditChain.objects.filter(pk=HUB).values_list("last_seq", flat=True).first() or 0
    ever = stores.aggregate(chains=Count("pk"), last=Sum("last_seq"), bytes=Sum("bytes"))
    yield Family("memoryhub_audit_entries_total", "counter", "The numbers of the newest entries, as sums.",
                 [Sample(hub, {"chain": "hub"}), Sample(ever["last"] or 0, {"chain": "stores"})])  # fmt: skip
    yield _gauge("memoryhub_audit_chains", "Chains, those of deleted memory stores included.", ever["chains"] + 1)
    yield _gauge("memoryhub_audit_bytes", "The size of the entries of memory stores.", ever["bytes"] or 0)
    yield _gauge("memoryhub_calls_behind", "Entries that memoryhub_calls_total does not count yet.",
                 max(0, heads - counted))  # fmt: skip
    written = _stat(settings.MEMORYHUB_CHECKPOINT_FILE)
    if written is not None:
        age = max(0.0, now.timestamp() - written.st_mtime)
        yield _gauge("memoryhub_checkpoint_age_seconds", "Since this machine last wrote a checkpoint.", age)


def _work(now: datetime) -> Iterator[Family]:
    states = [({"work": row.name, "node": row.node}, row) for row in background.states()]
    ages = [
        Sample(max(0.0, (now - row.succeeded_at).total_seconds()), labels)
        for labels, row in states
        if row.succeeded_at is not None
    ]
    yield Family("memoryhub_background_age_seconds", "gauge",
                 "Since background work last succeeded; it is noted once a minute.", ages)  # fmt: skip
    made = HubSettings.current().backup_last.get("at")
    if made:
        age = max(0.0, (now - datetime.fromisoformat(made)).total_seconds())
        yield _gauge("memoryhub_backup_age_seconds", "Since the last backup was made.", age)
    yield Family("memoryhub_background_failures", "gauge", "Failures since background work last succeeded.",
                 [Sample(row.failures, labels) for labels, row in states])  # fmt: skip


def _waiting(now: datetime) -> Iterator[Family]:
    yield _gauge("memoryhub_committer_waiting", "Calls that wait for the committer of this process (SQLite).",
                 transactions.waiting())  # fmt: skip
    hooks = Webhook.objects.aggregate(
        active=Count("pk", filter=Q(paused_at=None, failing_since=None)),
        failing=Count("pk", filter=Q(paused_at=None, failing_since__isnull=False)),
        paused=Count("pk", filter=Q(paused_at__isnull=False, paused_for=Pause.PERSON)),
        dead=Count("pk", filter=Q(paused_at__isnull=False) & ~Q(paused_for=Pause.PERSON)),
        next=Min("next_at", filter=Q(paused_at=None)),
    )
    due = hooks.pop("next")
    late = max(0.0, (now - due).total_seconds()) if due else 0.0
    yield Family("memoryhub_webhooks", "gauge", "Webhooks by state.",
                 [Sample(count, {"state": state}) for state, count in hooks.items()])  # fmt: skip
    yield _gauge("memoryhub_webhook_deliveries_waiting", f"Deliveries that wait, counted up to {MOST}.",
                 Delivery.objects.waiting().values("pk")[:MOST].count())  # fmt: skip
    yield _gauge("memoryhub_webhook_late_seconds", "How long the most overdue webhook waits.", late)
    if outbox.is_on():
        states = (MailState.WAITING, MailState.FAILED)
        mails = [(state, Mail.objects.filter(state=state).values("pk")[:MOST].count()) for state in states]
        yield Family("memoryhub_mails", "gauge", "E-mails in the outbox; failed ones are kept for a week.",
                     [Sample(count, {"state": state.value}) for state, count in mails])  # fmt: skip


def _space() -> Iterator[Family]:
    held = MemoryStore.objects.aggregate(stores=Count("pk"), memories=Sum("memory_count"), bytes=Sum("total_bytes"))
    yield _gauge("memoryhub_stores", "Memory stores.", held["stores"])
    yield _gauge("memoryhub_memories", "Memories, without the trash.", held["memories"] or 0)
    yield _gauge("memoryhub_memory_bytes", "Their size.", held["bytes"] or 0)
    yield _gauge("memoryhub_database_bytes", "The size of the database.", database_bytes())
    disk = shutil.disk_usage(settings.DATA_DIR)
    yield _gauge("memoryhub_disk_free_bytes", "Free space on the disk of the data directory.", disk.free)
    yield _gauge("memoryhub_disk_bytes", "The size of that disk.", disk.total)
    yield _gauge("memoryhub_disk_full", "1 while writes are refused because that disk is full.", disk_space.is_full())


def database_bytes() -> int:
    """Return the size of the database: of SQLite's files, or as PostgreSQL reports it."""
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        return sum(found.st_size for end in ("", "-wal") if (found := _stat(Path(name + end))) is not None)
    return lists.database_bytes()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _gauge(name: str, about: str, value: float) -> Family:
    return Family(name, "gauge", about, [Sample(value)])


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        shown = f"{{{labels}}}" if labels else ""
        yield f"{family.name}{sample.suffix}{shown} {sample.value + 0:.15g}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
