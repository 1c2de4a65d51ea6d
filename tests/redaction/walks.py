"""A random walk over the acts of all doors: what agents, people and the hub itself do to a memory store."""

import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people, sign_in, withdrawals
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import settings
from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.findings import findings, rules, scans
from memoryhub.actions.history import revert
from memoryhub.actions.memories import curation, selection
from memoryhub.actions.retention import policies, removal, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.review import decisions
from memoryhub.actions.search import saved_views
from memoryhub.actions.stores import delete, stores
from memoryhub.actions.transfer import importing
from memoryhub.actions.verification import verify
from memoryhub.actions.webhooks import deliveries, manage
from memoryhub.actions.webhooks.manage import WebhookSettings
from memoryhub.models import (
    HUB,
    Access,
    AuditChain,
    AuditEntry,
    Door,
    Finding,
    FindingState,
    Hold,
    HoldKind,
    Invitation,
    Key,
    Memory,
    MemoryStore,
    MemoryVersion,
    RetentionPolicy,
    Role,
    Run,
    User,
    Webhook,
)
from memoryhub.pure import outgoing
from memoryhub.pure.limits import COLUMNS
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.transfer.bundle import Refused
from tests.api.harness import Hub, new_secret, new_store
from tests.mcp.messages import message, send
from tests.support import older_entries
from tests.support.fixtures import new_person

NAMES = ("/a.md", "/b.md", "/notes/a.md", "/notes/deep/b.md", "/notes/deep/c.md")
WORDS = ("hunter2", "anna@example.com", "line", "4111 1111 1111 1111", "nothing")

REFUSED = (
    ObjectDoesNotExist, ToolError, ValidationError, tree.NoSuchStore, holds.Released, findings.NeedsReason,
    runs.NothingDue,
    runs.AlreadyOpen, runs.NotOpen, scans.ScanRuns, scans.Nothing, erasure.FoundChanged, erasure.Held,
    deliveries.IsPaused, manage.TooManyWebhooks, manage.NoSuchWebhook, people.EmailTaken, people.InvitationSpent,
    people.LastAdministrator, keys_and_roles.NameTaken, outgoing.Refused, saved_views.NameTaken, IndexError,
    curation.Conflict, decisions.Decided, decisions.Changed, revert.NeedsChoice,
    selection.NotDone, importing.NotOpen, Refused,
)  # fmt: skip
"""What an act may answer instead of doing something; nothing is there to do it to (IndexError)."""


class Walk:
    """One random walk: a store of its own, an agent with keys, people, and a clock that goes on. In every second walk
    a part of the entries are those of an older version of the hub."""

    def __init__(self, seed: int) -> None:
        self.random, self.at, self.done = random.Random(seed), timezone.now(), list[str]()
        self.store = new_store()
        self.hub = Hub(self.store, new_secret(self.store))
        self.manager = Hub(self.store, new_secret(self.store, Access.MANAGE))
        self.person = new_person(f"Alice{seed}", is_superuser=True)
        self.guest = new_person(f"Bob{seed}")
        self.memories = f"/v1/memory_stores/{self.store.pk}/memories"
        self.ages = bool(seed % 2)

    def act(self, *, by_hub: bool = False) -> Act:
        actor = Actor.system("tests") if by_hub else Actor.person(self.person)
        return Act(actor, Door.WEB, self.at, note=self.random.choice((None, "because", "anna@example.com")))

    def by(self) -> dict[str, Any]:
        return {"actor": Actor.person(self.person), "door": Door.WEB, "at": self.at}

    def any(self, rows: Any) -> Any:
        """One of some rows; IndexError where there is none."""
        return self.random.choice(list(rows.order_by("pk")))

    def path(self) -> str:
        return self.random.choice(NAMES)

    def text(self) -> str:
        """Some lines; every second text is long enough to be kept in its version alone."""
        return "".join(f"{self.random.choice(WORDS)}\n" for _ in range(self.random.choice((1, 3, 12, 20))))

    def memory(self) -> Memory:
        return self.any(Memory.objects.filter(store=self.store))  # type: ignore[no-any-return]

    def version(self) -> MemoryVersion:
        return self.any(MemoryVersion.objects.filter(store=self.store))  # type: ignore[no-any-return]

    def begin(self) -> None:
        """Some memories for the acts to meet."""
        for path in NAMES[:4]:
            self.hub.call(command="create", path=f"/memories{path}", file_text=self.text())

    def step(self, acts: Mapping[str, "Callable[[Walk], None]"], may_answer: tuple[type[Exception], ...]) -> None:
        """Any of the acts; nearly every second one writes memories, for all others are about these."""
        name = self.random.choice(sorted(WRITES if self.random.random() < 0.45 else acts))
        self.at += self.random.choice((timedelta(seconds=1), timedelta(hours=1), timedelta(days=20)))
        self.done.append(name)
        try:
            acts[name](self)
        except may_answer as refused:
            self.done[-1] += f" ({type(refused).__name__})"
        if self.ages and self.random.random() < 0.3:
            self._age()

    def _age(self) -> None:
        """Some entries become those of an older version of the hub."""
        for name in (self.store.pk, HUB):
            seqs = AuditEntry.objects.of_chain(name).filter(proof__isnull=False).values_list("seq", flat=True)
            older_entries.age(name, [seq for seq in seqs if self.random.random() < 0.5])

    def problems(self) -> list[str]:
        found = (verify.verify(name)[1] for name in (self.store.pk, HUB))
        wrong = (f"entry {seq}: its hash" for name in (self.store.pk, HUB) for seq in older_entries.wrong_hashes(name))
        return [*(str(problem) for problem in found if problem), *wrong]


