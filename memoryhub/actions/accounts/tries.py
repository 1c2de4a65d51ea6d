"""How often a password may be tried: counters by account, network and known browser, with delays that grow.

A try is counted before its password is looked at, in one transaction that locks the rows of its counters: however many
come at once, no more than the free ones pass, and then one after each delay. A right password takes its own try back.
Nothing is ever locked: the longest delay is short, and a browser in which somebody has signed in before has a counter
of its own, which nobody else can fill.
"""

import hashlib
import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryhub.actions.core.transactions import writing
from memoryhub.models import TryCounter

WINDOW = timedelta(minutes=15)
"""A counter that nothing was added to for so long begins again."""


class Limit(NamedTuple):
    """So many tries are free; then the delays grow from a second, twofold each time, to the longest, in seconds."""

    free: int
    longest: int

    def delay(self, tries: int) -> timedelta:
        beyond = tries - self.free
        return timedelta(seconds=min(self.longest, 2 ** min(beyond, 30)) if beyond >= 0 else 0)


ONE = Limit(10, 60)
"""For one account from one network, from one known browser, or for one account's change of its password."""
ACCOUNT = Limit(100, 30)
"""For one account from everywhere: many networks that guess together."""
NETWORK = Limit(50, 60)
"""For one network at all accounts."""


class Counter(NamedTuple):
    """A counter by its id; `resets` where a right password ends it."""

    id: str
    limit: Limit
    resets: bool


class TooManyTries(Exception):
    """It was tried too often: `wait` is in how many seconds it may be tried again."""

    def __init__(self, wait: int) -> None:
        super().__init__(wait)
        self.wait = wait


def network_of(address: str) -> str:
    """The /24 of an IPv4 address, the /64 of an IPv6 one: what one stranger usually has."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    length = 24 if parsed.version == 4 else 64
    return str(ipaddress.ip_network((parsed, length), strict=False))


def of_sign_in(email: str, address: str, device: str | None) -> list[Counter]:
    """`device` is the known browser of this account, from which nobody else can use up the tries."""
    if device is not None:
        return [Counter(_id("device", device, email), ONE, True)]
    network = network_of(address)
    return [
        Counter(_id("account", email), ACCOUNT, False),
        Counter(_id("network", network), NETWORK, False),
        Counter(_id("both", email, network), ONE, True),
    ]


def of_change(user_id: str) -> list[Counter]:
    """The current password that a signed-in person types to set another one."""
    return [Counter(_id("change", user_id), ONE, True)]


def of_invitation(address: str) -> list[Counter]:
    """A password set through the link of an invitation."""
    return [Counter(_id("network", network_of(address)), NETWORK, False)]


def _id(*parts: str) -> str:
    """Without what was typed, which may be a password in the wrong field."""
    return f"{parts[0]}_{hashlib.sha256(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


def take(counters: Iterable[Counter], at: datetime) -> None:
    """Counts a try in all of them, or in none and raises TooManyTries where it comes too early for one."""
    with writing():
        for counter in sorted(counters):  # in one order: nobody waits in a circle
            _take(counter, at)


def _take(counter: Counter, at: datetime) -> None:
    new = {"last_at": at, "until": at}
    row, _ = TryCounter.objects.select_for_update().get_or_create(pk=counter.id, defaults=new)
    wait = row.until - at
    if timedelta() < wait <= timedelta(seconds=counter.limit.longest):  # longer ones are of a clock that was set
        raise TooManyTries(-(-wait // timedelta(seconds=1)))
    tries = (row.tries if abs(at - row.last_at) < WINDOW else 0) + 1
    until = at + counter.limit.delay(tries)
    TryCounter.objects.filter(pk=row.pk).update(tries=tries, last_at=at, until=until)


def give_back(counters: Iterable[Counter], *, passed: bool) -> None:
    """A try counts no more: its password was right (which ends the counters that reset), or was never looked at.

    Delays that are running stay: others may have caused them.
    """
    with writing():
        for counter in sorted(counters):
            if passed and counter.resets:
                TryCounter.objects.filter(pk=counter.id).delete()
            for row in TryCounter.objects.select_for_update().filter(pk=counter.id):
                TryCounter.objects.filter(pk=row.pk).update(tries=max(0, row.tries - 1))


def forget(at: datetime, most: int = 1_000) -> int:
    """Removes counters that begin again anyway; gives how many (at most `most`)."""
    with writing():
        old = TryCounter.objects.filter(last_at__lt=at - WINDOW - timedelta(minutes=1)).order_by("last_at")
        return TryCounter.objects.filter(pk__in=[row.pk for row in old[:most]]).delete()[0]
