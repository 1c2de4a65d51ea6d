"""Audit entries as table rows with links: the actor, the place, the act and its outcome."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.models import HUB, AuditChain, AuditEntry, MemoryStore, Session, User
from memoryhub.models.audit import BECAME_A_PROPOSAL, ActorKind
from memoryhub.web.audit.filters import NO_FILTER, Filter
from memoryhub.web.audit.masking import Entries, memories_there
from memoryhub.web.audit.names import names_in
from memoryhub.web.audit.sentences import told_of, words_of
from memoryhub.web.common.acts import HOLDS, act_words, hold_words, tried_words

MESSAGE_START = 400
"""The number of characters of a message's JSON that a list loads."""


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as a table row. A link is None if no page exists for it.

    `actor_query` and `session_query` are query strings that add the entry's author or session to the filter.
    """

    entry: AuditEntry
    place: str
    actor_query: str | None
    session: str | None
    session_query: str
    act: str
    words: str | None
    error: str
    is_proposed: bool
    memory_url: str | None
    duration: str


def visible_chains(user: User) -> list[str]:
    """Return the chains that a person may see. Only superusers see the hub's chain and the chains of deleted stores."""
    if user.is_superuser:
        return list(AuditChain.objects.order_by("pk").values_list("pk", flat=True))
    return list(MemoryStore.objects.visible_to(user).order_by("pk").values_list("pk", flat=True))


def rows_of(entries: Sequence[AuditEntry], wanted: Filter) -> list[Row]:
    """Return entries as rows, with one query for each kind of object that they name."""
    places = chain_names({entry.chain for entry in entries})
    sessions = dict(Session.objects.filter(pk__in={e.session for e in entries if e.session}).values_list("id", "name"))
    inputs = _inputs_of([e for e in entries if (e.path is None or e.command in HOLDS) and _is_short(e)])
    words = words_by_entry(entries, inputs)
    there, seen = memories_there(entries), Entries([entry for entry in entries if not entry.ok])
    return [
        Row(
            entry=entry,
            place=places[entry.chain],
            actor_query=by_actor(entry, wanted),
            session=sessions.get(entry.session or "", entry.session),
            session_query=wanted.with_value("session", entry.session or "").query(),
            act=_act(entry, inputs.get((entry.chain, entry.seq), {})),
            words=words.get((entry.chain, entry.seq)),
            error=error_of(entry, seen),
            is_proposed=(getattr(entry, "message_start", None) or "").startswith(BECAME_A_PROPOSAL),
            memory_url=memory_url(entry) if entry.memory in there else None,
            duration=in_time(entry.duration),
        )
        for entry in entries
    ]


def words_by_entry(
    entries: Sequence[AuditEntry], inputs: Mapping[tuple[str, int], dict[str, Any]] | None = None
) -> dict[tuple[str, int], str]:
    """Return {(chain, seq): a sentence on what happened} for the entries that have an input in `inputs`.

    `inputs` is {(chain, seq): parsed input}. Without `inputs`, the inputs of all entries are loaded. In this case, pass
    only entries whose inputs hold no texts (see `_is_short`).
    """
    inputs = _inputs_of(entries) if inputs is None else inputs
    named = [entry for entry in entries if (entry.chain, entry.seq) in inputs]
    names = names_in(inputs.values(), {chain for chain, _ in inputs}, versions=[entry.version for entry in named])
    return {(one.chain, one.seq): words_of(one, inputs[one.chain, one.seq], names) for one in named}


def _act(entry: AuditEntry, details: dict[str, Any]) -> str:
    """Return short words for the act of an entry, such as “created”. The page shows the entry's path after them."""
    if not entry.ok:
        return tried_words(entry.command)
    if entry.command in HOLDS:
        return hold_words(entry.command, is_hold=details.get("what") == "hold")
    return act_words(entry.command)


def chain_names(chains: Iterable[str]) -> dict[str, str]:
    """Return {chain: name}: the store's name, or its id if the store was deleted."""
    names = {chain: chain for chain in chains} | {HUB: _("Hub")}
    return names | dict(MemoryStore.present.filter(pk__in=names).values_list("id", "name"))


def by_actor(entry: AuditEntry, wanted: Filter = NO_FILTER) -> str | None:
    """Return the query string that adds the entry's agent or person to the filter `wanted`. Return None if the entry
    has neither."""
    if entry.author_id is None:
        return None
    key = "agent" if entry.actor_kind == ActorKind.KEY else "person"
    return wanted.without("agent", "person").with_value(key, entry.author_id).query()


def memory_url(entry: AuditEntry) -> str | None:
    """Return the URL of the entry's memory, or None if the entry has no memory."""
    if entry.memory is None or entry.chain == HUB:
        return None
    return reverse("memory", args=[entry.chain, entry.memory])


def _is_short(entry: AuditEntry) -> bool:
    """Return whether the entry's input holds only names and ids; the input of a tool call may hold a text."""
    return entry.chain == HUB or entry.actor_kind != ActorKind.KEY


def _inputs_of(entries: Sequence[AuditEntry]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return {(chain, seq): input}. Pass only entries whose inputs hold no texts (see `_is_short`)."""
    details: dict[tuple[str, int], dict[str, Any]] = {}
    for chain in {entry.chain for entry in entries}:
        seqs = [entry.seq for entry in entries if entry.chain == chain]
        found = AuditEntry.objects.of_chain(chain).of_seqs(seqs).values_list("seq", "input")
        details |= {(chain, seq): told_of(input) for seq, input in found}
    return details


def error_of(entry: AuditEntry, seen: Entries) -> str:
    """Return the first line of the answer to a refused call; empty if the call was not refused."""
    start = getattr(entry, "message_start", None) or ""
    is_cut = len(start) >= MESSAGE_START and "\\n" not in start
    return "" if entry.ok else seen.beginning(entry, first_line(start), cut=is_cut)


def first_line(message_start: str | None) -> str:
    """Return the first line of a message. `message_start` is the JSON of the message, or its beginning."""
    text = (message_start or "").removeprefix('"')
    for cut in range(7):  # an escape is at most six characters long, and may be cut off
        try:
            whole = json.loads(f'"{text[: len(text) - cut].removesuffix(chr(34))}"')
        except ValueError:
            continue
        return str(whole).partition("\n")[0]
    return ""


def in_time(microseconds: int) -> str:
    """Return a duration with a readable unit; empty for 0."""
    if microseconds <= 0:
        return ""
    if microseconds < 1000:
        return f"{microseconds} µs"
    milliseconds = microseconds / 1000
    return f"{milliseconds:.1f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
