"""Saved views: a name for a filter of a page, private or shared with the members of a store."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.search import saved_views
from memoryhub.models import MemoryStore, Role, SavedView, User
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.guards.access import act, person, signed_in
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.search.saved_views.pages import LONGEST_QUERY, PAGES, address, address_of, kept_query

MOST = 500
"""The most views that are listed."""
_METHODS = ["GET", "HEAD", "POST"]


@dataclass(frozen=True, slots=True)
class Row:
    """A view in a list. `url` is None if its page or store is no longer accessible."""

    view: SavedView
    label: str
    url: str | None
    store: MemoryStore | None
    is_own: bool
    may_delete: bool
    may_rename: bool

    @property
    def filter(self) -> str:
        """Return the filter as people read it."""
        pairs = parse_qsl(self.view.query)
        return "  ".join(f"{name}:{value}" if name != "q" else value for name, value in pairs)


class NameForm(forms.Form):
    """The name of a view."""

    name = forms.CharField(
        label=_("Name"), max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True})
    )


class SaveForm(NameForm):
    """The name of a view, and the store whose members see it, if it is shared."""

    share = forms.ChoiceField(label=_("Who sees it"), required=False)

    def __init__(self, shareable: Sequence[MemoryStore], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        members = [
            (store.pk, gettext("All members of %(store)s") % {"store": without_hidden(store.name)})
            for store in shareable
        ]
        choices: Any = [("", gettext("Only me")), *members]
        self.fields["share"].choices = choices  # type: ignore[attr-defined]


@require_safe
@signed_in
def listing(request: Request) -> HttpResponse:
    """List the person's own views and the views that others share with the person."""
    rows = rows_of(person(request), SavedView.objects.visible_to(person(request)))
    return render(
        request,
        "search/saved_views/page.html",
        {
            "own": [row for row in rows if row.is_own],
            "shared": [row for row in rows if not row.is_own],
        },
    )


@require_http_methods(_METHODS)
@signed_in
def save(request: Request) -> HttpResponse:
    """Save a filter of a page. The parameters are the page (`page`), the filter (`query`), and the page's store
    (`store`), if any."""
    given = request.POST if request.method == "POST" else request.GET
    page, query = PAGES.get(given.get("page", "")), kept_query(given.get("query", ""))
    if page is None:
        raise Http404
    user = person(request)
    store = _store(user, given.get("store", "")) if page.of_store else None
    form = SaveForm(_shareable(user, store), request.POST if request.method == "POST" else None)
    leads_to = address(page.name, store.pk if store else None, query)
    if leads_to is None:
        raise Http404
    if len(query) > LONGEST_QUERY and form.is_bound:
        form.add_error(None, gettext("This filter is too long to be saved. Use a shorter one."))
    elif form.is_valid() and _saved(request, form, store, page.name, query):
        messages.success(
            request, gettext("The view “%(name)s” is saved.") % {"name": isolated(form.cleaned_data["name"])}
        )
        return see_other(leads_to)
    return render(
        request,
        "search/saved_views/save.html",
        {
            "form": form,
            "page": page,
            "query": query,
            "store": store,
            "leads_to": leads_to,
        },
    )


@require_http_methods(_METHODS)
@signed_in
def rename(request: Request, view_id: str) -> HttpResponse:
    view = _changeable(request, view_id)
    user = person(request)
    if not _may_rename(user, view, user.role_in(view.store) if view.store else None):
        raise PermissionDenied
    form = NameForm(request.POST if request.method == "POST" else None, initial={"name": view.name})
    if form.is_valid():
        try:
            saved_views.rename(view.pk, form.cleaned_data["name"], act(request))
        except saved_views.NameTaken:
            form.add_error("name", _taken(view.owner == user))
        except saved_views.NoSuchView:
            return _gone(request)
        else:
            messages.success(
                request, gettext("The view is now called “%(name)s”.") % {"name": isolated(form.cleaned_data["name"])}
            )
            return see_other("saved_views")
    return render(request, "search/saved_views/rename.html", {"form": form, "view": view, "url": address_of(view)})


