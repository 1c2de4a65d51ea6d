"""HTML of the lines of a blame, built in Python because a template is too slow for thousands of lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import formats, timezone
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from memoryhub.actions.history.blame import Row
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text import visible
from memoryhub.pure.text.blame import Origin
from memoryhub.templatetags.look import RELATIVE_DAYS, ago, avatar, icon
from memoryhub.templatetags.visible import visible as visible_name

_ID = "ID"
"""A placeholder for an id in a URL; each link replaces it by its own id."""

SHADES = 6
"""The number of shades for the age of a line; the newest has the strongest."""


@dataclass(frozen=True, slots=True)
class Authorship:
    """A version with its author, its session (id and name) and the note in its audit entry."""

    row: Row
    kind: str = ""
    author: str | None = None
    label: str = ""
    session: str | None = None
    session_name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Data shared by all lines of a page: the store, and the versions from which the lines come."""

    store: str
    told: Mapping[int, Authorship]
    oldest: datetime | None
    newest: datetime | None

    def shade(self, number: int) -> int:
        """Return the shade of a version: 0 for the oldest moment, SHADES - 1 for the newest."""
        if self.oldest is None or self.newest is None or self.newest <= self.oldest:
            return SHADES - 1
        age = (self.told[number].row.at - self.oldest) / (self.newest - self.oldest)
        return round(age * (SHADES - 1))


def to_html(page: Page, lines: Sequence[str], origins: Sequence[Origin], first: int) -> SafeString:
    """Return list items for the lines, which are numbered from `first` on. The item of line 12 has the id `L12`.

    Of adjacent lines with the same origin, only the first shows it.
    """
    heads = _Heads(page)
    shown = visible.to_html("\n".join(lines)).split("\n") if lines else ()
    return mark_safe("".join(_items(heads, shown, origins, first)))


def _items(heads: "_Heads", shown: Sequence[str], origins: Sequence[Origin], first: int) -> Iterator[str]:
    seen = escape(_("Who has seen this line"))
    before: object = None
    for number, (line, origin) in enumerate(zip(shown, origins, strict=True), first):
        shade, label, key = heads.shade(origin.number), "", (origin.number, origin.since, origin.known)
        opening = f'<li id="L{number}" class="blame-{shade}">'
        if key != before:
            opening = f'<li id="L{number}" class="blame-{shade} blame-first" data-list-item>'
            label, before = heads.html(origin), key
        yield (
            f'{opening}<a href="#L{number}">{number}</a><code>{line}</code>{label}<span class="blame-seen">'
            f'<a href="readers?version={origin.number}&amp;line={origin.line}">{seen}</a></span></li>'
        )


