"""The page that compares two versions of a memory, or the last approved version with a newer one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.actions.review.decisions import LOOK_BACK
from memoryhub.actions.review.last_approved import since_approved
from memoryhub.models import Memory, MemoryStore, MemoryVersion, Role
from memoryhub.pure.text.diffs import Diff
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.pages import came_from, entries
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_diff
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import memory_of, moved_from, origins, text_of
from memoryhub.web.common.versions.comparisons import sides
from memoryhub.web.common.versions.removed_history import no_version, older_than
from memoryhub.web.history.versions import page_context

MODES = ("unified", "split")
APPROVED = "approved"
"""The value, in place of a version's number, that means the version that the person last approved."""

CONTEXT_LINES = 3

MOST_TICKS = 100
"""The most versions for which the slider shows ticks, one for each version."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a comparison; the URL leaves out default values."""

    old: int  # 0 for a comparison with an empty text
    new: int
    name: str = ""  # the text in the URL in place of the number `old`
    mode: str = "unified"
    ignore_whitespace: bool = False
    whole: bool = False
    after: int = 0
    back: str = ""  # the page to which a decision leads back

    @classmethod
    def of(cls, request: Request, old: int, new: int, name: str = "") -> "Options":
        mode, after = request.GET.get("mode", "unified"), request.GET.get("after", "")
        return cls(
            old,
            new,
            name,
            mode if mode in MODES else "unified",
            request.GET.get("w") == "1",
            request.GET.get("context") == "all",
            int(after) if after.isascii() and after.isdigit() and len(after) < 9 else 0,
            came_from(request),
        )

    def query(self, **other: object) -> str:
        """Return the query string of this comparison, with the parameters in `other` in place of its own."""
        values: dict[str, object] = {
            "from": self.name or self.old,
            "to": self.new,
            "mode": self.mode,
            "w": int(self.ignore_whitespace),
            "context": "all" if self.whole else "",
            "next": self.back,
        }
        values |= other
        left_out = {"mode": "unified", "w": 0, "context": "", "next": ""}
        return urlencode({key: value for key, value in values.items() if left_out.get(key) != value})

    @property
    def here(self) -> str:
        """Return the URL that shows this comparison from its first line. The URL has no parameter `after`."""
        return f"?{self.query()}"

    @property
    def swapped(self) -> str | None:
        """Return the query string with the versions swapped, or None if `old` is 0."""
        return None if not self.old else self.query(**{"from": self.new, "to": self.old})

    @property
    def earlier(self) -> str | None:
        """Return the query string with both version numbers one lower, or None if there is no such comparison."""
        return self._moved(-1) if min(self.old, self.new) > 1 else None

    @property
    def later(self) -> str:
        return self._moved(1)

    def _moved(self, by: int) -> str:
        return self.query(**{"from": self.old + by, "to": self.new + by})

    @property
    def unified(self) -> str:
        return self.query(mode="unified")

    @property
    def split(self) -> str:
        return self.query(mode="split")

    @property
    def other_whitespace(self) -> str:
        return self.query(w=int(not self.ignore_whitespace))

    @property
    def other_context(self) -> str:
        return self.query(context="" if self.whole else "all")


