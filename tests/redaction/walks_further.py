"""Further acts of the random walks: undoing, moving many at once, exports and imports, work in the background."""

from collections.abc import Callable
from datetime import timedelta

from memoryhub.actions import figures
from memoryhub.actions.accounts import keys_and_roles, people, sign_in
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.findings import findings, unsettled
from memoryhub.actions.history import apply_plan, revert
from memoryhub.actions.history.apply_plan import Choice, Plan
from memoryhub.actions.memories import curation, refusals
from memoryhub.actions.memories.selection import Chosen, deletion, moves, restore as selection_restore
from memoryhub.actions.retention import housekeeping, runs
from memoryhub.actions.review import decisions
from memoryhub.actions.search import saved_views
from memoryhub.actions.transfer import exporting, importing
from memoryhub.actions.transfer.exporting import entries
from memoryhub.actions.transfer.importing import Brought, forgetting
from memoryhub.actions.verification import rotation
from memoryhub.actions.webhooks import deliveries, gather, manage
from memoryhub.actions.webhooks.manage import WebhookSettings
from memoryhub.models import (
    Agent,
    AuditChain,
    AuditEntry,
    Delivery,
    Finding,
    Import,
    ImportItem,
    ImportState,
    Memory,
    SavedView,
    Session,
    User,
    Webhook,
)
from memoryhub.models.memories import Directory
from memoryhub.pure.transfer import recognition
from tests.redaction import walks
from tests.redaction.walks import Walk

# ------------------------------------------------------------------------------------------------ taking back


def choices(walk: Walk, plan: Plan) -> dict[str, Choice]:
    """One of the choices that a page offers for each memory; now and then none."""
    return {one.memory: walk.random.choice(one.choices) for one in plan.changes if walk.random.random() < 0.9}


def _undo_versions(walk: Walk, versions: list[str], told: dict[str, object]) -> None:
    plan = apply_plan.undo_plan(walk.store.pk, versions)
    apply_plan.undo(walk.store.pk, versions, choices(walk, plan), plan.digest, walk.act(), told=told)


def _undo_session(walk: Walk) -> None:
    session = walk.any(Session.objects.all()).pk
    _undo_versions(walk, apply_plan.session_versions(walk.store.pk, session), {"session": session})


def _undo_entry(walk: Walk) -> None:
    """What an entry did, whether by an agent or a person, and an undo of an undo among them."""
    made = AuditEntry.objects.of_chain(walk.store.pk).order_by("-seq")
    seq = walk.random.choice(list(made.values_list("seq", flat=True)[:12]))
    _undo_versions(walk, apply_plan.entry_versions(walk.store.pk, seq), {"entry": seq})


def _restore_moment(walk: Walk) -> None:
    last = AuditChain.objects.get(pk=walk.store.pk).last_seq
    seq = walk.random.randint(max(1, last - 15), last)
    path = walk.random.choice((None, None, "/notes"))
    plan = apply_plan.restore_plan(walk.store.pk, seq, path=path)
    apply_plan.restore(walk.store.pk, seq, choices(walk, plan), plan.digest, walk.act(), path=path)


def _revert(walk: Walk) -> None:
    if walk.random.random() < 0.5:
        revert.revert(walk.store.pk, walk.version().pk, walk.act())
    else:
        some = {walk.version().pk for _ in range(walk.random.randint(1, 5))}
        revert.revert_many(walk.store.pk, sorted(some), walk.act())


def _take_back(walk: Walk) -> None:
    """The newest decisions, mostly; where there is none, of one that is made for it."""
    walks.ACTS["review"](walk) if walk.random.random() < 0.5 else _revert(walk)
    decided = AuditEntry.objects.of_chain(walk.store.pk).filter(command__in=("approve", "revert")).order_by("seq")
    revert.take_back(walk.store.pk, walk.random.choice(list(decided.values_list("seq", flat=True))), walk.act())


def _undo_undone(walk: Walk) -> None:
    """A session whose undo is undone."""
    _undo_session(walk)
    seq = AuditChain.objects.get(pk=walk.store.pk).last_seq
    _undo_versions(walk, apply_plan.entry_versions(walk.store.pk, seq), {"entry": seq})


def _flag(walk: Walk) -> None:
    decisions.flag(walk.store.pk, [walk.version().pk], walk.act(), flagged=walk.random.random() < 0.7)


