"""Agents, people and sessions that a filter names but that do not exist, with a similar existing name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from django.db.models import Q

from memoryhub.actions.accounts.keys_and_roles import fold_name
from memoryhub.actions.verification.entries import ANY_SESSION
from memoryhub.models import Agent, Session, User
from memoryhub.models.access import fold_email
from memoryhub.pure import ids

MOST = 500
"""The most known names that are compared with an unknown name."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown name in a filter of the kind `agent`, `person` or `session`, with a similar known name (or "")."""

    key: str
    name: str
    near: str = ""
    query: str = ""


def unknown_author(values: Mapping[str, str], chains: Sequence[str]) -> Unknown | None:
    """Return an agent, person or session in a filter's `values` that is unknown in the stores of `chains`. Return
    None if there is none.

    Ids of agents and people are not looked up.
    """
    if (agent := values.get("agent")) and not agent.startswith(ids.AGENT):
        known = Agent.objects.known_in(chains)
        if not known.filter(folded_name=fold_name(agent)).exists():
            return Unknown("agent", agent, _similar(agent, known.by_name().values_list("name", flat=True)[:MOST]))
    elif (person := values.get("person")) and not person.startswith(ids.USER):
        people = User.objects.known_in(chains)
        if not people.filter(email=fold_email(person)).exists():
            emails = people.order_by("email").values_list("email", flat=True)[:MOST]
            return Unknown("person", person, _similar(person, emails))
    session = values.get("session")
    return _unknown_session(session, values.get("agent"), chains) if session not in (None, ANY_SESSION) else None


def _unknown_session(session: str, agent: str | None, chains: Sequence[str]) -> Unknown | None:
    """Return an unknown session with a similar known name, or None if `chains` know the session."""
    known = Session.objects.known_in(chains)
    if session.startswith(ids.SESSION):
        return None if known.filter(pk=session).exists() else Unknown("session", session)
    of_agent = Q(agent=agent) if agent and agent.startswith(ids.AGENT) else Q(agent__folded_name=fold_name(agent or ""))
    if known.filter(of_agent, name=session).exists():
        return None
    names = known.filter(of_agent).newest().values_list("name", flat=True)[:MOST]
    return Unknown("session", session, _similar(session, names))


def _similar(name: str, known: Iterable[str]) -> str:
    """Return a name in `known` that is like `name`, or ""."""
    typed, folded = fold_name(name), {fold_name(one): one for one in known}
    parts = sorted((one for one in folded if typed in one), key=lambda one: (not one.startswith(typed), one))
    near = parts[:1] or get_close_matches(typed, folded, 1)
    return folded[near[0]] if near else ""
