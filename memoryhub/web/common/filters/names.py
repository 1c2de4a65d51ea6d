"""The names of authors that a person may use in a filter: agents and people whom the person may see."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from memoryhub.actions.accounts.keys_and_roles import fold_name
from memoryhub.models import Agent, MemoryStore, User
from memoryhub.models.access import fold_email
from memoryhub.pure.text.filter_words import MOST_WORDS_OF_A_NAME, Names
from memoryhub.web.common.filters.keys import Choices

MOST_LOOKUPS = 4
MOST_LISTED = 200
"""The most names in a list to choose from. If there are more, the person types the name instead."""


def people_visible_to(user: User) -> QuerySet[User]:
    """Return the people who have a role or an audit entry in a store that `user` may see; all for a superuser."""
    people = User.objects.order_by("email")
    if user.is_superuser:
        return people
    return people.known_in(list(MemoryStore.objects.visible_to(user).values_list("pk", flat=True)))


def choices_for(user: User, key: str) -> Choices:
    """Return the ids and names that a person may choose as a value of `key`. Return none if there are more than
    MOST_LISTED, or if the key has no names."""
    rows: QuerySet[Any, tuple[str, str]]
    if key == "store":
        rows = MemoryStore.objects.visible_to(user).by_name().values_list("id", "name")
    elif key == "agent":
        rows = Agent.objects.visible_to(user).by_name().values_list("id", "name")
    elif key in ("person", "assigned"):
        rows = people_visible_to(user).values_list("id", "email")
    else:
        return []
    listed = list(rows[: MOST_LISTED + 1])
    often = Counter(name for _id, name in listed)
    named = [(id, name if often[name] == 1 else f"{name} ({id})") for id, name in listed]
    return named if len(named) <= MOST_LISTED else []


def names_for(user: User | None) -> Names:
    """Return a function that finds an agent or a person by the name at the beginning of a list of words.

    The longest name is preferred. A first name is enough if only one visible person has it. After MOST_LOOKUPS calls,
    the function finds nothing more.
    """
    lookups = iter(range(MOST_LOOKUPS))

    def author(words: Sequence[str]) -> tuple[str, str, int] | None:
        if user is None or next(lookups, None) is None:
            return None
        counts = {" ".join(words[:count]): count for count in range(min(len(words), MOST_WORDS_OF_A_NAME), 0, -1)}
        folded = {fold_name(name): name for name in counts}
        known = Agent.objects.visible_to(user).filter(folded_name__in=folded)
        agents = set(known.values_list("folded_name", flat=True))
        people = _people(user, list(counts))
        for name, count in counts.items():
            if fold_name(name) in agents:
                return "agent", name, count
            if email := people.get(name):
                return "person", email, count
        return ("person", email, 1) if (email := _of_first_name(user, words[0])) else None

    return author


def _of_first_name(user: User, name: str) -> str | None:
    """Return the e-mail address of the only visible person whose name or first name is `name`, or None."""
    found = people_visible_to(user).filter(Q(name__iexact=name) | Q(name__istartswith=f"{name} "))
    emails = list(found.values_list("email", flat=True)[:2])
    return emails[0] if len(emails) == 1 else None


def _people(user: User, names: Sequence[str]) -> dict[str, str]:
    """Return {name or address: e-mail address} of visible people; names that several people have are left out."""
    emails = {fold_email(name): name for name in names}
    found = people_visible_to(user).filter(Q(email__in=emails) | Q(name__in=names)).values_list("name", "email")[:50]
    rows = list(found)
    by_name = {name: email for name, email in rows if [row[0] for row in rows].count(name) == 1}
    return by_name | {emails[email]: email for _name, email in rows if email in emails}
