"""Notes to agents: whether a note still waits, or was delivered when the agent viewed the memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memoryhub.models import Agent, AuditEntry, Comment, Session


@dataclass(frozen=True, slots=True)
class Note:
    """A comment that is a note to an agent."""

    agent: str
    waits: bool
    is_older: bool  # the comment was edited after it was delivered
    session: Session | None  # the session of the call that delivered the note, if known


def agents_of(comments: Iterable[Comment]) -> dict[str, Agent]:
    """Return {agent id: agent} for the agents that wrote the texts that the comments are about."""
    ids = {comment.agent for comment in comments if comment.agent}
    return Agent.objects.in_bulk(ids) if ids else {}


def notes_of(store_id: str, comments: Iterable[Comment], agents: Mapping[str, Agent]) -> dict[str, Note]:
    """Return {comment id: note} for those of the comments that are notes to an agent."""
    notes = [comment for comment in comments if comment.tells]
    seqs = {comment.told_seq for comment in notes if comment.told_seq}
    entries = AuditEntry.objects.of_chain(store_id).of_seqs(seqs).filter(session__isnull=False)
    known = dict(entries.values_list("seq", "session")) if seqs else {}
    sessions = Session.objects.in_bulk(set(known.values())) if known else {}
    return {note.pk: _note(note, agents, sessions.get(known.get(note.told_seq or 0) or "")) for note in notes}


def _note(comment: Comment, agents: Mapping[str, Agent], session: Session | None) -> Note:
    agent = agents.get(comment.agent or "")
    is_older = bool(comment.told_at and comment.edited_at and comment.edited_at > comment.told_at)
    return Note(agent.name if agent else comment.agent or "", comment.waits, is_older, session)
