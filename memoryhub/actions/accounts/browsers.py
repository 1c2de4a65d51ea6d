"""The browsers in which people are signed in: beginning, use and end of these sessions."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import BrowserSession, Door, User
from memoryhub.models.browsers import BrowserSessionQuerySet
from memoryhub.pure import ids

SEEN_EVERY = timedelta(minutes=5)
"""A use of a browser is recorded at most once in this time.

If a twentieth of the time that the browser may be idle is shorter, that time applies.
"""


def begin(user: User, *, device: str, address: str, at: datetime) -> BrowserSession:
    """Store the session of a browser in which a person has just signed in, and return it.

    The caller writes the audit entry.
    """
    with writing():
        return BrowserSession.objects.create(
            id=ids.new_id(ids.BROWSER, at), user=user, device=device[:300], address=address[:64], started_at=at,
            seen_at=at, confirmed_at=at,
        )  # fmt: skip


def of(browser_id: str, user_id: str, at: datetime) -> BrowserSession | None:
    """Return the open session of a browser in which this person is signed in; None if there is none or the person is
    inactive."""
    found = BrowserSession.objects.open(at).filter(pk=browser_id, user=user_id, user__is_active=True)
    return found.select_related("user").first()


def note_use(browser: BrowserSession, *, address: str, idle: timedelta, at: datetime) -> None:
    """Record when and from which network address a browser was used, but not at every request.

    The time between two records is at least the shorter one of SEEN_EVERY and a twentieth of `idle`.
    """
    if abs(at - browser.seen_at) >= min(SEEN_EVERY, idle / 20):
        with writing():
            BrowserSession.objects.filter(pk=browser.pk).update(seen_at=at, address=address[:64])


def confirm(browser: BrowserSession, at: datetime) -> None:
    """Store that the person has proved again who they are. The caller writes the audit entry, in the same
    transaction."""
    with writing():
        BrowserSession.objects.filter(pk=browser.pk).update(confirmed_at=at)
        browser.confirmed_at = at


def end(browsers: Iterable[BrowserSession], user: User, *, actor: Actor, door: Door, at: datetime) -> int:
    """Sign a person out of browsers, and return the number of browsers. Without browsers, no entry is written."""
    with writing():
        ended = [browser for browser in browsers if BrowserSession.objects.filter(pk=browser.pk, user=user).delete()[0]]
        if ended:
            details = {"user": user.id, "email": user.email, "browsers": [browser.pk for browser in ended]}
            audit.on_hub(Act(actor, door, at), Record("end_browsers", input=audit.to_json(details)))
    return len(ended)


def drop(browsers: BrowserSessionQuerySet) -> None:
    """Delete sessions. Call it in the transaction of an act whose entry records that they end."""
    with writing():
        browsers.delete()


def forget(at: datetime, most: int = 1_000) -> None:
    """Delete at most `most` sessions that have ended by themselves."""
    with writing():
        old = BrowserSession.objects.ended(at).order_by("seen_at")[:most]
        BrowserSession.objects.filter(pk__in=[browser.pk for browser in old]).delete()