def _claim(walk: Walk) -> None:
    memory = walk.memory().pk
    decisions.claim(walk.store.pk, memory, walk.person, walk.at)
    if walk.random.random() < 0.5:
        decisions.release(walk.store.pk, [memory], walk.person)


# ------------------------------------------------------------------------------------------------ many at once


def _chosen(walk: Walk) -> Chosen:
    if walk.random.random() < 0.2:
        return Chosen(everything_in=walk.random.choice(("", "/notes")))
    rows = [
        *Memory.objects.live().filter(store=walk.store),
        *Directory.objects.filter(store=walk.store).exclude(path=""),
    ]
    ids = sorted(row.pk for row in rows)
    return Chosen(tuple(walk.random.sample(ids, min(len(ids), walk.random.randint(1, 3)))))


def _delete_many(walk: Walk) -> None:
    chosen = _chosen(walk)
    deletion.delete(walk.store.pk, chosen, deletion.deletion(walk.store.pk, chosen, walk.at).digest, walk.act())


def _move(walk: Walk) -> None:
    chosen, into = _chosen(walk), walk.random.choice(("", "/notes", "/notes/deep", "/new/place"))
    plan = moves.move_plan(walk.store.pk, chosen, into, walk.at)
    moves.move(walk.store.pk, chosen, into, plan.digest, walk.act())


def _restore_many(walk: Walk) -> None:
    trash = sorted(Memory.objects.in_trash().filter(store=walk.store).values_list("pk", flat=True))
    ids = walk.random.sample(trash, min(len(trash), walk.random.randint(1, 4)))
    thrown = selection_restore.Thrown(tuple(ids))
    plan = selection_restore.return_plan(walk.store.pk, thrown, walk.at)
    selection_restore.restore(walk.store.pk, thrown, {}, plan.digest, walk.act())


# ------------------------------------------------------------------------------------------------ out and in again


def _exported(walk: Walk) -> bytes:
    form = walk.random.choice(("zip", "jsonl", "git"))
    chosen = _chosen(walk) if walk.random.random() < 0.3 else None
    wanted = exporting.Wanted(form, walk.random.choice(("", "", "/notes")), chosen, walk.random.random() < 0.7)
    return b"".join(exporting.begin(walk.store.pk, wanted, walk.act()).body())


def _export(walk: Walk) -> None:
    choice = walk.random.randrange(4)
    if choice == 0:
        entries.export_audit([walk.store.pk], "q=x", "csv", walk.act())
    elif choice == 1:
        entries.export_table(walk.store.pk, "findings", "csv", walk.act())
    elif choice == 2:
        curation.note_download(walk.store.pk, walk.memory().pk, walk.act())
    else:
        _exported(walk)


def _prepare_import(walk: Walk) -> None:
    """The store's own export, or a text, into a place of it: what was brought meets what has been written since."""
    if walk.random.random() < 0.3:
        data, name = walk.text().encode(), "a.md"
    else:
        data, name = _exported(walk), "export"
    read = recognition.read(data, name, importing.bounds())
    place = walk.random.choice(("", "", "/notes", "/brought"))
    job = importing.prepare(walk.store.pk, Brought(read, name), place, walk.act())
    if walk.random.random() < 0.8:
        _go_on(walk, job)
        job.refresh_from_db()
    if job.state == ImportState.PREVIEW and walk.random.random() < 0.6:
        start_import(walk, job)


def _go_on(walk: Walk, job: Import) -> None:
    for _ in range(walk.random.choice((1, 50))):
        if not importing.step(job.pk, walk.at):
            break


def _import(walk: Walk) -> None:
    """Brings in what the preview of an import shows, with some choices; to its end or half of it."""
    _prepare_import(walk)
    start_import(walk, walk.any(Import.objects.filter(store=walk.store, state=ImportState.PREVIEW)))


def start_import(walk: Walk, job: Import) -> None:
    for item in ImportItem.objects.filter(job=job).order_by("number"):
        allowed = importing.CHOICES[item.found]
        if len(allowed) > 1:
            importing.choose(job.pk, walk.random.choice(allowed), [item.number])
    importing.start(job.pk, walk.act())
    _go_on(walk, job)


def _go_on_import(walk: Walk) -> None:
    _go_on(walk, walk.any(Import.objects.filter(store=walk.store, state__in=importing.AT_WORK)))


