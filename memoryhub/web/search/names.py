"""Names that contain the typed words: of stores, agents, people and sessions that the person may see."""

from collections.abc import Iterable, Sequence

from memoryhub.models import Agent, MemoryStore, Session, User
from memoryhub.pure.text.folding import fold
from memoryhub.web.common.filters.names import people_visible_to

MOST_NAMES = 1000
MOST_SESSIONS = 1000
"""The most sessions whose names are compared: the newest of the hub."""

Named = tuple[str, str]
"""An id and a name."""


def stores(user: User, words: Sequence[str], limit: int) -> list[Named]:
    return best(MemoryStore.objects.visible_to(user).by_name().values_list("id", "name")[:MOST_NAMES], words, limit)


def agents(user: User, words: Sequence[str], limit: int) -> list[Named]:
    return best(Agent.objects.visible_to(user).by_name().values_list("id", "name")[:MOST_NAMES], words, limit)


def people(user: User, words: Sequence[str], limit: int) -> list[Named]:
    """Return (e-mail address, name) of people; the words may be in either of them."""
    rows = people_visible_to(user).values_list("email", "name")[:MOST_NAMES]
    names = dict(rows)
    chosen = best(((email, f"{name} {email}") for email, name in names.items()), words, limit)
    return [(email, names[email] or email) for email, _both in chosen]


def sessions(user: User, words: Sequence[str], limit: int) -> list[Named]:
    """Return the newest sessions in visible stores. Each session's name is followed by the agent's name."""
    newest = Session.objects.filter(pk__in=Session.objects.newest().values("pk")[:MOST_SESSIONS]).newest()
    visible = newest.filter(agent__in=Agent.objects.visible_to(user))
    rows = visible.values_list("id", "name", "agent__name")
    named = {id: f"{name} · {agent}" for id, name, agent in rows if has_words(f"{id} {name}", words)}
    some = list(named)[: 3 * limit]
    stores = list(MemoryStore.objects.visible_to(user).values_list("pk", flat=True))
    seen = set(Session.objects.filter(pk__in=some).known_in(stores).values_list("pk", flat=True))
    return [(id, named[id]) for id in some if id in seen][:limit]


def best(rows: Iterable[Named], words: Sequence[str], limit: int) -> list[Named]:
    """Return the first `limit` rows whose names contain all folded words. Names that begin with the first word come
    first."""
    found = [(fold(name), id, name) for id, name in rows if has_words(name, words)]
    if words:
        found.sort(key=lambda row: (not row[0].startswith(words[0]), row))
    return [(id, name) for _folded, id, name in found[:limit]]


def has_words(name: str, words: Sequence[str]) -> bool:
    folded = fold(name)
    return all(word in folded for word in words)
