"""The demo's imports, one of which waits for a decision, and its webhooks, one of which fails."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import sources
from memoryhub.actions.webhooks import gather, manage, send
from memoryhub.actions.webhooks.manage import WebhookSettings
from memoryhub.demo import texts
from memoryhub.models import Door, Import, MemoryStore, User, Webhook
from memoryhub.pure.outgoing import Answer, Sender

HELP_DESK = WebhookSettings(
    "Help desk", "https://desk.acme-support.example/hooks/memory",
    ("memory.created", "memory.deleted", "memory.modified", "review.approved", "review.flagged", "finding.opened"),
)  # fmt: skip
REPORTS = WebhookSettings(
    "Nightly report", "https://reports.acme-support.example/hooks/memory", ("memory.created", "memory.modified"),
)  # fmt: skip
HANDBOOK = {"CLAUDE.md": texts.SCRAPER_RULES, "docs/retries.md": texts.RETRIES, "docs/selectors.md": texts.SELECTORS}
TEMPLATES = {
    "replies/delay.md": texts.REPLY_DELAY, "replies/refund.md": texts.REPLY_REFUND,
    "refund_policies.xml": texts.REFUNDS.replace("30 days after delivery", "14 days after delivery"),
}  # fmt: skip


def bring_in(workshop: MemoryStore, mina: User, at: datetime) -> None:
    """Import the files of the scraper's repository that contain instructions for agents."""
    job = _prepared(workshop, mina, "scraper-main.zip", HANDBOOK, "/handbook", at)
    importing.start(job.pk, Act(Actor.person(mina), Door.WEB, at + timedelta(minutes=2)))
    _go_on(job, at + timedelta(minutes=2))


def look_at(service: MemoryStore, mina: User, at: datetime) -> None:
    """Prepare an import of help desk templates, one of which conflicts with a memory. The import waits for a person's
    decision."""
    _prepared(service, mina, "help-desk-templates.zip", TEMPLATES, "", at)


def _prepared(store: MemoryStore, mina: User, name: str, files: Mapping[str, str], place: str, at: datetime) -> Import:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path, text in files.items():
            zipped.writestr(path, text)
    brought = sources.of_bytes(archive.getvalue(), name)
    job = importing.prepare(store.id, brought, place, Act(Actor.person(mina), Door.WEB, at))
    _go_on(job, at)
    return job


def _go_on(job: Import, at: datetime) -> None:
    while importing.step(job.pk, at):
        pass


# ------------------------------------------------------------------------------------------------ the webhook


@dataclass(frozen=True, slots=True)
class Rehearsed(Sender):
    """A sender that sends nothing and returns a fixed answer, because the demo's help desk does not exist."""

    answer: Answer = Answer(204, duration=84_000)  # noqa: RUF009 - frozen

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, private: bool = False) -> Answer:
        return self.answer


DOWN = Rehearsed(answer=Answer(503, "status", duration=1_200_000))
GONE = Rehearsed(answer=Answer(410, "status", duration=90_000))


def subscribe(store: MemoryStore, webhook: WebhookSettings, mina: User, at: datetime) -> None:
    """Create a webhook."""
    manage.create_webhook(store.id, webhook, Act(Actor.person(mina), Door.WEB, at))


def send_events(service: MemoryStore, mina: User, at: datetime) -> None:
    """Record deliveries of the new events to the webhook, as if they had been sent: first one attempt that fails, then
    attempts that succeed."""
    webhook = Webhook.objects.get(store=service)
    while not gather.gather(at):
        pass
    _send(webhook, DOWN, at, most=1)
    _send(webhook, Rehearsed(), at + timedelta(minutes=10), most=100)


def lose(workshop: MemoryStore, at: datetime) -> None:
    """Record a delivery whose answer says that the webhook's address no longer exists.

    The hub then pauses the webhook.
    """
    while not gather.gather(at):
        pass
    _send(Webhook.objects.get(store=workshop), GONE, at, most=1)


def pause(service: MemoryStore, mina: User, at: datetime) -> None:
    """Pause the webhook, so that nothing of the demo leaves the machine."""
    manage.pause(Webhook.objects.get(store=service).pk, Act(Actor.person(mina), Door.WEB, at))


def _send(webhook: Webhook, sender: Sender, at: datetime, most: int) -> None:
    send.work(webhook.pk, sender, lambda: at, most, chance=lambda: 0.5)
