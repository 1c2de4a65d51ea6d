"""Filters of pages that people save under a name.

A store's chain gets an entry when a person shares a view with the store's members, and at each later change of this
view. Other views make no entries.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.core.tree import Tree
from memoryhub.models import MemoryStore, SavedView, User
from memoryhub.pure import ids

MOST_OWN = 200
"""The most views that a person may have."""


class TooManyViews(Exception):
    """The person already has the highest allowed number of views."""


class NameTaken(Exception):
    """The person already has a view with this name for the page."""


class NoSuchView(Exception):
    """The view does not exist any more."""


def save(
    owner: User, store: MemoryStore | None, page: str, name: str, query: str, act: Act, *, is_shared: bool = False
) -> SavedView:
    """Save the query of a page as a view, and return the view. Raises NameTaken and TooManyViews.

    `store` is None for a view that belongs to no store; a shared view needs a store.
    """
    with writing():
        if SavedView.objects.filter(owner=owner).count() >= MOST_OWN:
            raise TooManyViews
        if is_shared:
            if store is None:
                raise ValueError("a shared view belongs to a store")
            _note(tree.lock(store.pk, act), "share_view", {"page": page, "name": name, "query": query})
        with _name_of_its_own(name):
            return SavedView.objects.create(
                id=ids.new_id(ids.SAVED_VIEW, act.at),
                owner=owner,
                store=store,
                page=page,
                name=name,
                query=query,
                is_shared=is_shared,
                created_at=act.at,
            )


def rename(view_id: str, name: str, act: Act) -> None:
    """Rename a view; do nothing if it has this name. Raises NameTaken and NoSuchView."""
    with writing():
        view, store = _locked(view_id, act)
        if view.name == name:
            return
        if store:
            _note(store, "rename_view", {"page": view.page, "name": [view.name, name]})
        with _name_of_its_own(name):
            SavedView.objects.filter(pk=view.pk).update(name=name)


def delete(view_id: str, act: Act) -> SavedView:
    """Delete a view and return it. Raises NoSuchView."""
    with writing():
        view, store = _locked(view_id, act)
        if store:
            _note(store, "delete_view", {"page": view.page, "name": view.name, "query": view.query})
        SavedView.objects.filter(pk=view.pk).delete()
    return view


def _locked(view_id: str, act: Act) -> tuple[SavedView, Tree | None]:
    """Return the current view, and its locked store if the view is shared (else None). Raises NoSuchView."""
    found = SavedView.objects.filter(pk=view_id)
    view = found.first()
    if view is None:
        raise NoSuchView(view_id)
    store = tree.lock(view.store_id, act) if view.is_shared and view.store_id else None
    view = found.select_for_update().first()
    if view is None:
        raise NoSuchView(view_id)
    return view, store


@contextmanager
def _name_of_its_own(name: str) -> Iterator[None]:
    """Raise NameTaken if the block fails because the person already has a view with this name."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise NameTaken(name) from error


def _note(store: Tree, command: str, details: dict[str, object]) -> None:
    tree.commit(store, Record(command, input=audit.to_json(details)))
