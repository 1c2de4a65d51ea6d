"""Agents and people that a filter names and that do not exist, with a similar name of one that does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from memoryhub import ids
from memoryhub.actions.accounts.keys_and_roles import fold_name
from memoryhub.models import Agent, User
from memoryhub.models.access import fold_email

MOST = 500
"""How many names are compared with one that is not known."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The filter (`agent` or `person`), the name in it, and a similar name of one that is known ("": none)."""

    key: str
    name: str
    near: str = ""
    query: str = ""


def unknown_author(values: Mapping[str, str], chains: Sequence[str]) -> Unknown | None:
    """Return the agent or person of a filter, if no one of that name is known in these chains."""
    if (agent := values.get("agent")) and not agent.startswith(ids.AGENT):
        known = Agent.objects.known_in(chains)
        if not known.filter(folded_name=fold_name(agent)).exists():
            return Unknown("agent", agent, _similar(agent, known.by_name().values_list("name", flat=True)[:MOST]))
    elif (person := values.get("person")) and not person.startswith(ids.USER):
        people = User.objects.known_in(chains)
        if not people.filter(email=fold_email(person)).exists():
            emails = people.order_by("email").values_list("email", flat=True)[:MOST]
            return Unknown("person", person, _similar(person, emails))
    return None


def _similar(name: str, known: Iterable[str]) -> str:
    """Return the name that begins so, that has this part, or that is spelt alike; "" if there is none."""
    typed, folded = fold_name(name), {fold_name(one): one for one in known}
    parts = sorted((one for one in folded if typed in one), key=lambda one: (not one.startswith(typed), one))
    near = parts[:1] or get_close_matches(typed, folded, 1)
    return folded[near[0]] if near else ""
