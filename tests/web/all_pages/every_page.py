"""The address of every page that a person can open, on the demo's data: for tests and for pictures."""

from collections.abc import Iterator
from typing import Any

from django.urls import reverse

from memoryhub.models import (
    Agent,
    AuditEntry,
    Delivery,
    Finding,
    Hold,
    HoldKind,
    Import,
    Key,
    Member,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    Receipt,
    RetentionPolicy,
    Run,
    Scan,
    Session,
    Webhook,
)

Page = tuple[str, str]
"""A name for the picture, and the address."""


def pages() -> Iterator[Page]:
    """All of them, for a superuser."""
    store = MemoryStore.objects.get(name="Customer service")
    memory = Memory.objects.at("/refund_policies.xml").get(store=store)
    yield from _of_the_hub()
    yield from _of_a_store(store)
    yield from _of_people(store)
    yield from _of_a_memory(memory)
    yield from _of_marked_memories(store)
    yield from _of_agents()
    yield from _of_the_audit(store, memory)
    yield from _of_review(store, memory)
    yield from _of_time(store, memory)
    yield from _of_finding(store)
    yield from _of_erasure(store, memory)
    yield from _of_findings(store)
    yield from _of_proposals(store)
    yield from _of_retention(store, memory)
    yield from _of_webhooks(store)


def page(name: str, query: str = "", *, called: str = "", **parts: Any) -> Page:
    """A page by the name of its route; `called` tells apart two pictures of one route."""
    return called or name.replace("_", "-"), reverse(name, kwargs=parts) + query


def _of_the_hub() -> Iterator[Page]:
    for name in ("today", "stores", "new_store", "agents", "new_agent", "people", "account", "overview", "saved_views"):
        yield page(name)
    yield page("browsers")
    yield page("second_step")
    yield page("add_app")
    yield page("hub_limits")
    yield page("hub_backups")
    yield page("hub_background")
    yield page("public_key")
    yield page("hub_claude")
    yield page("api_docs")
    yield page("guide")
    yield page("guide", called="guide-retention", topic="retention")


def _of_a_store(store: MemoryStore) -> Iterator[Page]:
    names = (
        "store", "edit_store", "archive_store", "new_memory", "members", "store_keys", "store_audit", "trash",
        "store_overview", "store_sessions", "try_call", "limits", "delete_store", "claude_runs", "new_claude_run",
        "claude_evaluations",
    )  # fmt: skip
    for name in names:
        yield page(name, store_id=store.id)
    for name in ("directory", "rename_directory", "delete_directory"):
        yield page(name, store_id=store.id, path="tickets")
    yield page("export_store", store_id=store.id)
    for name in ("imports", "new_import", "copy_store"):
        yield page(name, store_id=store.id)
    yield page("new_import", "?from=store", store_id=store.id, called="new-import-store")
    for job in Import.objects.filter(store=store).order_by("-pk")[:1]:
        yield page("import_", store_id=store.id, import_id=job.pk)
    yield page("export_store", "?path=/tickets", store_id=store.id, called="export-directory")


def _of_people(store: MemoryStore) -> Iterator[Page]:
    """Somebody who has issued a key leaves."""
    member = Member.objects.filter(store=store).order_by("pk")[0]
    yield page("deactivate", user_id=member.user_id)
    yield page("browsers_of", user_id=member.user_id)
    yield page("administrator", user_id=member.user_id)
    yield page("leaving", store_id=store.id, user_id=member.user_id)
    yield page("leaving", "?role=viewer", called="leaving-a-role", store_id=store.id, user_id=member.user_id)


def _of_a_memory(memory: Memory) -> Iterator[Page]:
    of_memory = {"store_id": memory.store_id, "memory_id": memory.id}
    for name in ("memory", "edit_memory", "rename_memory", "delete_memory", "versions", "blame", "readers", "flag"):
        yield page(name, **of_memory)
    yield page("memory", "?view=rendered", called="memory-rendered", **of_memory)
    yield page("memory", "?comment=3-5", called="memory-comment", **of_memory)
    versions = list(memory.store.versions.filter(memory=memory).order_by("number"))
    ends = f"?from={versions[0].id}&to={versions[-1].id}"
    yield page("compare", ends, **of_memory)
    yield page("compare", ends + "&mode=split", called="compare-split", **of_memory)
    yield page("compare", "?from=approved", called="compare-since-approved", **of_memory)
    for name in ("version", "restore_version", "undo_version"):
        yield page(name, store_id=memory.store_id, version_id=versions[0].id)
    line = f"?version={versions[-1].number}&line=13"
    yield page("readers", line, called="readers-of-a-line", **of_memory)


