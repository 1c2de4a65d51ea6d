"""Pins and legal holds of a store: the list, placing one and releasing one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.core.rules import holds
from memoryhub.models import Hold, HoldKind, Memory, MemoryStore, Role
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.guards.second import guard, note_of
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.retention.holds.forms import WHOLE_STORE, HoldForm

METHODS = ["GET", "HEAD", "POST"]
MOST, MOST_ENDED = 500, 50
LEAST = {HoldKind.PIN: Role.CURATOR, HoldKind.HOLD: Role.ADMIN}
"""The role needed to place and release each kind of hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """A hold, the path under hold (None if its memory was deleted permanently), and the URL of its page."""

    hold: Hold
    path: str | None
    url: str
    may_release: bool

    @property
    def is_legal(self) -> bool:
        return self.hold.kind == HoldKind.HOLD

    @property
    def is_store(self) -> bool:
        return self.hold.path == ""

    @property
    def is_directory(self) -> bool:
        return bool(self.hold.path)


@require_http_methods(METHODS)
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """List holds, and place one on POST; `path`, `memory` and `kind` in the query prefill the form."""
    if request.method == "POST":
        return _place(request, store)
    kinds = kinds_for(request)
    wanted = request.GET.get("kind", "")
    kind = wanted if wanted in kinds else kinds[0] if kinds else ""
    form = HoldForm(store, kinds, initial={"place": _asked(request, store), "kind": kind})
    return _page(request, store, form)


@require_http_methods(METHODS)
@in_store(Role.CURATOR)
def release(request: Request, store: MemoryStore, hold_id: str) -> HttpResponse:
    """Show the confirmation; on POST, release the hold. Curators may release pins, admins also legal holds."""
    hold = Hold.objects.of_store(store.pk).filter(pk=hold_id).select_related("owner").first()
    if hold is None:
        raise Http404
    if not _role(request).includes(LEAST[HoldKind(hold.kind)]):
        raise PermissionDenied
    row = row_of(request, store, hold)
    now, kind = timezone.now(), HoldKind(hold.kind)
    if request.method != "POST":
        together = Hold.objects.of_case(store.pk, kind, hold.case_number).active(now) if hold.case_number else None
        shown = {"row": row, "hold": hold, "is_over": _is_over(hold, now), "together": together and together.count()}
        return render(request, "retention/holds/release.html", pages.context(request, store, **shown))
    if kind == HoldKind.HOLD:
        asks = guard(request, "release_hold", lambda: _words(request, store, hold, now))
        if asks is not None:
            return asks
    _release(request, store, hold)
    return see_other(list_url(store))


def _words(request: Request, store: MemoryStore, hold: Hold, at: datetime) -> Words:
    """Return the words for what is released: the hold, or each hold of its case."""
    case = [(_("Case"), hold.case_number)] if hold.case_number else []
    found = [hold]
    if "together" in request.POST and case:
        found = list(Hold.objects.of_case(store.pk, HoldKind(hold.kind), hold.case_number).active(at).order_by("pk"))
    gone = _("A memory that was removed permanently")
    held = [
        (_("Legal hold on"), f"{row.path or gone}: {row.hold.reason}", row.url) for row in _rows(request, store, found)
    ]
    return [(_("Memory store"), store.name), *case, *held, *note_of(request.POST.get("note", ""))]


def _release(request: Request, store: MemoryStore, hold: Hold) -> None:
    """Release a hold, or all holds of its case, and add a message about it."""
    by, is_legal = act(request, request.POST.get("note", "")[:1000]), hold.kind == HoldKind.HOLD
    if "together" in request.POST and hold.case_number:
        count = holds.release_case(store.pk, HoldKind(hold.kind), hold.case_number, by)
        said = (
            ngettext("%(count)s legal hold was released.", "%(count)s legal holds were released.", count)
            if is_legal
            else ngettext("%(count)s pin was removed.", "%(count)s pins were removed.", count)
        )
        messages.success(request, said % {"count": count})
        return
    try:
        holds.release(store.pk, hold.pk, by)
    except holds.Released:
        messages.info(request, _("This pin or hold had already ended."))
    else:
        messages.success(request, _("The legal hold was released.") if is_legal else _("The pin was removed."))


def list_url(store: MemoryStore) -> str:
    """Return the URL of the list of holds, with the fragment `#main`.

    Without a fragment in this URL, browsers would keep the form's fragment after a redirect.
    """
    return reverse("holds", args=[store.pk]) + "#main"


