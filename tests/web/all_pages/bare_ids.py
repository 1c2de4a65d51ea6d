"""Pages show names: an id is in the visible text only where it is the point. For a walk over all pages."""

import re

BARE = re.compile(r"\b(?:memstore|mem|memver|agent|apikey|user|sesn|rev|import)_[0-9A-Z]{26}\b")
THE_POINT = re.compile(r"<dt>(?:Id)</dt><dd[^>]*>.*?</dd>|<(script|style|textarea|pre|template)\b.*?</\1>", re.DOTALL)
"""The id among the facts about a thing, and raw text, such as the JSON of a call."""

NAMED_BY_ID = frozenset(("edit-store", "delete-store", "claude-evaluations"))
"""Pages that give the id of a memory store to copy, alone or in a command, or to keep."""


def bare_ids(page: str, html: str) -> list[str]:
    """The ids in the visible text of a page, which has a name in `every_page`."""
    if page in NAMED_BY_ID:
        return []
    return BARE.findall(re.sub(r"<[^>]*>", " ", THE_POINT.sub(" ", html.partition("<main")[2])))
