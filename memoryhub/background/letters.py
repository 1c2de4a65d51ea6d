"""Writes the e-mails of the outbox, from what their receivers may see at the moment of sending.

A message never has the text of a memory. It has the beginning of a comment only where the memory store allows it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.accounts import people, resets, second_person
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.mail import alarms, choices, digests, removals
from memoryhub.actions.mail.digests import About
from memoryhub.models import (
    ActRequest,
    ActRequestState,
    BackgroundTask,
    Decision,
    Invitation,
    Mail,
    MailKind,
    MemoryStore,
    Notice,
    Role,
    User,
    Webhook,
)  # fmt: skip
from memoryhub.pure.text.visible import without_hidden

LONGEST_NAME, LONGEST_QUOTE = 300, 280


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a list. `url` is the address of the item's page; `quote` is the beginning of a comment, or ""."""

    text: str
    url: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A list of lines with a heading."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to one address. `act` is the text of its button, and `url` the address to which the button leads.

    `ends` is the address at which the receiver ends such messages; "" if there is none. `choose` is the address at
    which the receiver chooses which messages to get.
    """

    to: str
    subject: str
    lead: Sequence[str]
    act: str
    url: str
    parts: Sequence[Part] = ()
    note: str = ""
    ends: str = ""
    choose: str = ""

    @property
    def hub(self) -> str:
        return str(settings.MEMORYHUB_URL)


def letter_of(mail: Mail, at: datetime) -> Letter | None:
    """Return the message as it is to be sent now; None if there is no longer a reason to send it."""
    if mail.to is not None and not mail.to.is_active:
        return None
    if mail.kind == MailKind.INVITATION:
        return _invitation(mail, at)
    return None if mail.to is None else _WRITERS[MailKind(mail.kind)](mail, mail.to, at)


def page(route: str, *args: object, query: str = "") -> str:
    """Return the full address of a page."""
    return f"{settings.MEMORYHUB_URL}{reverse(route, args=args)}{query}"


def name(text: object, most: int = LONGEST_NAME) -> str:
    """Return a text in one line, without hidden characters, in at most `most` characters."""
    shown = without_hidden(" ".join(str(text).split()))
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _endable(letter: Letter, user: User, kind: MailKind) -> Letter:
    """Return `letter` with two links for its receiver: to end messages of this `kind`, and to choose messages."""
    return replace(letter, ends=page("end_mail", choices.link_to_end(user, kind)), choose=page("mail_choices"))


# ------------------------------------------------------------------------------------------------ accounts


def _invitation(mail: Mail, at: datetime) -> Letter | None:
    invitation = Invitation.objects.open(at).select_related("user", "store", "made_by").filter(pk=mail.about).first()
    if invitation is None or not mail.nonce:
        return None
    url, until = page("invitation", outbox.token_of(mail.nonce)), _day(invitation.expires_at, invitation.user)
    note = _("The link works once, until %(day)s. If you did not expect this message, ignore it.") % {"day": until}
    if invitation.user is not None:
        lead = _("An administrator of the hub made a link with which you set a new password for %(email)s.")
        lead %= {"email": invitation.email}
        return Letter(invitation.email, _("Set a new password"), [lead], _("Set the password"), url, note=note)
    by = name(invitation.made_by) if invitation.made_by else "MemoryHub"
    lead = _("%(by)s invites you to MemoryHub, where people see and correct what AI agents remember.") % {"by": by}
    joined = [one for one in [invitation, *people.beside(invitation, at)] if one.store]
    lines = [Line(f"{name(one.store)} ({one.get_role_display()})") for one in joined]
    title = ngettext("You get a role in this memory store:", "You get a role in these memory stores:", len(lines))
    parts = [Part(title, lines)] if lines else []
    return Letter(invitation.email, _("An invitation to MemoryHub"), [lead], _("Accept"), url, parts, note)


def _reset(mail: Mail, user: User, at: datetime) -> Letter | None:
    url = page("reset_password", user.pk, resets.token_for(user, at))
    lead = _("Somebody, probably you, asked for a link with which you set a new password for %(email)s.")
    note = _(
        "The link works once, for %(hours)s hours. If you did not ask for it, ignore this message: your password stays"
        " as it is."
    ) % {"hours": settings.PASSWORD_RESET_TIMEOUT // 3600}
    lead %= {"email": user.email}
    return Letter(user.email, _("Set a new password"), [lead], _("Set a new password"), url, note=note)


def _test(mail: Mail, user: User, at: datetime) -> Letter | None:
    lead = _("This is the test message that you asked for. The hub can send e-mail.")
    return Letter(user.email, _("Test message of MemoryHub"), [lead], _("Open the hub"), page("today"))


def _second(mail: Mail, user: User, at: datetime) -> Letter | None:
    """Return the message about an act that needs a second person; None if there is none for `user`.

    While the request waits, the message is for a person who may decide. After the decision, it is for the person who
    asked.
    """
    request = (
        ActRequest.objects.filter(pk=mail.about, expires_at__gt=at).select_related("asked_by", "decided_by").first()
    )
    if request is None or not request.asked_by.is_active:
        return None
    title, url = str(second_person.ACTS[request.act]), page("act_request", request.pk)
    if request.state == ActRequestState.WAITING and second_person.may_decide(request, user):
        lead = _("%(name)s asks a second person to allow: %(act)s") % {"name": name(request.asked_by), "act": title}
        return Letter(user.email, _("An act waits for a second person"), [lead], _("Look, and decide"), url)
    if request.asked_by_id != user.pk or not request.decided_by:
        return None
    if request.state == ActRequestState.ALLOWED:
        lead = _("%(name)s allowed what you asked for: %(act)s")
    elif request.state == ActRequestState.REFUSED:
        lead = _("%(name)s refused what you asked for: %(act)s")
    else:
        return None
    lead %= {"name": name(request.decided_by), "act": title}
    return Letter(user.email, _("The second person has decided"), [lead], _("Open it"), url)


# ------------------------------------------------------------------------------------------------ comments


def _mention(mail: Mail, user: User, at: datetime) -> Letter | None:
    store = MemoryStore.objects.filter(pk=mail.store).first()
    if store is None or user.role_in(store) is None or not choices.wants(user, MailKind.MENTION):
        return None
    named = Notice.objects.filter(store_id=store.pk, to=user, comment=mail.about, is_mention=True)
    found = digests.abouts(list(named.select_related("store", "memory")))
    if not found:
        return None
    line = _notice_line(found[0])
    lead = _("%(what)s, in the memory store %(store)s.") % {"what": line.text, "store": name(store)}
    subject = _("%(name)s mentioned you in a comment") % {"name": _by(found[0])}
    said = [f"“{line.quote}”"] if line.quote else []
    letter = Letter(user.email, subject, [lead, *said], _("Read and answer"), line.url)
    return _endable(letter, user, MailKind.MENTION)


def _by(about: About) -> str:
    return name(about.by or _("Somebody"))


def _notice_line(about: About) -> Line:
    """Return a line that names the subject of a notice, with the address of the subject's page."""
    one = about.notice
    path = name(one.memory.path) if one.memory else ""
    names = {"name": _by(about), "path": path, "number": about.proposal.number if about.proposal else ""}
    if about.decision is not None:
        said = {
            Decision.APPROVED: _("%(name)s approved what you flagged at %(path)s"),
            Decision.REVERTED: _("%(name)s reverted what you flagged at %(path)s"),
            Decision.EDITED: _("%(name)s edited what you flagged at %(path)s"),
            Decision.UNFLAGGED: _("%(name)s removed your flag at %(path)s"),
        }
        other = _("%(name)s took back a decision about what you flagged at %(path)s")
        words = said.get(Decision(about.decision.decision), other)
        return Line(words % names, page("memory", one.store_id, one.memory_id))
    if about.proposal is not None:
        words = _("%(name)s replied on proposal #%(number)s")
        words = _("%(name)s mentioned you on proposal #%(number)s") if one.is_mention else words
    else:
        words = _("%(name)s mentioned you on %(path)s") if one.is_mention else _("%(name)s replied on %(path)s")
    quote = name(about.comment.text, LONGEST_QUOTE) if about.comment and one.store.mails_comments else ""
    return Line(words % names, page("comment", one.store_id, one.thread, query=f"#{one.comment}"), quote)


