"""The conversations about a memory, and the position of each on the page of its text."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.template.loader import render_to_string
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import SafeString, mark_safe

from memoryhub.actions.comments import addressee, anchors, notices
from memoryhub.actions.comments.anchors import Lines
from memoryhub.actions.comments.comments import LONGEST, LONGEST_NOTE
from memoryhub.models import Agent, Comment, Memory, MemoryStore, Role, User
from memoryhub.web.comments import notes
from memoryhub.web.comments.notes import Note
from memoryhub.web.common.guards.access import person
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request

MOST_NAMES = 50
"""The most people whom a form offers for notification; the names of others must be typed."""

MOST_OPEN, MOST_SHOWN = 30, 100_000
"""The most conversations, and the most characters in them, that a page of a text shows. It shows links to all
others."""

_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation: its comments, oldest first, and its lines in the shown text.

    `lines` is None if the conversation is about the whole memory, or if its lines were not found (`is_lost`).
    """

    comments: Sequence[Comment]
    lines: Lines | None
    is_closed: bool = False  # the page shows only a link to the conversation
    agent: Agent | None = None  # the agent that can be notified of a further comment
    notes: Mapping[str, Note] = field(default_factory=dict)  # the notes to agents, by comment
    # the mentioned people who can no longer read a comment, by comment
    gone: Mapping[str, Sequence[User]] = field(default_factory=dict)

    @property
    def first(self) -> Comment:
        return self.comments[0]

    @property
    def rows(self) -> Sequence[tuple[Comment, Note | None, Sequence[User]]]:
        """Return each comment with its note to an agent (or None), and with the mentioned people who can no longer read
        the comment."""
        return [(comment, self.notes.get(comment.pk), self.gone.get(comment.pk, ())) for comment in self.comments]

    @property
    def is_lost(self) -> bool:
        return self.first.first is not None and self.lines is None

    @property
    def is_resolved(self) -> bool:
        return self.first.resolved_at is not None

    @property
    def count(self) -> int:
        """Return the number of comments that are not deleted."""
        return sum(comment.removed_at is None for comment in self.comments)


@dataclass(frozen=True, slots=True)
class Conversations:
    """The conversations of a page."""

    below: dict[int, SafeString] = field(default_factory=dict)  # {line number: the HTML under this line}
    rest: Sequence[Thread] = ()  # shown under the whole text
    open: int = 0  # how many are not resolved
    first_line: int | None = None  # the first line with an unresolved conversation
    agent: Agent | None = None  # the agent that can be notified of a comment on the whole memory


def of_memory(memory: Memory, number: int) -> list[Thread]:
    """Return the conversations that began on version `number` of a memory or before, oldest first."""
    found = Comment.objects.of_memory(memory.store_id, memory.pk).select_related("by", "resolved_by").order_by("pk")
    rows = list(found)
    by_thread: dict[str, list[Comment]] = defaultdict(list)
    for comment in rows:
        by_thread[comment.thread].append(comment)
    # a reply has the number that its thread began with, so the first comment decides
    shown = [comments for comments in by_thread.values() if comments[0].number <= number]
    lines = anchors.lines_in(memory, number, [comments[0] for comments in shown])
    agents = notes.agents_of(rows)
    told = notes.notes_of(memory.store_id, rows, agents)
    gone = notices.gone_from(memory.store_id, rows)
    threads = [
        Thread(
            comments, lines.get(comments[0].thread), agent=agents.get(comments[0].agent or ""), notes=told, gone=gone
        )
        for comments in shown
    ]
    return [thread for thread in threads if thread.count]


def beside(
    request: Request, store: MemoryStore, memory: Memory, version: tuple[str, int], shown: range
) -> Conversations:
    """Return the conversations of a page that shows the lines `shown` of a `version` (id, number).

    The query parameter `comment` names lines. If the person may comment, the form for a new comment is under the last
    of these lines.
    """
    threads = list(_some_open(of_memory(memory, version[1])))
    asked = lines_of(request.GET.get("comment", ""))
    may_write = request.role.includes(Role.CURATOR) and not store.is_archived
    form = asked if asked and asked[1] in shown and may_write else None
    under: dict[int, list[Thread]] = defaultdict(list)
    rest = []
    for thread in threads:
        if thread.lines and thread.lines[1] in shown:
            under[thread.lines[1]].append(thread)
        else:
            rest.append(thread)
    if form:
        under[form[1]] += []
    shared = context(request, store, memory=memory, version_id=version[0], **for_forms(request, store))
    below = {}
    for line, found in under.items():
        lines = form if form and form[1] == line else None
        agent = addressee.agent_of(memory, version[1], lines) if lines else None
        here = {"threads": found, "lines": lines, "agent": agent}
        html = render_to_string("comments/_under_line.html", shared | here, request)
        below[line] = mark_safe(html)
    unresolved = [thread for thread in threads if not thread.is_resolved]
    places = sorted(thread.lines[1] for thread in unresolved if thread.lines and thread.lines[1] in shown)
    of_all = addressee.agent_of(memory, version[1], None) if may_write else None
    return Conversations(below, rest, len(unresolved), next(iter(places), None), of_all)


def _some_open(threads: Iterable[Thread]) -> Iterator[Thread]:
    """Yield the conversations in order. The page shows the first ones, at most MOST_OPEN with at most MOST_SHOWN
    characters in total; of each later one, it shows only a link (`is_closed`)."""
    size = 0
    for place, thread in enumerate(threads):
        size += sum(len(comment.text) for comment in thread.comments)
        yield replace(thread, is_closed=place >= MOST_OPEN or size > MOST_SHOWN)


def for_forms(request: Request, store: MemoryStore) -> dict[str, object]:
    """Return what the templates of comments need, such as the people who can be notified."""
    me = person(request)

    def names() -> list[tuple[str, bool]]:
        others = [user for user in notices.readers_of(store.pk) if user != me]
        only_read = notices.who_only_read(store.pk)
        return [(str(user), user.pk in only_read) for user in others[:MOST_NAMES]]

    moderates = request.role.includes(Role.ADMIN)
    sizes = {"longest": LONGEST, "longest_note": LONGEST_NOTE}
    return {"me": me.pk, "moderates": moderates, "colleagues": SimpleLazyObject(names), **sizes}


def lines_of(written: str) -> Lines | None:
    """Return the first and last line that a text such as "5" or "5-8" names; None for any other text."""
    match = _LINES.fullmatch(written)
    if not match:
        return None
    low, high = sorted((int(match[1]), int(match[2] or match[1])))
    return (low, high) if low >= 1 else None
