"""The comparison of two versions of a memory, in either direction."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memoryhub.models import Memory, MemoryStore, MemoryVersion, Role
from memoryhub.web.common import masking
from memoryhub.web.common.access import in_store
from memoryhub.web.common.comparisons import sides
from memoryhub.web.common.removed_history import no_version, older_than
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import memory_of, text_of
from memoryhub.web.history.versions import page_context

MODES = ("unified", "split")
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a comparison; the URL leaves out default values."""

    old: int
    new: int
    mode: str = "unified"
    ignore_whitespace: bool = False
    whole: bool = False
    after: int = 0

    @classmethod
    def of(cls, request: Request, old: int, new: int) -> "Options":
        mode, after = request.GET.get("mode", "unified"), request.GET.get("after", "")
        return cls(
            old,
            new,
            mode if mode in MODES else "unified",
            request.GET.get("w") == "1",
            request.GET.get("context") == "all",
            int(after) if after.isascii() and after.isdigit() and len(after) < 9 else 0,
        )

    def query(self, **other: object) -> str:
        """Return the query string of this comparison with other options."""
        values: dict[str, object] = {
            "from": self.old,
            "to": self.new,
            "mode": self.mode,
            "w": int(self.ignore_whitespace),
            "context": "all" if self.whole else "",
        }
        values |= other
        left_out = {"mode": "unified", "w": 0, "context": ""}
        return urlencode({key: value for key, value in values.items() if left_out.get(key) != value})

    @property
    def here(self) -> str:
        """Return the URL of this comparison from its first line."""
        return f"?{self.query()}"

    @property
    def swapped(self) -> str:
        return self.query(**{"from": self.new, "to": self.old})

    @property
    def earlier(self) -> str | None:
        """Return the query string of the comparison one version earlier; None if there is none."""
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
    """Compare the versions `from` and `to` (numbers or ids); by default the newest and the one before it."""
    memory = memory_of(store, memory_id)
    new, no_new = _picked(memory, request.GET.get("to", ""), memory.version_count)
    before_new = older_than(memory, new.number).values_list("number", flat=True).first()
    old, no_old = _picked(memory, request.GET.get("from", ""), before_new or new.number)
    options = Options.of(request, old.number, new.number)
    known = masking.cover([old, new]).get(memory.pk, masking.NOTHING)
    before, after = text_of(old), text_of(new)
    diff = None
    if before is not None and after is not None:
        lines = None if options.whole else CONTEXT_LINES
        diff = masking.compared(before, after, known, ignore_whitespace=options.ignore_whitespace, context=lines)
    return render(
        request,
        "history/compare.html",
        page_context(
            request,
            store,
            memory,
            old=old,
            new=new,
            options=options,
            diff=diff,
            problem=no_new or no_old,
            sides=sides(old, new),
            expand_url="" if options.whole else f"?{options.other_context}",
        ),
    )


def _picked(memory: Memory, written: str, otherwise: int) -> tuple[MemoryVersion, str]:
    """Return a version and a sentence. Raise Http404 if neither version exists.

    It is the requested version, with an empty sentence. If there is no such version, it is the one with the number
    `otherwise`, and the sentence says why; the sentence is empty if no version was requested.
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
    return picked, no_version(memory, written) if written else ""