# ------------------------------------------------------------------------------------------------ the digest


def _digest(mail: Mail, user: User, at: datetime) -> Letter | None:
    waiting = digests.waiting_for(user)
    if waiting.is_none or not choices.wants(user, MailKind.DIGEST):
        return None
    told = [_in_store(_notice_line(about), about.notice.store) for about in waiting.notices]
    told += _rest(waiting.more_notices)
    if waiting.assigned:
        words = ngettext(
            "%(count)s memory is assigned to you for review", "%(count)s memories are assigned to you for review",
            waiting.assigned,
        )  # fmt: skip
        told.insert(0, Line(words % {"count": waiting.assigned}, page("review", query="?is=mine")))
    stores = [_waits(one) for one in waiting.stores] + _rest(waiting.more_stores)
    parts = [Part(_("For you"), told), Part(_("Waits for a decision"), stores)]
    shown = [part for part in parts if part.lines]
    letter = Letter(user.email, _("What waits for you in MemoryHub"), [], _("Open the hub"), page("today"), shown)
    return _endable(letter, user, MailKind.DIGEST)


def _in_store(line: Line, store: MemoryStore) -> Line:
    return replace(line, text=f"{line.text} · {name(store)}")


def _rest(count: int) -> list[Line]:
    return [Line(_("and %(count)s more") % {"count": count}, page("today"))] if count else []