# ------------------------------------------------------------------------------------------------ the acts


def _tool(walk: Walk) -> None:
    """One command of the tool or of the MCP server, now and then sent twice."""
    path, other, text = f"/memories{walk.path()}", f"/memories{walk.path()}", walk.text()
    word, choose = walk.random.choice(WORDS), walk.random.choice
    input = choose(
        (
            {"command": "create", "path": path, "file_text": text},
            {"command": "create", "path": path, "file_text": text},
            {"command": "view", "path": path},
            {"command": "view", "path": choose(("/memories", "/memories/notes", path)), "view_range": [1, 2]},
            {"command": "view", "path": choose(("/memories", "/memories/notes"))},
            {"command": "str_replace", "path": path, "old_str": word, "new_str": text},
            {"command": "insert", "path": path, "insert_line": 0, "insert_text": text},
            {"command": "delete", "path": choose((path, "/memories/notes"))},
            {"command": "rename", "old_path": choose((path, "/memories/notes/deep")), "new_path": other},
        )
    )
    if walk.random.random() < 0.3:
        send(walk.hub, message("tools/call", {"name": "memory", "arguments": input}))
        return
    block = walk.hub.block(**input)
    named: dict[str, str] = {"memoryhub_session": "run-1"} if walk.random.random() < 0.5 else {}
    for _ in range(choose((1, 1, 2))):
        walk.hub.send(block, **named)


def _api(walk: Walk) -> None:
    """One request to the memory_stores API."""
    ask = walk.manager.send
    choice = walk.random.randrange(7)
    if choice == 0:
        ask({"path": walk.path(), "content": walk.text()}, url=walk.memories)
        return
    if choice == 1:
        ask(b"", method="GET", url=f"{walk.memories}?view=full&depth=1")
        return
    one = f"{walk.memories}/{walk.memory().pk}"
    if choice == 2:
        ask({"content": walk.text()}, url=one)
    elif choice == 3:
        ask({"path": walk.path()}, url=one)
    elif choice == 4:
        ask(b"", method="DELETE", url=one)
    elif choice == 5:
        versions = f"/v1/memory_stores/{walk.store.pk}/memory_versions"
        ask(b"", method="GET", url=f"{versions}/{walk.version().pk}")
    else:
        ask(b"", method="GET", url=f"{one}?view=full")


def _redact(walk: Walk) -> None:
    version = walk.version()
    if walk.random.random() < 0.5:
        url = f"/v1/memory_stores/{walk.store.pk}/memory_versions/{version.pk}/redact"
        walk.manager.send(b"", url=url)
    else:
        redaction.redact_version(walk.store.pk, version.pk, walk.act())


