"""The one search box: pages, settings, stores, agents, sessions and paths, then a search in memories."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.models import IdempotentCall, Key, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure import ids
from memoryhub.pure.text.path_index import words_of
from memoryhub.pure.text.spellings import is_long_enough
from memoryhub.pure.text.visible import without_hidden
from memoryhub.web.audit.filters import CALL
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.guards.erasers import who_erases
from memoryhub.web.common.request import Request
from memoryhub.web.search import keys, names, places
from memoryhub.web.search.finder import MOST, cache, rows_of, typed
from memoryhub.web.search.highlight import marked_names

FEW = 6
"""The most listed names of a kind. If fewer paths than this are found in the store, other stores are searched too."""

MOST_PATHS = MOST_PAGES = 12
OTHERS, OTHERS_SECONDS = 20, 0.03
"""The most other stores that are searched for paths, and the most seconds for this search."""


@dataclass(frozen=True, slots=True)
class Group:
    """The matches of one kind, as list items with a label."""

    label: str
    rows: SafeString


@require_safe
@signed_in
def palette(request: Request) -> HttpResponse:
    """Show the groups on a page; a script gets them as a fragment. `only=paths` shows only paths."""
    user, query, store_id = person(request), typed(request), request.GET.get("store", "")
    if hint := keys.hint_in(query):
        found = [Group(_("Keys"), _rows(keys.pasted_key(user, hint), ()))]
        return _shown(request, {"groups": found, "typed": query, "store_id": store_id})
    only = "paths" if request.GET.get("only") == "paths" else ""
    words = words_of(query)
    pages = [] if only else list(_pages(user, words, store_id))
    groups = list(_paths(user, query, words, store_id, MOST if only else MOST_PATHS))
    if not only:
        groups = [
            *_keys(user, query),
            *pages,
            *_names(user, words),
            *_by_id(user, query.strip()),
            *groups,
        ]
    shown: dict[str, Any] = {"groups": groups, "typed": query, "store_id": store_id, "only": only}
    if query.strip() and not only:
        shown["searches"] = _searches(user, query.strip(), store_id)
    if words and not only:
        erasing = _erasing(user, query.strip(), words, store_id)
        # A query that names a page is not a text to erase.
        shown |= erasing if not pages or erasing.get("erase_first") or "ask_to_erase" in erasing else {}
    return _shown(request, shown)


def _shown(request: Request, shown: dict[str, Any]) -> HttpResponse:
    part = bool(request.headers.get("HX-Request"))
    return render(request, "search/_groups.html" if part else "search/palette.html", shown)


def _erasing(user: User, query: str, words: Sequence[str], store_id: str) -> dict[str, Any]:
    """Return the template context: the link to erase the typed text, or names of people who may erase."""
    is_named = names.has_words(_("Erase a person everywhere"), words) or words[0] in _erasing_words()
    text = query if not is_named else (query.split(maxsplit=1)[1] if len(words) > 1 else "")
    text = "" if names.has_words(_("Erase a person everywhere"), words_of(text)) else text
    if MemoryStore.objects.administered_by(user).exists():
        if not is_named and not _can_be_personal(text):
            return {}
        return {"may_erase": True, "erase_text": text if is_long_enough(text) else "", "erase_first": is_named}
    if not is_named:
        return {}
    visible = MemoryStore.objects.visible_to(user).values_list("pk", flat=True)
    return {"ask_to_erase": who_erases([pk for pk in visible if pk == store_id] or list(visible))}


def _can_be_personal(text: str) -> bool:
    """Return whether a text may be a name, an address or a number. A single word in lower-case ASCII letters is not: it
    rather names a page."""
    return not (text.isascii() and text.isalpha() and text.islower())


def _erasing_words() -> Sequence[str]:
    """Return the words that people type when they want to erase something."""
    return words_of(_("erase erasing erasure forget redact purge gdpr dsar"))


def _searches(user: User, query: str, store_id: str) -> list[tuple[str, str]]:
    """Return (URL, words) of the searches for the typed text: in the store of the page, and in all stores."""
    search = reverse("search")
    store = MemoryStore.objects.visible_to(user).filter(pk=store_id).first() if store_id else None
    of_all = (f"{search}?{urlencode({'q': query})}", _("Search memories for “%(text)s”") % {"text": query})
    if store is None:
        return [of_all]
    words = _("Search memories of %(store)s for “%(text)s”") % {"store": store.name, "text": query}
    return [(f"{search}?{urlencode({'q': query, 'store': store.pk})}", words), of_all]


def _keys(user: User, query: str) -> Iterable[Group]:
    """Yield a group of the keys that end with the typed text, if there are any."""
    ending = keys.ending_of(query)
    if ending and (found := list(keys.keys_ending(user, ending))):
        yield Group(_("Keys"), _rows(found, ()))


def _pages(user: User, words: Sequence[str], store_id: str) -> Iterable[Group]:
    """Yield groups of the pages, settings and documents of the guide that match the query."""
    if not words:
        return
    kinds = {
        _("Pages"): places.pages(user, store_id),
        _("Settings"): places.settings(user, store_id),
        _("Guide"): places.guide(),
    }
    for label, pages in kinds.items():
        found = [(url, name) for url, name, also in pages if _is_meant(name, also, words)]
        if found:
            found.sort(key=lambda page: not names.has_words(page[1], words))
            yield Group(label, _rows(found[:MOST_PAGES], words))


def _is_meant(name: str, also: str, words: Sequence[str]) -> bool:
    """Return whether each typed word is in a page's name, or is the beginning of a word in `also`."""
    others = [other for one in also.split() for other in words_of(one)]
    return all(names.has_words(name, [word]) or any(other.startswith(word) for other in others) for word in words)


