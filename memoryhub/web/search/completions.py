"""Completes a filter while a person types it: keys, values, phrases and names."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.models import HUB, Directory, MemoryStore, User
from memoryhub.pure.text.filter_words import NOT, PHRASES, as_value
from memoryhub.pure.text.folding import fold
from memoryhub.pure.text.path_index import words_of
from memoryhub.web.common.filters import LONGEST
from memoryhub.web.common.filters.keys import KEYS, choices_of, shown
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.search import names

MOST = 16
"""The most completions that are listed. If there are more, their number is shown."""

MOST_NAMES = 10
MOST_STORES = 10
"""The most stores whose directories are offered to complete a path."""

LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Option:
    """A completion: the text that replaces the word that is being typed, its label and a hint."""

    text: str
    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Typing:
    """The word at the end of a typed text."""

    start: int  # where the word begins in the text
    sign: str  # `-` or ""
    key: str
    value: str  # the typed part of the value
    before: str  # the word before it

    @classmethod
    def of(cls, text: str) -> "Typing":
        """Return the unfinished word or filter at the end of a text."""
        opened = text.rfind('"') if text.count('"') % 2 else -1
        start = max(text.rfind(" ", 0, opened if opened >= 0 else None), -1) + 1
        word, words = text[start:], text[:start].split()
        sign = NOT if word.startswith(NOT) else ""
        key, colon, value = word.removeprefix(NOT).partition(":")
        if not colon or key.startswith('"'):
            key, value = "", word.removeprefix(NOT)
        return cls(start, sign, key, value.removeprefix('"'), words[-1].lower() if words else "")


@require_safe
@signed_in
def completions(request: Request) -> HttpResponse:
    """Answer with completions for the end of the text `q`. `keys` are the keys that the page's filter accepts."""
    typing = Typing.of(request.GET.get("q", "")[:LONGEST])
    keys = [key for key in request.GET.get("keys", "").split() if key in KEYS]
    options = list(_options(person(request), typing, keys, request.GET.get("store", "")))
    more = max(len(options) - MOST, 0)
    shown = {"options": options[:MOST], "more": more, "start": typing.start}
    return render(request, "search/_completions.html", shown)


def _options(user: User, typing: Typing, keys: Sequence[str], store_id: str) -> Iterator[Option]:
    if typing.key:
        if typing.key in keys:
            before = f"{typing.sign}{typing.key}:"
            for value, label in _values(user, typing.key, typing.value, store_id):
                yield Option(f"{before}{as_value(value)} ", label, value if value != label else "")
        return
    if typing.before == "by" and not typing.sign:
        yield from _authors(user, typing.value, keys)
        return
    if typing.value.startswith("/") and "path" in keys:
        written = "" if typing.before == "in" and not typing.sign else f"{typing.sign}path:"
        for path in _directories(user, typing.value, store_id):
            yield Option(f"{written}{as_value(path)} ", path, str(KEYS["path"].label))
        return
    yield from _keys(typing, keys)
    if not typing.sign:
        yield from _phrases(typing.value, keys)
        yield from _named(user, typing.value, keys)


def _keys(typing: Typing, keys: Sequence[str]) -> Iterator[Option]:
    for key in keys:
        fits = key.startswith(typing.value.lower()) and (KEYS[key].can_exclude or not typing.sign)
        if fits:
            yield Option(f"{typing.sign}{key}:", f"{typing.sign}{key}:", str(KEYS[key].label))


def _phrases(typed: str, keys: Sequence[str]) -> Iterator[Option]:
    for phrase, (key, value) in PHRASES.items():
        if typed and key in keys and phrase.startswith(typed.lower()):
            yield Option(f"{phrase} ", phrase, f"{KEYS[key].label}: {shown(key, value)}")


def _named(user: User, typed: str, keys: Sequence[str]) -> Iterator[Option]:
    if len(typed) > 1 and "agent" in keys:
        for _id, name in names.agents(user, words_of(typed), 4):
            yield Option(f"agent:{as_value(name)} ", name, str(KEYS["agent"].label))


def _authors(user: User, typed: str, keys: Sequence[str]) -> Iterator[Option]:
    words = words_of(typed)
    if "agent" in keys:
        for _id, name in names.agents(user, words, 6):
            yield Option(f"{as_value(name)} ", name, str(KEYS["agent"].label))
    if "person" in keys:
        for email, name in names.people(user, words, 6):
            yield Option(f"{as_value(email)} ", name, email)


def _values(user: User, key: str, typed: str, store_id: str) -> Iterable[tuple[str, str]]:
    """Return (value, label) for the values of a key that contain the typed text."""
    words = words_of(typed)
    choices = choices_of(key, with_hub=user.is_superuser and not store_id)
    if choices is not None:
        return [(value, words) for value, words in choices if fold(typed) in fold(f"{value} {words}")]
    found: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
        "agent": lambda: [(name, name) for _id, name in names.agents(user, words, MOST_NAMES)],
        "person": lambda: names.people(user, words, MOST_NAMES),
        "assigned": lambda: names.people(user, words, MOST_NAMES),
        "session": lambda: names.sessions(user, words, MOST_NAMES),
        "store": lambda: _stores(user, words),
        "path": lambda: [(path, path) for path in _directories(user, typed or "/", store_id)],
    }
    return found[key]() if key in found else []


def _stores(user: User, words: Sequence[str]) -> list[tuple[str, str]]:
    """Return (value, name) of the stores whose names contain the typed words. The value is the store's name, or the
    store's id if several of these stores have the same name."""
    found = names.stores(user, words, MOST_NAMES)
    alike = [name for _id, name in found]
    hub = [(HUB, _("The hub itself"))] if user.is_superuser and names.has_words(HUB, words) else []
    return [*((id if alike.count(name) > 1 else name, name) for id, name in found), *hub]


def _directories(user: User, typed: str, store_id: str) -> list[str]:
    """Return the first MOST_NAMES directories whose path begins with the typed text. An empty `store_id` means all
    stores."""
    stores = MemoryStore.objects.visible_to(user).by_name()
    chosen = stores.filter(pk=store_id) if store_id else stores
    found: set[str] = set()
    for store in chosen.values_list("pk", flat=True)[:MOST_STORES]:
        beneath = Directory.objects.filter(store_id=store, path__gte=typed, path__lt=typed + LAST).exclude(path="")
        found |= set(beneath.order_by("path").values_list("path", flat=True)[:MOST_NAMES])
    return sorted(found)[:MOST_NAMES]
