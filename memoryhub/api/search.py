"""Search in the API."""

from collections.abc import Sequence

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.memories.api import told_of_memory
from memoryhub.actions.search import search
from memoryhub.actions.search.search import BadQuery, Match
from memoryhub.api import objects
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.further import MatchPage, SearchMemories
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access
from memoryhub.pure.text.folding import Span

router = Router()


@router.get(
    "/memory_stores/{memory_store_id}/search", auth=needs(Access.READ), response=answers(MatchPage, 429),
    summary="Search memories",
)  # fmt: skip
def search_memories(request: HttpRequest, memory_store_id: str, query: Query[SearchMemories]) -> Json:
    """The live memories whose path or text has all words of the query, in the order of their paths, with the matching
    lines. Case and width of letters are ignored. A request searches for at most a tenth of a second: continue while
    `next_page` is not null, even after a page without memories. Each request writes an audit entry with the query."""
    filters = {"store": memory_store_id, "query": query.query, "path_prefix": query.path_prefix}
    key = cursors.decode("search", filters, query.page, (str,))
    try:
        found = search.search(
            memory_store_id,
            call_of(request).asked,
            query.query,
            objects.directory_of(query.path_prefix),
            limit=query.limit,
            after=key[0] if key else None,
        )
    except BadQuery as error:
        raise Problem.invalid(str(error)) from None
    return {
        "data": [_match(match) for match in found.matches],
        "next_page": None if found.goes_on is None else cursors.encode("search", filters, [found.goes_on]),
    }


def _match(match: Match) -> Json:
    return {
        "type": "memory_match",
        "memory": objects.memory(match.memory.store_id, told_of_memory(match.memory), full=False),
        "path_matches": _places(match.in_path),
        "lines": [
            {"number": line.number, "text": line.text, "text_start": line.start, "matches": _places(line.found)}
            for line in match.lines
        ],
        "more_lines": match.more,
    }


def _places(found: Sequence[Span]) -> list[Json]:
    return [{"start": start, "end": end} for start, end in found]