def _waits(one: digests.InStore) -> Line:
    counted = [
        (one.versions, ngettext("%(count)s version to review", "%(count)s versions to review", one.versions)),
        (one.proposals, ngettext("%(count)s proposal", "%(count)s proposals", one.proposals)),
        (one.findings, ngettext("%(count)s open finding", "%(count)s open findings", one.findings)),
    ]
    words = ", ".join(text % {"count": _bounded(count)} for count, text in counted if count)
    if not (one.versions or one.proposals):
        return Line(f"{name(one.store)}: {words}", page("store_findings", one.store.pk))
    return Line(f"{name(one.store)}: {words}", page("review", query=f"?store={one.store.pk}"))


def _bounded(count: int) -> str:
    return f"{count}+" if count == digests.MOST else str(count)


# ------------------------------------------------------------------------------------------------ retention and alarms


def _retention(mail: Mail, user: User, at: datetime) -> Letter | None:
    store = MemoryStore.objects.filter(pk=mail.store).first()
    is_admin = store is not None and user.role_in(store) == Role.ADMIN
    if store is None or not is_admin or not choices.wants(user, MailKind.RETENTION):
        return None
    found = removals.soon(store.pk, at)
    counted = (
        (found.totals.memories, ngettext("%(count)s memory expires: it moves to the trash",
                                         "%(count)s memories expire: they move to the trash", found.totals.memories)),
        (found.totals.purged, ngettext("%(count)s memory is removed from the trash permanently",
                                       "%(count)s memories are removed from the trash permanently",
                                       found.totals.purged)),
        (found.totals.versions, ngettext("%(count)s old version is removed permanently",
                                         "%(count)s old versions are removed permanently", found.totals.versions)),
        (found.totals.entries, ngettext("%(count)s old audit entry is removed",
                                        "%(count)s old audit entries are removed", found.totals.entries)),
    )  # fmt: skip
    lines = [Line(words % {"count": count}) for count, words in counted if count]
    if not lines:
        return None
    first = [Line(f"{name(item.path)} · {_day(item.due_at, user)}") for item in found.first]
    days = removals.AHEAD.days
    lead = _("Within %(days)s days the retention policies remove from the memory store %(store)s:")
    note = _("To keep a memory, pin it or change the policy before then.")
    letter = Letter(
        user.email, _("Retention will remove something from %(store)s") % {"store": name(store)},
        [lead % {"days": days, "store": name(store)}], _("See all of it"), page("rehearsal", store.pk),
        [Part("", lines), *([Part(_("The first ones"), first)] if first else [])], note,
    )  # fmt: skip
    return _endable(letter, user, MailKind.RETENTION)