@require_POST
@signed_in
def delete(request: Request, view_id: str) -> HttpResponse:
    try:
        view = saved_views.delete(_changeable(request, view_id).pk, act(request))
    except saved_views.NoSuchView:
        return _gone(request)
    messages.success(request, gettext("The view “%(name)s” is deleted.") % {"name": isolated(view.name)})
    return see_other("saved_views")


def rows_of(user: User, views: Iterable[SavedView]) -> list[Row]:
    """Return rows for the views, sorted by name, with the person's permissions. Views of pages that no longer exist are
    left out."""
    found = list(views.select_related("store", "owner").by_name()[:MOST])  # type: ignore[attr-defined]
    ids = {view.store_id for view in found if view.store_id}
    visible = {store.pk: store for store in MemoryStore.objects.visible_to(user).filter(pk__in=ids)}
    shared = {view.store_id for view in found if view.is_shared and view.store_id}
    roles = {id: user.role_in(visible[id]) for id in shared if id in visible}
    return [
        _row(user, view, visible.get(view.store_id or ""), roles.get(view.store_id or ""))
        for view in found
        if view.page in PAGES
    ]


def _row(user: User, view: SavedView, store: MemoryStore | None, role: Role | None) -> Row:
    """Return the view as a row; `role` is the person's role in the store of a shared view."""
    url = address_of(view) if store or not view.store_id else None
    is_own = view.owner_id == user.pk
    may_delete, may_rename = is_own or role == Role.ADMIN, _may_rename(user, view, role)
    return Row(view, str(PAGES[view.page].label), url, store, is_own, may_delete, may_rename)


def _may_rename(user: User, view: SavedView, role: Role | None) -> bool:
    if view.owner_id == user.pk:
        return not view.is_shared or bool(role and role.includes(Role.CURATOR))
    return role == Role.ADMIN


def _looks_after(user: User, store: MemoryStore | None) -> bool:
    """Return whether the person is an admin of the view's store."""
    role = user.role_in(store) if store else None
    return role == Role.ADMIN


def _changeable(request: Request, view_id: str) -> SavedView:
    """Return a view that the person may delete. Raises Http404 if the person cannot see the view, and PermissionDenied
    if the person may not delete it."""
    user = person(request)
    view = SavedView.objects.visible_to(user).filter(pk=view_id).select_related("store", "owner").first()
    if view is None:
        raise Http404
    if view.owner_id != user.pk and not _looks_after(user, view.store):
        raise PermissionDenied
    return view


def _store(user: User, store_id: str) -> MemoryStore:
    store = MemoryStore.objects.visible_to(user).filter(pk=store_id.replace("\0", "")).first()
    if store is None:
        raise Http404
    return store


def _shareable(user: User, store: MemoryStore | None) -> list[MemoryStore]:
    """Return the stores with whose members the person may share a view."""
    if store is not None:
        role = user.role_in(store)
        return [store] if role and role.includes(Role.CURATOR) else []
    mine = MemoryStore.objects.active().by_name()
    if not user.is_superuser:
        mine = mine.filter(members__user=user, members__role__in=[Role.CURATOR, Role.ADMIN])
    return list(mine[:MOST])


def _saved(request: Request, form: SaveForm, store: MemoryStore | None, page: str, query: str) -> bool:
    """Save the view and return True. If that is refused, add an error to the form and return False."""
    share = form.cleaned_data["share"]
    at = store or (MemoryStore.objects.filter(pk=share).first() if share else None)
    try:
        saved_views.save(
            person(request), at, page, form.cleaned_data["name"], query, act(request), is_shared=bool(share)
        )
    except saved_views.NameTaken:
        form.add_error("name", _taken(True))
        return False
    except saved_views.TooManyViews:
        said = gettext("You already have %(most)s saved views. Delete one first.")
        form.add_error(None, said % {"most": saved_views.MOST_OWN})
        return False
    return True


def _taken(is_own: bool) -> str:
    if is_own:
        return gettext("You already have a view with this name for this page.")
    return gettext("Its owner already has a view with this name for this page.")


def _gone(request: Request) -> HttpResponse:
    messages.warning(request, gettext("Someone has deleted this view in the meantime."))
    return see_other("saved_views")