def _place(request: Request, store: MemoryStore) -> HttpResponse:
    kinds = kinds_for(request)
    if not kinds:
        raise PermissionDenied
    form = HoldForm(store, kinds, request.POST)
    if not form.is_valid():
        return _page(request, store, form)
    given = form.cleaned_data
    kind = HoldKind(given["kind"])
    try:
        held = holds.place_several(store.pk, act(request), [(form.memory, form.path)], form.terms())
    except (ValidationError, Memory.DoesNotExist) as error:
        form.add_error("place", _problem(error))
        return _page(request, store, form)
    back = reverse("memory", args=[store.pk, form.memory]) if form.memory and request.POST.get("back") else ""
    if not held:
        was = (
            _("%(path)s is already on this legal hold: nothing was changed.")
            if kind == HoldKind.HOLD
            else _("%(path)s is already pinned in this way: nothing was changed.")
        )
        messages.info(request, was % {"path": isolated(given["place"])})
        return see_other(back or list_url(store))
    (hold,) = held
    said = _("%(path)s is on legal hold.") if kind == HoldKind.HOLD else _("%(path)s is pinned.")
    if hold.freezes:
        said = _("%(path)s is on legal hold, and its text is frozen.")
    told = [said % {"path": isolated(given["place"])}]
    if hold.path and not Memory.objects.filter(store=store).under(hold.path).exists():
        told.append(_("Nothing is there yet."))
    messages.success(request, " ".join(told))
    return see_other(back or list_url(store))


def _problem(error: ValidationError | Memory.DoesNotExist) -> str:
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    return _("The memory was removed permanently.")


def _page(request: Request, store: MemoryStore, form: HoldForm) -> HttpResponse:
    now = timezone.now()
    found = Hold.objects.of_store(store.pk).select_related("owner", "released_by")
    active = list(found.active(now).order_by("-created_at", "seq")[: MOST + 1])
    over = [hold for hold in found.order_by("-id")[: MOST + MOST_ENDED] if _is_over(hold, now)][:MOST_ENDED]
    return render(
        request,
        "retention/holds/page.html",
        pages.context(
            request,
            store,
            tab="settings",
            form=form,
            rows=_rows(request, store, active[:MOST]),
            most=MOST,
            is_cut=len(active) > MOST,
            ended=_rows(request, store, over),
            may_place=bool(kinds_for(request)),
            now=now,
            is_asked=bool(form.is_bound or form.initial.get("place")),
        ),
    )


def row_of(request: Request, store: MemoryStore, hold: Hold) -> Row:
    """Return a hold as a row, with the current path of its memory."""
    return _rows(request, store, [hold])[0]


def _rows(request: Request, store: MemoryStore, found: Iterable[Hold]) -> Sequence[Row]:
    """Return the holds as rows, with the current paths of their memories."""
    shown = list(found)
    wanted = {hold.memory for hold in shown if hold.memory}
    paths = dict(Memory.objects.among(store.pk, wanted).values_list("pk", "path"))
    role = _role(request)
    return [
        Row(hold, *_where(store, hold, paths.get(hold.memory or "")), role.includes(LEAST[HoldKind(hold.kind)]))
        for hold in shown
    ]


def _where(store: MemoryStore, hold: Hold, path: str | None) -> tuple[str | None, str]:
    if hold.memory:
        return path, reverse("memory", args=[store.pk, hold.memory]) if path else ""
    return hold.path or WHOLE_STORE, addresses.of_directory(store.pk, hold.path or "")


def _asked(request: Request, store: MemoryStore) -> str:
    """Return the value of the form's field `place` for the memory or directory that the query names, or ""."""
    memory = Memory.objects.filter(store=store, pk=request.GET.get("memory", "").replace("\0", "")).first()
    if memory:
        return memory.path
    if "path" not in request.GET:
        return ""
    return (request.GET["path"][:2000].replace("\0", "").rstrip("/") + "/") or WHOLE_STORE


def kinds_for(request: Request) -> list[HoldKind]:
    """Return the kinds of hold that a person may place."""
    return [kind for kind, least in LEAST.items() if _role(request).includes(least)]


def _role(request: Request) -> Role:
    role: Role = request.role
    return role


def _is_over(hold: Hold, now: datetime) -> bool:
    return hold.released_at is not None or (hold.ends_at is not None and hold.ends_at <= now)