def _alarm(mail: Mail, user: User, at: datetime) -> Letter | None:
    if not user.is_superuser or mail.about not in set(alarms.lasting(at)) or not choices.wants(user, MailKind.ALARM):
        return None
    kind, _space, subject = mail.about.partition(" ")
    title, lead, url = _ALARMS[kind](subject)
    note = _("As long as this lasts, you get this message once a day.") if kind not in alarms.ONCE else ""
    return _endable(Letter(user.email, title, [lead], _("See what to do"), url, note=note), user, MailKind.ALARM)


def _work_fails(subject: str) -> tuple[str, str, str]:
    node, _space, task = subject.rpartition(" ")
    row = BackgroundTask.objects.filter(node=node, name=task).first()
    lead = _("The background work “%(task)s” on %(node)s does not succeed or is silent.") % {"task": task, "node": node}
    since = [f"{_('It last succeeded at')} {_moment(row.succeeded_at)}."] if row and row.succeeded_at else []
    return _("Background work of MemoryHub fails"), " ".join([lead, *since]), page("hub_background")


def _audit_is_wrong(subject: str) -> tuple[str, str, str]:
    lead = _("The last run of verify_audit reported that something is wrong in the audit.")
    return _("Something is wrong in the audit of MemoryHub"), lead, page("audit", query="?command=verify_audit")


def _disk_is_full(subject: str) -> tuple[str, str, str]:
    lead = _("The disk of the hub is nearly full. When it is full, nothing can be stored.")
    return _("The disk of MemoryHub is nearly full"), lead, page("hub_background")


def _webhook_is_dead(subject: str) -> tuple[str, str, str]:
    webhook = Webhook.objects.filter(pk=subject).first()
    label = name(webhook) if webhook else subject
    lead = _("Nothing arrives at the receiver of the webhook “%(name)s”.") % {"name": label}
    return _("A webhook of MemoryHub does not reach its receiver"), lead, page("webhook", subject)


_ALARMS: dict[str, Callable[[str], tuple[str, str, str]]] = {
    alarms.WORK: _work_fails,
    alarms.AUDIT: _audit_is_wrong,
    alarms.DISK: _disk_is_full,
    alarms.WEBHOOK: _webhook_is_dead,
}
_WRITERS: dict[MailKind, Callable[[Mail, User, datetime], Letter | None]] = {
    MailKind.TEST: _test,
    MailKind.RESET: _reset,
    MailKind.MENTION: _mention,
    MailKind.DIGEST: _digest,
    MailKind.RETENTION: _retention,
    MailKind.ALARM: _alarm,
    MailKind.SECOND: _second,
}


def _day(moment: datetime, user: User | None) -> str:
    """Return the day of a moment in a person's time zone, in words."""
    return date_format(moment.astimezone(_zone(user)), "j F Y")


def _moment(moment: datetime) -> str:
    return f"{date_format(moment, 'j F Y, H:i')} UTC"


def _zone(user: User | None) -> ZoneInfo:
    try:
        return ZoneInfo(user.time_zone if user else "UTC")
    except (KeyError, ValueError):
        return ZoneInfo("UTC")