def _cancel_import(walk: Walk) -> None:
    _prepare_import(walk)
    importing.cancel(walk.any(Import.objects.filter(store=walk.store, state__in=importing.OPEN)).pk, walk.act())


def _undo_import(walk: Walk) -> None:
    _import(walk)
    job = walk.any(Import.objects.filter(store=walk.store)).pk
    _undo_versions(walk, importing.versions_of(job), {"import": job})


# ------------------------------------------------------------------------------------------------ other people's acts


def _reveal(walk: Walk) -> None:
    findings.reveal(walk.store.pk, walk.version().pk, walk.act())


def _agent(walk: Walk) -> None:
    if walk.random.random() < 0.5:
        keys_and_roles.create_agent(f"Agent {walk.random.randrange(3)}", **walk.by())
    else:
        keys_and_roles.edit_agent(
            walk.any(Agent.objects.all()), name=f"Agent {walk.random.random()}", description="x", **walk.by()
        )


def _leave(walk: Walk) -> None:
    sign_in.sign_out(User.objects.get(pk=walk.person.pk), "browser_1", at=walk.at)
    people.edit_profile(User.objects.get(pk=walk.guest.pk), at=walk.at, name=f"Bob {walk.random.random()}")


def _change_view(walk: Walk) -> None:
    walks.ACTS["view"](walk)
    view = walk.any(SavedView.objects.filter(store=walk.store)).pk
    if walk.random.random() < 0.5:
        saved_views.rename(view, f"Name {walk.random.random()}", walk.act())
    else:
        saved_views.delete(view, walk.act())


def _edit_webhook(walk: Walk) -> None:
    hook = walk.any(Webhook.objects.filter(deleted_at=None)).pk
    wanted = WebhookSettings("CD", f"https://example.com/{walk.random.randrange(3)}", ["memory.deleted"])
    manage.edit_webhook(hook, wanted, walk.act())
    manage.reveal(hook, walk.act())


def _replay(walk: Walk) -> None:
    deliveries.send_test(walk.any(Webhook.objects.filter(deleted_at=None)).pk, walk.act())
    delivery = walk.any(Delivery.objects.filter(webhook__deleted_at=None))
    deliveries.replay(delivery.webhook_id, delivery.pk, walk.act())
    deliveries.replay_failed(delivery.webhook_id, walk.at - timedelta(days=1), walk.act())


def _undo_run(walk: Walk) -> None:
    runs.undo(walk.any(runs.Run.objects.filter(store=walk.store)).pk, walk.act())


def _refused(walk: Walk) -> None:
    """Requests with a key that may not, and with one that is none."""
    walk.hub.send(b"", method="DELETE", url=f"{walk.memories}/{walk.memory().pk}")
    walk.hub.send({"path": "/../a.md", "content": "x"}, url=walk.memories)
    refusals.write_counted(walk.at + timedelta(days=1))


def _background(walk: Walk) -> None:
    """What the hub does by itself; none of it may look like tampering."""
    choice = walk.random.randrange(5)
    if choice == 0:
        gather.gather(walk.at)
    elif choice == 1:
        figures.catch_up()
        figures.make_lists(walk.at)
    elif choice == 2:
        housekeeping.forget_sessions(walk.at)
        housekeeping.forget_calls(walk.at)
    elif choice == 3:
        forgetting.forget_previews(walk.at)
    else:
        with writing():
            Finding.objects.of_store(walk.store.pk).update(is_settled=False)
        while unsettled.step(walk.at):
            pass


def _rotate(walk: Walk) -> None:
    rotation.rotate(f"{walk.random.getrandbits(256):064x}", walk.act(by_hub=True))


ACTS: dict[str, Callable[[Walk], None]] = {
    "undo session": _undo_session, "undo entry 1": _undo_entry, "undo entry 2": _undo_entry,
    "undo undone": _undo_undone, "restore moment": _restore_moment, "revert": _revert, "take back": _take_back,
    "flag": _flag, "claim": _claim, "delete many": _delete_many, "move": _move, "restore many": _restore_many,
    "export": _export, "prepare import": _prepare_import, "import": _import,
    "go on import": _go_on_import, "cancel import": _cancel_import, "undo import": _undo_import, "reveal": _reveal,
    "agent": _agent, "leave": _leave, "change view": _change_view, "edit webhook": _edit_webhook, "replay": _replay,
    "undo run": _undo_run, "rotate": _rotate, "refused": _refused, "background": _background,
}  # fmt: skip