def _names(user: User, words: Sequence[str]) -> Iterable[Group]:
    """Yield groups of stores, agents and sessions. Without words, yield only stores."""
    kinds = [(_("Memory stores"), "store", names.stores)]
    if words:
        kinds += [(_("Agents"), "agent", names.agents), (_("Sessions"), "session", names.sessions)]
    for label, route, found in kinds:
        if rows := found(user, words, FEW):
            yield Group(label, _rows([(reverse(route, args=[id]), name) for id, name in rows], words))


def _by_id(user: User, query: str) -> Iterable[Group]:
    """Yield a group with the memory, the version or the call whose id was typed."""
    if query.startswith((CALL, ids.REQUEST)):
        yield Group(_("Calls"), _rows(_of_call(user, query), ()))
    if not query.startswith((ids.MEMORY, ids.MEMORY_VERSION)):
        return
    stores = list(MemoryStore.objects.visible_to(user).values_list("pk", flat=True))
    if query.startswith(ids.MEMORY):
        for memory in Memory.objects.filter(store_id__in=stores, pk=query).only("store_id", "path"):
            yield Group(_("Memories"), _rows([(reverse("memory", args=[memory.store_id, query]), memory.path)], ()))
    else:
        for version in MemoryVersion.objects.filter(store_id__in=stores, pk=query).only("store_id", "number", "path"):
            name = _("Version %(number)s of %(path)s") % {"number": version.number, "path": version.path or "–"}
            yield Group(_("Versions"), _rows([(reverse("version", args=[version.store_id, query]), name)], ()))


def _of_call(user: User, query: str) -> Iterable[tuple[str, str]]:
    """Yield links to the newest FEW entries of calls with the id `query`, then the link to a search of the audit for
    this id."""
    stores = dict(MemoryStore.objects.visible_to(user).values_list("pk", "name"))
    keys = Key.objects.visible_to(user).values("pk")
    calls = IdempotentCall.objects.filter(store_id__in=stores, key__in=keys, token=query).order_by("-at")
    for store, seq in calls.values_list("store_id", "seq")[:FEW]:
        entry = _("Entry %(seq)s of %(store)s") % {"seq": seq, "store": stores[store]}
        yield reverse("entry", args=[store, seq]), entry
    yield f"{reverse('audit')}?{urlencode({'q': query})}", _("Search the audit for “%(text)s”") % {"text": query}


def _rows(links: Iterable[tuple[str, str]], words: Sequence[str]) -> SafeString:
    """Return list items for pairs (URL, name)."""
    rows = (
        f'<li class="found" data-list-item><a class="found-name row-link" href="{url}">{html}</a></li>'
        for url, html in ((url, marked_names(name, words)) for url, name in links)
    )
    return mark_safe("".join(rows))


def _paths(user: User, query: str, words: Sequence[str], store_id: str, limit: int) -> Iterable[Group]:
    """Yield a group with the matching paths of the store. If fewer than FEW match, yield also groups with matching
    paths of other stores."""
    found = 0
    seq = cache.last_seq(user, store_id) if store_id else None
    if seq is not None:
        entries = cache.paths_of(store_id, seq).find(query, limit)
        found = len(entries)
        if entries:
            yield Group(_("Paths"), rows_of(store_id, entries, words))
    if not words or found >= FEW:
        return
    until = time.perf_counter() + OTHERS_SECONDS
    others = MemoryStore.objects.visible_to(user).exclude(pk=store_id).by_name()
    for store in others.only("id", "name")[:OTHERS]:
        seq = cache.last_seq(user, store.id)
        entries = cache.paths_of(store.id, seq).find(query, limit - found) if seq is not None else []
        found += len(entries)
        if entries:
            label = _("Paths of %(store)s") % {"store": without_hidden(store.name)}
            yield Group(label, rows_of(store.id, entries, words))
        if found >= limit or time.perf_counter() > until:
            return