@require_GET
@in_store(Role.VIEWER)
def compare(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Compare two versions: `from` and `to` in the URL (numbers or ids), or the newest version with the one before.

    `from` can be `approved`: the version that the person last approved or, if there is none, the last version
    before the unreviewed ones. If the version `from` no longer exists, the version before `to` is used.
    """
    memory = memory_of(store, memory_id)
    written = request.GET.get("from", "")
    since = since_approved(store.pk, [memory.pk], person(request).pk).get(memory.pk) if written == APPROVED else None
    new, no_new = _picked(memory, request.GET.get("to", ""), memory.version_count)
    old, no_old = (since.base, "") if since else _picked(memory, written, _number_before(memory, new))
    by = _authors(store, [version for version in (old, new) if version])
    options = Options.of(request, old.number if old else 0, new.number, APPROVED if since else "")
    diff = _compared(old, new, options)
    shows_diff(request, store, diff, [old, new])
    return render(
        request,
        "history/compare.html",
        page_context(
            request,
            store,
            memory,
            old=old,
            new=new,
            since=since,
            options=options,
            ticks=_ticks(memory.version_count),
            versions=to_choose(memory),
            old_by=by.get(old.number) if old else "",
            new_by=by.get(new.number),
            week_ago=(week_ago := _week_ago(memory)),
            since_week_ago=options.query(**{"from": week_ago, "to": memory.version_count}),
            diff=diff,
            moved_from=moved_from(old, new),
            problem=no_new or no_old,
            sides=sides(old, new),
            expand_url="" if options.whole else f"?{options.other_context}",
        ),
    )


def _ticks(count: int) -> list[float]:
    """Return the positions of the ticks on the slider, one for each of `count` versions, in per cent of its width.
    Return [] if there are fewer than two versions, or more than MOST_TICKS."""
    return [round(100 * number / (count - 1), 2) for number in range(count)] if 1 < count <= MOST_TICKS else []


def to_choose(memory: Memory) -> list[tuple[int, datetime, str]]:
    """Return (number, time, author) of all versions, newest first.

    Return an empty list for more than MOST_TICKS versions, or if some were removed.
    """
    if memory.version_count > MOST_TICKS or memory.removed_versions:
        return []
    columns = ("store_id", "number", "created_at", "seq", "origin")
    listed = list(MemoryVersion.objects.of_memory(memory).newest().only(*columns))
    by = _authors(memory.store, listed)
    return [(version.number, version.created_at, by[version.number]) for version in listed]


def _authors(store: MemoryStore, versions: Sequence[MemoryVersion]) -> dict[int, str]:
    """Return {number of a version: name of its author, or ""}."""
    by_seq = entries(store, *(version.seq for version in versions))
    imported = origins.of_versions(versions)
    return {
        version.number: imported[version.pk].label
        if version.pk in imported
        else (by_seq[version.seq].label or "" if version.seq in by_seq else "")
        for version in versions
    }


def _week_ago(memory: Memory) -> int | None:
    """Return the number of the version that was current a week ago, if it is one of the last LOOK_BACK."""
    last = MemoryVersion.objects.of_memory(memory).filter(number__gt=memory.version_count - LOOK_BACK)
    before = last.filter(created_at__lte=timezone.now() - timedelta(days=7))
    return before.newest().values_list("number", flat=True).first()


def _number_before(memory: Memory, new: MemoryVersion) -> int:
    return older_than(memory, new.number).values_list("number", flat=True).first() or new.number


def _compared(old: MemoryVersion | None, new: MemoryVersion, options: Options) -> Diff | None:
    """Return the comparison of the masked texts; None if one of the texts was removed."""
    known = masking.cover([old, new]).get(new.memory_id, masking.NOTHING)
    before, after = text_of(old), text_of(new)
    if before is None or after is None:
        return None
    lines = None if options.whole else CONTEXT_LINES
    return masking.compared(before, after, known, ignore_whitespace=options.ignore_whitespace, context=lines)


def _picked(memory: Memory, written: str, otherwise: int) -> tuple[MemoryVersion, str]:
    """Return the version with the number or id `written`, and "".

    If `written` is empty, return the version with the number `otherwise`, and "". If there is no version `written`,
    return the version `otherwise`, and a sentence that explains this. Raises Http404 if there is no version
    `otherwise` either.
    """
    found = MemoryVersion.objects.of_memory(memory).select_related("text")
    picked = None
    if written.isascii() and written.isdigit() and len(written) <= 18:
        picked = found.filter(number=int(written)).first()
    elif written and "\0" not in written:
        picked = found.filter(pk=written).first()
    if picked is not None:
        return picked, ""
    picked = found.filter(number=otherwise).first()
    if picked is None:
        raise Http404
    if written == APPROVED:
        return picked, _("The version that was approved last is not known any more.")
    return picked, no_version(memory, written) if written else ""