def _erase(walk: Walk) -> None:
    term = walk.random.choice((*WORDS, "deep"))
    found = erasure.search(walk.store.pk, [term], walk.at)
    erasure.erase(walk.store.pk, [term], found.digest, walk.act())


def _edit(walk: Walk) -> None:
    memory = walk.memory()
    choice = walk.random.randrange(4)
    if choice == 0:
        curation.create(walk.store.pk, walk.path(), walk.text(), walk.act(), override="kept")
    elif choice == 1:
        curation.edit(walk.store.pk, memory.pk, walk.text(), memory.sha256, walk.act(), override="kept")
    elif choice == 2:
        curation.rename(walk.store.pk, memory.path, walk.path(), walk.act(), override="kept")
    else:
        curation.delete(walk.store.pk, memory.path, walk.act())


def _restore(walk: Walk) -> None:
    curation.restore(walk.store.pk, walk.version().pk, walk.act(), path=walk.random.choice((None, walk.path())))


def _review(walk: Walk) -> None:
    waiting = MemoryVersion.objects.filter(store=walk.store).unreviewed().values_list("pk", flat=True)
    decisions.approve_many(walk.store.pk, list(waiting)[: walk.random.randint(1, 5)], walk.act())


def _hold(walk: Walk) -> None:
    kind = walk.random.choice(list(HoldKind))
    path = walk.random.choice((walk.path(), "/notes"))
    holds.place(walk.store.pk, walk.act(), kind=kind, path=path, reason="a dispute")


def _policy(walk: Walk) -> None:
    days: Any = walk.random.choice(
        (
            {"expire_older_days": 5}, {"expire_unread_days": 3}, {"keep_versions": 1}, {"trash_days": 2},
            {"keep_entry_days": 30}, {"expire_unchanged_days": 4, "grace_days": 1},
        )
    )  # fmt: skip
    policies.save_policy(walk.store.pk, PolicySettings("Old", **days), walk.act())


def _run(walk: Walk) -> None:
    """A run of the policies, to its end or half of it; now and then undone."""
    run = runs.start(walk.store.pk, walk.act(), walk.at)
    if Run.objects.get(pk=run.pk).guard:
        runs.allow(run.pk, walk.act())
    for _ in range(walk.random.choice((1, 50))):
        if not runs.step(run.pk, walk.at):
            break
    if walk.random.random() < 0.3:
        runs.undo(run.pk, walk.act())
    elif Run.objects.of_store(walk.store.pk).open().exists():
        runs.cancel(run.pk, walk.act())


def _retention(walk: Walk) -> None:
    """A policy, and a run of it when what it says is due."""
    _policy(walk)
    walk.at += timedelta(days=40)
    _run(walk)


def _scan(walk: Walk) -> None:
    scan = scans.start(walk.store.pk, [], walk.act(), by=walk.person)
    while scans.step(scan.pk, walk.at):
        if walk.random.random() < 0.2:
            scans.cancel(scan.pk, walk.act())


def _decide(walk: Walk) -> None:
    finding = walk.any(Finding.objects.filter(store=walk.store))
    findings.decide(
        walk.store.pk,
        [finding.pk],
        walk.random.choice((FindingState.OPEN, FindingState.DISMISSED)),
        "known",
        walk.act(),
    )


def _entries_go(walk: Walk) -> None:
    for name in (walk.store.pk, HUB):
        last = AuditChain.objects.get(pk=name).last_seq
        removal.remove_entries(name, walk.random.randint(1, last), walk.act(by_hub=True))


def _key(walk: Walk) -> None:
    agent = Key.objects.order_by("-pk")[0].agent
    if walk.random.random() < 0.5:
        keys_and_roles.issue_key(agent, stores=[walk.store], access=walk.random.choice(list(Access)), **walk.by())
    elif Key.objects.count() > 2:
        keys_and_roles.revoke_key(Key.objects.order_by("-pk")[0], **walk.by())


def _role(walk: Walk) -> None:
    role = walk.random.choice((None, *Role))
    keys_and_roles.set_role(walk.store, User.objects.get(pk=walk.guest.pk), role, **walk.by())


