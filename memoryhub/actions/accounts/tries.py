"""Limits password attempts: counters by account, network and known browser, with growing delays.

An attempt is counted before its password is checked. If the password is right, this count is taken back. Nothing is
locked permanently. A browser in which the account has signed in before has a counter of its own.
"""

import hashlib
import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryhub.actions.core.transactions import writing
from memoryhub.models import TryCounter

WINDOW = timedelta(minutes=15)
"""The time after which an unchanged counter begins again at zero."""


class Limit(NamedTuple):
    """The limit of a counter. The first `free` attempts have no delay.

    The next one waits `first` seconds. The delay then doubles with each attempt, up to `longest` seconds.
    """

    free: int
    longest: int
    first: int = 1

    def delay(self, tries: int) -> timedelta:
        beyond = tries - self.free
        return timedelta(seconds=min(self.longest, self.first * 2 ** min(beyond, 30)) if beyond >= 0 else 0)


ONE = Limit(10, 60)
"""The limit for attempts at one account from one network or known browser, and for attempts of one person with the
second step or the current password."""
ACCOUNT = Limit(100, 30)
"""The limit for attempts at one account from all networks, against many networks that guess together."""
NETWORK = Limit(50, 60)
"""The limit for attempts from one network at all accounts."""
RESET = Limit(3, 900, first=60)
"""The limit for e-mails about a new password to one address, so that they do not flood its owner."""
RESETS = Limit(20, 60)
"""The limit for e-mails about a new password that clients of one network ask for."""


class Counter(NamedTuple):
    """The id of a counter and its limit. If `resets` is set, a right password deletes the counter."""

    id: str
    limit: Limit
    resets: bool


class TooManyTries(Exception):
    """There were too many attempts. The next one is allowed in `wait` seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__(wait)
        self.wait = wait


def network_of(address: str) -> str:
    """Return the /24 of an IPv4 address or the /64 of an IPv6 address: usually the network of one client."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    length = 24 if parsed.version == 4 else 64
    return str(ipaddress.ip_network((parsed, length), strict=False))


def of_sign_in(email: str, address: str, device: str | None) -> list[Counter]:
    """Return the counters of a sign-in. A sign-in from a `device` in which the account has signed in before has only
    the counter of this device."""
    if device is not None:
        return [Counter(_id("device", device, email), ONE, True)]
    network = network_of(address)
    return [
        Counter(_id("account", email), ACCOUNT, False),
        Counter(_id("network", network), NETWORK, False),
        Counter(_id("both", email, network), ONE, True),
    ]


def of_change(user_id: str) -> list[Counter]:
    """Return the counters for a signed-in person who types the current password again, for example to set a new one."""
    return [Counter(_id("change", user_id), ONE, True)]


def of_reset(email: str, address: str) -> list[Counter]:
    """Return the counters of requests for an e-mail with a link by which a person sets a new password."""
    network = Counter(_id("resets", network_of(address)), RESETS, False)
    return [Counter(_id("reset", email), RESET, False), network]


def of_invitation(address: str) -> list[Counter]:
    """Return the counters for setting a password through a link: that of an invitation, or one sent on request."""
    return [Counter(_id("network", network_of(address)), NETWORK, False)]


def of_second(user_id: str) -> list[Counter]:
    """Return the counters for the second step of a sign-in: the code that a person types after the right password."""
    return [Counter(_id("second", user_id), ONE, True)]


def of_provider(address: str) -> list[Counter]:
    """Return the counters for sign-ins without a typed password: through the identity provider or with a passkey."""
    return [Counter(_id("provider", network_of(address)), NETWORK, False)]


def _id(*parts: str) -> str:
    """Return a counter's id, from which no one can read the typed address."""
    # The address may be a password that was typed in the wrong field.
    return f"{parts[0]}_{hashlib.sha256(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


def take(counters: Iterable[Counter], at: datetime) -> None:
    """Count an attempt in all counters. If one of them still has a delay, count in none and raise TooManyTries."""
    with writing():
        for counter in sorted(counters):  # in one order: no deadlock
            _take(counter, at)


def _take(counter: Counter, at: datetime) -> None:
    new = {"last_at": at, "until": at}
    row, _ = TryCounter.objects.select_for_update().get_or_create(pk=counter.id, defaults=new)
    wait = row.until - at
    if timedelta() < wait <= timedelta(seconds=counter.limit.longest):  # a longer one means that the clock was set
        raise TooManyTries(-(-wait // timedelta(seconds=1)))
    tries = (row.tries if abs(at - row.last_at) < WINDOW else 0) + 1
    until = at + counter.limit.delay(tries)
    TryCounter.objects.filter(pk=row.pk).update(tries=tries, last_at=at, until=until)


def give_back(counters: Iterable[Counter], *, passed: bool) -> None:
    """Take back the count of an attempt whose password was right (`passed`), or was never checked.

    A right password also deletes the counters with `resets`, and so ends their delays. In the other counters, a delay
    that has begun stays.
    """
    with writing():
        for counter in sorted(counters):
            if passed and counter.resets:
                TryCounter.objects.filter(pk=counter.id).delete()
            for row in TryCounter.objects.select_for_update().filter(pk=counter.id):
                TryCounter.objects.filter(pk=row.pk).update(tries=max(0, row.tries - 1))


def forget(at: datetime, most: int = 1_000) -> int:
    """Delete at most `most` counters without an attempt in the last WINDOW. Return how many were deleted."""
    with writing():
        old = TryCounter.objects.filter(last_at__lt=at - WINDOW - timedelta(minutes=1)).order_by("last_at")
        return TryCounter.objects.filter(pk__in=[row.pk for row in old[:most]]).delete()[0]