def _of_marked_memories(store: MemoryStore) -> Iterator[Page]:
    """One in the trash, and one with a flag."""
    deleted = Memory.objects.in_trash().filter(store=store).order_by("path")[0]
    flagged = Memory.objects.live().filter(store=store, flagged=True)[0]
    for memory, called in ((deleted, "trash"), (flagged, "flag")):
        for name in ("memory", "blame", "readers"):
            yield page(name, called=f"{name}-with-{called}", store_id=store.id, memory_id=memory.id)


def _of_agents() -> Iterator[Page]:
    agent = Agent.objects.order_by("name")[0]
    for name in ("agent", "edit_agent", "issue_key"):
        yield page(name, agent_id=agent.id)
    yield page("revoke_key", key_id=Key.objects.filter(agent=agent)[0].id)
    yield page("replace_key", key_id=Key.objects.filter(agent=agent)[0].id)


def _of_the_audit(store: MemoryStore, memory: Memory) -> Iterator[Page]:
    yield page("audit")
    yield page("audit", "?q=outcome:error", called="audit-errors")
    yield page("audit", "?q=agent:nobody-of-that-name", called="audit-nothing")
    seqs = list(MemoryVersion.objects.of_memory(memory).order_by("seq").values_list("seq", flat=True))
    directory = AuditEntry.objects.filter(chain=store.id, command="view", memory=None, ok=True)[0].seq
    error = AuditEntry.objects.filter(chain=store.id, ok=False)[0].seq
    shown = {"created": seqs[0], "edited": seqs[-1], "listing": directory, "error": error}
    for called, seq in shown.items():
        yield page("entry", called=f"entry-{called}", chain=store.id, seq=seq)


def _of_review(store: MemoryStore, memory: Memory) -> Iterator[Page]:
    yield page("review")
    yield page("review", "?group=memory", called="review-by-memory")
    yield page("review", "?q=path:/nowhere", called="review-nothing")
    yield page("decided")


def poisoned(store: MemoryStore) -> Session:
    """The session of the demo that wrote what it should not have."""
    return Session.objects.get(name="ticket-4498")


def _of_time(store: MemoryStore, memory: Memory) -> Iterator[Page]:
    session, last = poisoned(store), AuditEntry.objects.of_chain(store.id).newest()[0].seq
    seq = last // 2
    yield page("session", session_id=session.id)
    yield page("moments", store_id=store.id)
    yield page("moment", store_id=store.id, seq=seq)
    yield page("moment_directory", store_id=store.id, seq=seq, path="tickets")
    yield page("moment_memory", store_id=store.id, seq=seq, memory_id=memory.id)
    yield page("changes", f"?from={seq}&to={last}", store_id=store.id)
    yield page("restore_moment", store_id=store.id, seq=last - 20)
    yield page("restore_moment", "?path=/tickets", called="restore-directory", store_id=store.id, seq=seq)
    yield page("undo_session", store_id=store.id, session_id=session.id)
    written = MemoryVersion.objects.of_memory(memory).newest()[0].seq
    yield page("undo_entry", store_id=store.id, seq=written)


def _of_finding(store: MemoryStore) -> Iterator[Page]:
    yield page("search")
    yield page("search", "?q=refund", called="search-found")
    yield page("search", "?q=nowhereatall", called="search-nothing")
    yield page("find", "?q=ref", store_id=store.id)
    yield page("find", "?q=problems", called="find-with-flag", store_id=store.id)
    yield page("search", "?q=in:paths problems", called="search-with-flag")
    yield page("palette", f"?q=ref&store={store.id}")