class _Heads:
    """HTML for the origins beside lines, built once for each version."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.times = _Times()
        self.shades: dict[int, int] = {}
        self.rest: dict[int, str] = {}
        self.marks: dict[tuple[str, str], str] = {}
        self.version_url = reverse("version", args=[page.store, _ID])
        self.session_url = reverse("session", args=[_ID])
        self.audit_url = escape(reverse("store_audit", args=[page.store]))
        self.entry_url = reverse("entry", args=[page.store, 0]).removesuffix("0")
        self.entry = escape(_("entry %(seq)s"))
        self.gone = escape(_("entry %(seq)s was removed from the audit"))
        self.unknown = escape(_("unknown"))
        self.named = escape(_("v%(number)s"))
        self.came = escape(_("This line came with version %(number)s."))
        self.back = escape(_("Before this change: blame of version %(number)s"))
        self.back_icon = icon("clock-arrow-up")

    def shade(self, number: int) -> int:
        if number not in self.shades:
            self.shades[number] = self.page.shade(number)
        return self.shades[number]

    def html(self, origin: Origin) -> str:
        number = origin.number
        if number not in self.rest:
            self.rest[number] = self._rest(self.page.told[number])
        url = self.version_url.replace(_ID, self.page.told[number].row.id)
        name, title = self._named(origin)
        version = f'<a class="blame-version" href="{url}#L{origin.line}" title="{title}">{name}</a>'
        return f'<div class="blame-meta">{version}{self.rest[number]}{self._walk_back(origin)}</div>'

    def _named(self, origin: Origin) -> tuple[str, str]:
        """Return the label of the version and its tooltip."""
        details = {"number": origin.number}
        if origin.known and origin.since == origin.number:
            return self.named % details, self.came % details
        return escape(_uncertain_name(origin)), escape(_uncertain(origin))

    def _rest(self, origin: Authorship) -> str:
        """Return HTML with the author, the note, the time and the entry of a version."""
        seq, who = origin.row.seq, self._who(origin)
        if origin.note:
            title, note = escape(visible.without_hidden(origin.note)), visible_name(origin.note)
            who = who.removesuffix("</span>") + f'<span class="blame-session" title="{title}">{note}</span></span>'
        when = f'{who}<span class="blame-when">{self.times.relative(origin.row.at)}</span>'
        if not origin.kind:
            return f'{when}<span class="blame-entry" title="{self.gone % {"seq": seq}}">#{seq}</span>'
        return (
            f'{when}<a class="blame-entry" href="{self.entry_url}{seq}" title="{self.entry % {"seq": seq}}">#{seq}</a>'
        )

    def _who(self, origin: Authorship) -> str:
        """Return HTML with the author, linked to the author's other acts, and the session."""
        name: str = visible_name(origin.label) if origin.label else self.unknown
        mark = self._mark(origin.kind, origin.label) if origin.kind else ""
        if origin.author:
            query = urlencode({"agent" if origin.kind == ActorKind.KEY else "person": origin.author})
            name = f'<a class="blame-name" href="{self.audit_url}?{query}">{name}</a>'
        else:
            name = f'<span class="blame-name">{name}</span>'
        if not origin.session:
            return f'<span class="blame-who">{mark}{name}</span>'
        url, session = self.session_url.replace(_ID, origin.session), visible_name(origin.session_name)
        return f'<span class="blame-who">{mark}{name}<a class="blame-session" href="{url}">{session}</a></span>'

    def _mark(self, kind: str, label: str) -> str:
        if (kind, label) not in self.marks:
            self.marks[kind, label] = avatar(kind, label)
        return self.marks[kind, label]

    def _walk_back(self, origin: Origin) -> str:
        if not origin.older:
            return '<span class="blame-back"></span>'
        label = self.back % {"number": origin.older}
        link = f"?version={origin.older}#L{origin.before}"
        return f'<a class="blame-back" href="{link}" title="{label}">{self.back_icon}</a>'


class _Times:
    """The HTML of moments, as the template tag `relative_time` writes it. Dates are cached: formatting them is slow."""

    def __init__(self) -> None:
        self.now = timezone.now()
        self.zone = timezone.get_current_timezone()
        self.dates: dict[date, str] = {}
        self.far: dict[date, str] = {}

    def relative(self, moment: datetime) -> str:
        local = moment.astimezone(self.zone)
        day = local.date()
        if day not in self.dates:
            self.dates[day] = escape(formats.date_format(local, "j F Y"))
        if self.now - moment >= timedelta(days=RELATIVE_DAYS):
            if day not in self.far:
                self.far[day] = escape(ago(moment, self.now))
            shown = self.far[day]
        else:
            shown = escape(ago(moment, self.now))
        title = f"{self.dates[day]}, {local:%H:%M:%S} {escape(local.tzname() or '')}"
        return f'<time datetime="{moment.isoformat(timespec="seconds")}" title="{title}">{shown}</time>'


def _uncertain_name(origin: Origin) -> str:
    """Return a short label for an origin that is a range of versions."""
    if not origin.known:
        return _("v%(number)s or earlier") % {"number": origin.number}
    return _("v%(first)s–%(last)s") % {"first": origin.since, "last": origin.number}


def _uncertain(origin: Origin) -> str:
    if not origin.known:
        words = _(
            "This line was already in version %(number)s, the oldest version that exists or that this page compared."
        )
        return words % {"number": origin.number}
    if origin.since == origin.number - 1:
        words = _("This line came with version %(first)s, which was redacted or removed, or with version %(last)s.")
    else:
        words = _(
            "This line came with one of the versions %(first)s to %(gone)s, which were "
            "redacted or removed, or with version %(last)s."
        )
    return words % {"first": origin.since, "gone": origin.number - 1, "last": origin.number}


def ends(origins: Mapping[int, Authorship]) -> tuple[datetime | None, datetime | None]:
    """Return the oldest and the newest moment of the versions in `origins`; None for both if there are none."""
    moments = sorted(version.row.at for version in origins.values())
    return (moments[0], moments[-1]) if moments else (None, None)
