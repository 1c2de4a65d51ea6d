"""The numbers at the top of a dashboard: activity since yesterday, and how much awaits review."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import Key, MemoryStore, RefusedCalls, User
from memoryhub.pure import charts
from memoryhub.pure.text.filter_words import WRITING
from memoryhub.templatetags.look import size
from memoryhub.web.common.filters.keys import VERSION
from memoryhub.web.common.pictures import number
from memoryhub.web.dashboards import stores as dashboards_stores
from memoryhub.web.dashboards.figures import READ, Figures
from memoryhub.web.dashboards.links import Links, days
from memoryhub.web.dashboards.lists import review_url
from memoryhub.web.dashboards.period import Chosen

DAYS = 7
BOX = (88, 28)


@dataclass(frozen=True, slots=True)
class Tile:
    """One number with its label and link."""

    icon: str
    name: str
    shown: str
    url: str
    points: str = ""  # a sparkline of the last days
    meta: str = ""
    since: datetime | None = None  # the time of the oldest item
    tone: str = ""
    last: datetime | None = None  # the time of the newest item


def tiles_of_all(
    found: Figures, stores: Sequence[str], awaiting: Sequence[str], today: date, chosen: Chosen, user: User
) -> list[Tile]:
    """Return the tiles for all stores of a person, or for the selected store. The activity is that of the selected
    agent, if any."""
    activity = _since_yesterday(found, today, Links(chosen.store, chosen.agent))
    return [*_waiting(awaiting, chosen.store, user), *activity, *_refused(stores, today, chosen.agent)]


def tiles_of_store(found: Figures, store: MemoryStore, today: date, agent: str, user: User) -> list[Tile]:
    """Return the tiles for one store, with a tile for its size. If an `agent` is given, the activity is that of this
    agent."""
    held = Tile(
        "file-text",
        _("Memories"),
        number(store.memory_count),
        reverse("store", args=[store.pk]),
        meta=size(store.total_bytes),
    )
    activity = [*_since_yesterday(found, today, Links(store.pk, agent)), *_refused([store.pk], today, agent)]
    return [*_waiting([store.pk], store.pk, user), *activity, held]


def _waiting(stores: Sequence[str], one: str, user: User) -> list[Tile]:
    """Return a tile for the versions and proposals that await `user`, in the stores in which `user` decides; [] if
    there is no such store. The tile links to the inbox of the store `one`, if given."""
    stores = list(MemoryStore.objects.filter(pk__in=stores).reviewed_by(user).order_by().values_list("pk", flat=True))
    if not stores:
        return []
    count, oldest = dashboards_stores.waiting(stores)
    url = review_url(what=VERSION, **({"store": one} if one else {}))
    proposals = dashboards_stores.open_proposals(stores)
    words = ngettext("and %(count)s proposal", "and %(count)s proposals", proposals) % {"count": number(proposals)}
    tone = "waiting" if oldest else ""
    meta = words if proposals else ""
    return [Tile("inbox", _("Versions to review"), count, url, meta=meta, since=oldest, tone=tone)]


def _refused(stores: Sequence[str], today: date, agent: str) -> list[Tile]:
    """Return a tile if keys (of the `agent`, if given) exceeded their limit of calls since yesterday."""
    rows = RefusedCalls.objects.of_stores(stores).since(today - timedelta(days=1))
    if agent:
        rows = rows.filter(key__in=Key.objects.filter(agent=agent).values("pk"))
    found = list(rows.by_key(today))
    if not found:
        return []
    return [
        Tile(
            "ban",
            _("Calls over the limit since yesterday"),
            number(sum(row["calls"] for row in found)),
            reverse("limits", args=[found[0]["store_id"]]) + "#refused",
            tone="wrong",
            last=found[0]["last"],
        )
    ]


def _since_yesterday(found: Figures, today: date, links: Links) -> list[Tile]:
    yesterday = today - timedelta(days=1)
    week = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]

    def points(values: Sequence[int]) -> str:
        return charts.spark(values, *BOX)

    reads = frozenset((READ,))
    wrong = found.errors_on(yesterday) + found.errors_on(today)
    since = days(yesterday)
    return [
        Tile(
            "pencil",
            _("Writes since yesterday"),
            number(found.between(yesterday, today, WRITES)),
            links.audit(command=WRITING, outcome="ok", **since),
            points([found.on(day, WRITES) for day in week]),
        ),
        Tile(
            "eye",
            _("Reads since yesterday"),
            number(found.between(yesterday, today, reads)),
            links.audit(command=READ, outcome="ok", **since),
            points([found.on(day, reads) for day in week]),
        ),
        Tile(
            "circle-alert",
            _("Errors since yesterday"),
            number(wrong),
            links.audit(outcome="error", **since),
            points([found.errors_on(day) for day in week]),
            tone="wrong" if wrong else "",
        ),
    ]