def _of_erasure(store: MemoryStore, memory: Memory) -> Iterator[Page]:
    yield page("erase_everywhere")
    yield page("erase_everywhere", f"?store={store.id}", called="erase-from-one")
    yield page("every_receipt")
    for name in ("receipts", "scans"):
        yield page(name, store_id=store.id)
    versions = MemoryVersion.objects.of_memory(memory).order_by("number")
    yield page("remove_memories", f"?id={memory.id}", store_id=store.id)
    yield page("redact_version", store_id=store.id, version_id=versions[0].pk)
    yield page("redact_version", called="redact-the-newest", store_id=store.id, version_id=str(memory.head_id))
    for scan in Scan.objects.filter(store=store)[:1]:
        yield page("scan", store_id=store.id, scan_id=scan.pk)
    for receipt in Receipt.objects.filter(store=store.id)[:1]:
        yield page("receipt", store_id=store.id, receipt_id=receipt.pk)


def _of_findings(store: MemoryStore) -> Iterator[Page]:
    yield page("findings")
    yield page("findings", "?q=kind:iban path:/nowhere", called="findings-nothing")
    yield page("store_findings", store_id=store.id)
    yield page("store_findings", "?state=dismissed", called="findings-dismissed", store_id=store.id)
    for kind in ("instructions", "card"):
        for found in Finding.objects.of_store(store.pk).open().filter(kind=kind)[:1]:
            yield page("take_out", called=f"take-out-{kind}", store_id=store.id, finding_id=found.pk)
    yield page("rules", store_id=store.id)
    yield page("path_rules", store_id=store.id)
    yield page("edit_path_rules", "?ask=/policies/", store_id=store.id)
    yield page("hub_rules")


def _of_proposals(store: MemoryStore) -> Iterator[Page]:
    """Those of the store, or of the first store that has proposals."""
    first = Proposal.objects.of_store(store.pk).first() or Proposal.objects.order_by("store", "number").first()
    found = first.store_id if first else store.id
    yield page("proposals", store_id=found)
    yield page("proposals", "?state=decided", called="proposals-decided", store_id=found)
    for proposal in Proposal.objects.of_store(found).order_by("number"):
        yield page("proposal", called=f"proposal-{proposal.number}", store_id=found, number=proposal.number)
        if proposal.is_open:
            yield page(
                "proposal_elsewhere", called=f"elsewhere-{proposal.number}", store_id=found, number=proposal.number
            )
    yield page("proposals_together", "?n=1&n=2", store_id=found)


def _of_retention(store: MemoryStore, memory: Memory) -> Iterator[Page]:
    for name in ("retention", "new_policy", "rehearsal", "rehearsal_weeks", "runs", "holds", "explain_path"):
        yield page(name, store_id=store.id)
    yield page("explain_path", f"?path={memory.path}", called="explain-path-of-a-memory", store_id=store.id)
    yield page("holds", f"?memory={memory.id}&kind=hold", called="hold-a-memory", store_id=store.id)
    yield page("hub_retention")
    yield page("new_hub_policy")
    for policy in RetentionPolicy.objects.filter(store=store)[:1]:
        yield page("policy", policy_id=policy.pk)
        yield page("delete_policy", policy_id=policy.pk)
    for run in Run.objects.filter(store=store).order_by("-pk")[:1]:
        yield page("run", run_id=run.pk)
    for hold in Hold.objects.filter(store=store)[:1]:
        yield page("release_hold", store_id=store.id, hold_id=hold.pk)
    for hold in Hold.objects.filter(store=store, kind=HoldKind.HOLD)[:1]:
        yield page("export_held", store_id=store.id, hold_id=hold.pk)


def _of_webhooks(store: MemoryStore) -> Iterator[Page]:
    for name in ("store_webhooks", "new_store_webhook"):
        yield page(name, store_id=store.id)
    yield page("webhooks")
    yield page("new_webhook")
    for webhook in Webhook.objects.of_place(store.pk)[:1]:
        for name in ("webhook", "edit_webhook", "delete_webhook"):
            yield page(name, webhook_id=webhook.pk)
        for delivery in Delivery.objects.filter(webhook=webhook).newest()[:1]:
            yield page("delivery", webhook_id=webhook.pk, delivery_id=delivery.pk)
