"""The palette: memory stores, paths, agents and settings by parts of their names; the page adds its own actions."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.models import Agent, MemoryStore, User
from memoryhub.text.folding import fold
from memoryhub.text.path_index import words_of
from memoryhub.text.visible import without_hidden
from memoryhub.web.common.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.search import finder_cache, settings_pages
from memoryhub.web.search.finder import MOST, rows_of, typed
from memoryhub.web.search.highlight import marked
from memoryhub.web.search.search import may_erase

FEW = 6
"""The most stores and agents listed; with fewer paths than this in the store, other stores are searched too."""

MOST_PATHS = MOST_SETTINGS = 12
MOST_NAMES = 1000
OTHERS, OTHERS_SECONDS = 20, 0.03
"""The limits on the number of other stores and on the time for them."""


@dataclass(frozen=True, slots=True)
class Group:
    """The matches of one kind, as list items."""

    label: str
    rows: SafeString


@require_safe
@signed_in
def palette(request: Request) -> HttpResponse:
    """Show the groups on a page, or as a fragment to a script; `only=paths` shows only paths."""
    user, query, store_id = person(request), typed(request), request.GET.get("store", "")
    only = "paths" if request.GET.get("only") == "paths" else ""
    words = words_of(query)
    groups = list(_paths(user, query, words, store_id, MOST if only else MOST_PATHS))
    if not only:
        groups = [*_stores(user, words), *groups, *_agents(user, words), *_settings(user, words, store_id)]
    shown: dict[str, Any] = {"groups": groups, "typed": query, "store_id": store_id, "only": only}
    if words and not only and MemoryStore.objects.administered_by(user).exists():
        shown |= {"may_erase": True, "may_erase_text": may_erase(query) and not _names_erasing(words)}
    part = bool(request.headers.get("HX-Request"))
    return render(request, "search/_groups.html" if part else "search/palette.html", shown)


def _names_erasing(words: Sequence[str]) -> bool:
    """Return whether somebody types the name of the act, and not a text to erase."""
    return _has(_("Erase a person everywhere"), words)


def _stores(user: User, words: Sequence[str]) -> Iterable[Group]:
    names = MemoryStore.objects.visible_to(user).by_name().values_list("id", "name")
    return _named(_("Memory stores"), "store", names[:MOST_NAMES], words)


def _agents(user: User, words: Sequence[str]) -> Iterable[Group]:
    if not words:
        return []
    names = Agent.objects.visible_to(user).by_name().values_list("id", "name")
    return _named(_("Agents"), "agent", names[:MOST_NAMES], words)


def _settings(user: User, words: Sequence[str], store_id: str) -> Iterable[Group]:
    """Yield a group of the pages of settings whose names contain all words."""
    if not words:
        return
    pages = [(url, name) for url, name in settings_pages.pages(user, store_id) if _has(name, words)]
    if pages:
        yield Group(_("Settings"), _rows(pages[:MOST_SETTINGS], words))


def _has(name: str, words: Sequence[str]) -> bool:
    folded = fold(name)
    return all(word in folded for word in words)


def _named(label: str, route: str, names: Iterable[tuple[str, str]], words: Sequence[str]) -> Iterable[Group]:
    """Yield a group of the names that contain all words; names that begin with the first word come first."""
    folded = [(fold(name), id, name) for id, name in names]
    found = [row for row in folded if all(word in row[0] for word in words)]
    if words:
        found.sort(key=lambda row: (not row[0].startswith(words[0]), row))
    if found:
        yield Group(label, _rows([(reverse(route, args=[id]), name) for _folded, id, name in found[:FEW]], words))


def _rows(links: Iterable[tuple[str, str]], words: Sequence[str]) -> SafeString:
    """Return (address, name) pairs as list items."""
    rows = (
        f'<li class="found" data-list-item><a class="found-name row-link" href="{url}">{marked(name, words)}</a></li>'
        for url, name in links
    )
    return mark_safe("".join(rows))


def _paths(user: User, query: str, words: Sequence[str], store_id: str, limit: int) -> Iterable[Group]:
    """Yield groups with the paths of the store; if few paths match, also with the paths of other stores."""
    found = 0
    seq = finder_cache.last_seq(user, store_id) if store_id else None
    if seq is not None:
        entries = finder_cache.paths_of(store_id, seq).find(query, limit)
        found = len(entries)
        if entries:
            yield Group(_("Paths"), rows_of(store_id, entries, words))
    if not words or found >= FEW:
        return
    until = time.perf_counter() + OTHERS_SECONDS
    others = MemoryStore.objects.visible_to(user).exclude(pk=store_id).by_name()
    for store in others.only("id", "name")[:OTHERS]:
        seq = finder_cache.last_seq(user, store.id)
        entries = finder_cache.paths_of(store.id, seq).find(query, limit - found) if seq is not None else []
        found += len(entries)
        if entries:
            label = _("Paths of %(store)s") % {"store": without_hidden(store.name)}
            yield Group(label, rows_of(store.id, entries, words))
        if found >= limit or time.perf_counter() > until:
            return
