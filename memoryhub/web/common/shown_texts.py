"""The record of the texts that a page shows to a person, for memory stores that record views.

A view calls `shows` before it renders the page. The middleware writes one audit entry for each store before the page is
sent. Some pages send further requests by themselves: the views for these do not call `shows`, because the page is
already recorded.
"""

from collections.abc import Iterable

from memoryhub.actions.memories import viewing
from memoryhub.models import MemoryStore, MemoryVersion
from memoryhub.pure.text.diffs import Diff
from memoryhub.web.common.guards.access import act, refused_if_gone
from memoryhub.web.common.request import Request

Place = tuple[str, str | None]
"""The ids of a memory and of its version; the latter is None if it is not known which version."""


def shows(request: Request, store: MemoryStore, places: Iterable[Place]) -> None:
    """Register for the audit entry that the page shows the texts in `places`, if the store records views.

    With empty `places`, only register that the page belongs to a store that records views.
    """
    if not _records(store):
        return
    noted = request.__dict__.setdefault("shown_texts", {}).setdefault(store.pk, {})
    for memory, version in places:
        noted.setdefault(memory, set()).update([version] if version else [])


def shows_versions(request: Request, store: MemoryStore, versions: Iterable[MemoryVersion | None]) -> None:
    """Call `shows` for the texts of `versions`. None and versions without a text are ignored."""
    shows(request, store, [(one.memory_id, one.pk) for one in versions if one is not None and one.text_id])


def shows_diff(
    request: Request, store: MemoryStore, diff: Diff | None, versions: Iterable[MemoryVersion | None]
) -> None:
    """Call `shows` for the texts of `versions` if their comparison `diff` has lines."""
    if diff is not None and diff.parts:
        shows_versions(request, store, versions)


def shows_of_stores(request: Request, places: Iterable[tuple[str, str, str | None]]) -> None:
    """Call `shows` for the texts in `places`, which may be in several stores. A place is (store, memory, version)."""
    by_store: dict[str, list[Place]] = {}
    for store, memory, version in places:
        by_store.setdefault(store, []).append((memory, version))
    for one in MemoryStore.present.filter(pk__in=by_store) if by_store else ():
        shows(request, one, by_store[one.pk])


def _records(store: MemoryStore) -> bool:
    """Return whether a store records views. For a throw-away copy, the current setting of its original counts."""
    if store.copy_of is None:
        return store.records_views
    return MemoryStore.objects.filter(pk=store.copy_of, records_views=True).exists()


def record(request: Request) -> None:
    """Write an audit entry for each store whose texts the page shows."""
    for store_id, shown in sorted(getattr(request, "shown_texts", {}).items()):
        if shown and request.resolver_match:
            with refused_if_gone():
                viewing.note(store_id, str(request.resolver_match.url_name), shown, act(request))