def _invite(walk: Walk) -> None:
    email = f"new{walk.random.random()}@example.com"
    invitation, token = people.invite(email=email, store=walk.store, role=Role.VIEWER, **walk.by())
    if walk.random.random() < 0.5:
        people.accept(token, email=email, name="New", password="correct horse battery", at=walk.at)
    elif walk.random.random() < 0.5:
        withdrawals.withdraw(Invitation.objects.get(pk=invitation.pk), **walk.by())


def _active(walk: Walk) -> None:
    people.set_active(User.objects.get(pk=walk.guest.pk), walk.random.random() < 0.5, **walk.by())


def _rules(walk: Walk) -> None:
    actions = ("flag", "flag", "mask", "mask", "block", "off")
    kinds = {kind: walk.random.choice(actions) for kind in ("email", "card", "password")}
    rules.save_rules(walk.random.choice((None, walk.store.pk)), kinds, walk.act())


def _settings(walk: Walk) -> None:
    limit = walk.random.choice((None, 5, 500))
    if walk.random.random() < 0.5:
        settings.set_limits(dict.fromkeys(COLUMNS) | {"limit_memories": limit}, walk.act())
    else:
        wanted = stores.StoreSettings(name=f"Name {limit}", limits={"limit_versions": limit})
        stores.edit_store(MemoryStore.objects.get(pk=walk.store.pk), wanted, **walk.by())


def _archive(walk: Walk) -> None:
    archived = walk.random.random() < 0.3
    stores.set_archived(MemoryStore.objects.get(pk=walk.store.pk), archived, **walk.by())


def _webhook(walk: Walk) -> None:
    wanted = WebhookSettings("CI", f"https://example.com/{walk.random.random()}", ["memory.created"])
    manage.create_webhook(walk.random.choice((None, walk.store.pk)), wanted, walk.act())


def _change_webhook(walk: Walk) -> None:
    hook = walk.any(Webhook.objects.all()).pk
    do: Callable[..., object] = walk.random.choice(
        (manage.pause, manage.resume, manage.rotate, manage.delete_webhook, deliveries.send_test)
    )
    do(hook, walk.act())


def _view(walk: Walk) -> None:
    name = f"View {walk.random.random()}"
    saved_views.save(walk.person, walk.store, "audit", name, "q=x", walk.act(), is_shared=True)


def _delete_store(walk: Walk) -> None:
    """Now and then, and some of what is left of it."""
    if walk.random.random() < 0.5:
        delete.delete_store(walk.store.pk, act=walk.act())
        for _ in range(walk.random.choice((0, 3, 40))):
            delete.step(walk.store.pk)


def _sign_in(walk: Walk) -> None:
    sign_in.enter(User.objects.get(pk=walk.person.pk), address="127.0.0.1", at=walk.at)
    people.edit_profile(User.objects.get(pk=walk.person.pk), at=walk.at, name=f"Alice {walk.random.random()}")


def _release(walk: Walk) -> None:
    holds.release(walk.store.pk, walk.any(Hold.objects.filter(store=walk.store)).pk, walk.act())


def _drop_policy(walk: Walk) -> None:
    policies.delete_policy(walk.any(RetentionPolicy.objects.filter(store=walk.store)).pk, walk.act())


WRITES: dict[str, Callable[[Walk], None]] = {
    "tool 1": _tool, "tool 2": _tool, "tool 3": _tool, "tool 4": _tool, "api 1": _api, "api 2": _api, "edit": _edit,
}  # fmt: skip
ACTS: dict[str, Callable[[Walk], None]] = WRITES | {
    "restore": _restore, "redact": _redact, "erase": _erase, "review": _review, "hold": _hold, "release": _release,
    "policy": _policy, "drop policy": _drop_policy, "run": _run, "retention": _retention, "scan": _scan,
    "decide": _decide, "entries": _entries_go, "key": _key, "role": _role, "invite": _invite, "active": _active,
    "rules": _rules, "settings": _settings, "archive": _archive, "webhook": _webhook,
    "change webhook": _change_webhook, "view": _view, "delete store": _delete_store, "sign in": _sign_in,
}  # fmt: skip
