"""An administrator's acts in the demo: policies with a run of each, a hold and a pin, an erasure, a scan."""

from datetime import datetime, timedelta

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import erasure
from memoryhub.actions.findings import scans
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.stores import path_rules
from memoryhub.demo import texts
from memoryhub.models import Door, HoldKind, Memory, MemoryStore, User
from memoryhub.pure.path_rules import Effect, PathRule

TICKETS = PolicySettings(
    "Answered tickets", "/tickets/", expire_unchanged_days=14, keep_versions=5, keep_version_days=30
)
SHOPS = PolicySettings("Shops that nobody looks up", "/scraper/shops/", expire_unread_days=8, grace_days=14)
AGREED = "Preferences are agreed in the team."
ASKED_TO_BE_FORGOTTEN = ("Robin Ashby", "robin.ashby@bay-cycles.example")


def decide(service: MemoryStore, workshop: MemoryStore, mina: User, at: datetime) -> None:
    """Save policies for both stores, place a hold for a dispute, and pin what every agent reads."""
    act = Act(Actor.person(mina), Door.WEB, at)
    policies.save_policy(service.id, TICKETS, act)
    policies.save_policy(workshop.id, SHOPS, act)
    acme = Memory.objects.filter(store=service).at("/customers/acme.md").get()
    reason = "Dispute about invoice 2291: our lawyers need what we knew of it"
    holds.place(service.id, act, kind=HoldKind.HOLD, memory=acme.id, reason=reason, ends_at=at + timedelta(days=90))
    refunds = Memory.objects.filter(store=service).at("/refund_policies.xml").get()
    reason = "Every ticket is answered with it"
    holds.place(service.id, act, kind=HoldKind.PIN, memory=refunds.id, reason=reason)


def ask(workshop: MemoryStore, mina: User, at: datetime) -> None:
    """Save path rules: agents may only propose changes to the preferences that the team has agreed on."""
    rules = [PathRule(Effect.PROPOSE, f"/preferences{rest}", reason=AGREED) for rest in (".md", "/")]
    path_rules.save(workshop.id, rules, path_rules.digest([]), Act(Actor.person(mina), Door.WEB, at))


def remember(service: MemoryStore, mina: User, at: datetime) -> None:
    """Create a memory with a customer's contact and name."""
    act = Act(Actor.person(mina), Door.WEB, at, note="From the first call")
    curation.create(service.id, "/customers/bay_cycles.md", texts.BAY_CYCLES, act, override="A customer's contact")


def forget(service: MemoryStore, mina: User, at: datetime) -> None:
    """Erase a contact who asked to be forgotten, and scan the history for other sensitive text."""
    act = Act(Actor.person(mina), Door.WEB, at, note="Request 2025-118")
    found = erasure.search(service.id, ASKED_TO_BE_FORGOTTEN, at)
    erasure.erase(service.id, ASKED_TO_BE_FORGOTTEN, found.digest, act)
    scan = scans.start(service.id, (), act._replace(note=None), by=mina)
    while scans.step(scan.pk, at):
        pass


def run(store: MemoryStore, at: datetime) -> None:
    """Run the policies of a store."""
    started = runs.start(store.id, Act(Actor.system("retention"), Door.COMMAND, at), at)
    while runs.step(started.pk, at):
        pass
