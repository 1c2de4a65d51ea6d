"""Finds the agent to which a comment can be addressed: the agent that wrote the commented text."""

import json

from memoryhub.actions.comments.anchors import Lines
from memoryhub.actions.core.proposed_texts import MERGES
from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Texts
from memoryhub.models import Agent, AuditEntry, Memory, MemoryVersion
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text import blame as origins_of
from memoryhub.pure.text.changed_lines import Work

NEWEST = 50
"""The most versions among which the last version by an agent is searched for: the newest ones."""


def agent_of(memory: Memory, number: int, lines: Lines | None) -> Agent | None:
    """Return the agent to which a comment on the lines `lines` is addressed; None if there is none.

    It is the agent that last wrote one of these lines, up to version `number`. If no agent wrote any of them, or if
    `lines` is None, it is the agent that last changed the memory. Only the last NEWEST versions
    up to `number` are searched.
    """
    versions = MemoryVersion.objects.of_memory(memory).filter(number__lte=number).order_by("-number")
    seqs = [*_origins(memory, number, lines), *versions.values_list("seq", flat=True)[:NEWEST]]
    columns = ("seq", "actor_kind", "author_id", "command", "input")
    entries = {
        seq: row for seq, *row in AuditEntry.objects.of_chain(memory.store_id).of_seqs(seqs).values_list(*columns)
    }
    authors = (_author(*entries[seq]) for seq in seqs if seq in entries)
    author = next(filter(None, authors), None)
    return Agent.objects.filter(pk=author).first() if author else None


def _origins(memory: Memory, number: int, lines: Lines | None) -> list[int]:
    """Return the seqs of the entries that wrote the lines `lines` of version `number`, the newest first.

    The list is empty if `lines` is None, or if the version has no text.
    """
    if lines is None:
        return []
    history = blame.up_to(memory, number)
    versions = history.versions()
    if not versions or versions[-1].text is None:
        return []
    texts = Texts(memory.store_id, origins_of.texts_of_blame(versions))
    found = origins_of.blame(versions, texts, Work(), whole=history.whole)[lines[0] - 1 : lines[1]]
    seqs = {row.number: row.seq for row in history.rows}
    return [seqs[wrote] for wrote in sorted({origin.number for origin in found}, reverse=True) if wrote in seqs]


def _author(kind: str, author: str | None, command: str | None, input: str | None) -> str | None:
    """Return the id of the agent that wrote or proposed the text of an entry, or None."""
    if kind == ActorKind.KEY:
        return author
    if command not in MERGES:
        return None
    try:
        return str(json.loads(input or "")["agent"])
    except (ValueError, KeyError, TypeError):
        return None
