"""Defines a line in the list of measured pages: a page, the person who opens it, and its bound."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PAGE, AUDIT = 1.5, 1.2
"""The highest allowed ratio of a page's cost in the large store to its cost in the small one."""
KEYSTROKE, SEARCH, BLAME = 10.0, 40.0, 10.0
"""The highest allowed ratios to the cost of the trivial page or, for blame, of the memory's plain page."""
LONGEST_SEARCH = 0.3
"""The longest time in seconds of any request of a search."""

TRIVIAL = "trivial"
"""The label of a page that only checks the sign-in."""

BEN, ADA = "ben@example.com", "admin@example.com"
"""A curator of only the large store, and the administrator of the hub."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measured page: its route, the parts of its address, its query, the person who opens it, and its bound.

    The values in `parts` are names from `page_subjects`; the query may contain such names in braces. `bound` is the
    highest allowed ratio of the page's cost to another cost: the cost of the line named in `against`, in the same
    store, or without `against` the cost of this line in the small store. If `goes_on`, the further requests that the
    page makes by itself are measured too. None of them may take longer than `longest` seconds.
    """

    label: str
    route: str
    parts: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    who: str = BEN
    bound: float = PAGE
    against: str = ""
    method: str = "GET"
    htmx: bool = False
    longest: float | None = None
    goes_on: bool = False
    status: tuple[int, ...] = (200,)


def page(route: str, query: str = "", called: str = "", **options: object) -> Line:
    return Line(called or route, route, query=query, **options)  # type: ignore[arg-type]


def store(route: str, query: str = "", called: str = "", **options: object) -> Line:
    return Line(called or route, route, {"store_id": "store"}, query, **options)  # type: ignore[arg-type]


def place(route: str, place: str, query: str = "", called: str = "", **options: object) -> Line:
    parts = {"store_id": "store", "path": place}
    return Line(f"{route}: {called or place}", route, parts, query, **options)  # type: ignore[arg-type]


def memory(route: str, memory: str, query: str = "", called: str = "", **options: object) -> Line:
    parts = {"store_id": "store", "memory_id": memory}
    return Line(f"{route}: {called or memory}", route, parts, query, **options)  # type: ignore[arg-type]


def version(route: str, version: str, **options: object) -> Line:
    parts = {"store_id": "store", "version_id": version}
    return Line(f"{route}: {version}", route, parts, **options)  # type: ignore[arg-type]


def moment(route: str, seq: str, query: str = "", called: str = "", **parts: str) -> Line:
    return Line(f"{route}: {called or seq}", route, {"store_id": "store", "seq": seq, **parts}, query)


def search(query: str, called: str = "", **options: object) -> Line:
    more = {"bound": SEARCH, "against": TRIVIAL, "goes_on": True, "longest": LONGEST_SEARCH} | options
    return Line(f"search: {called or query}", "search", query=query, **more)  # type: ignore[arg-type]


def keystroke(route: str, query: str, called: str = "", **parts: str) -> Line:
    """Return the line of a request that a script sends while a person types."""
    return Line(f"{route}: {called or query}", route, parts, query, bound=KEYSTROKE, against=TRIVIAL, htmx=True)


def audit(words: str, called: str = "", query: str = "", **options: object) -> Line:
    asked = f"?q={words}{query}" if words else f"?{query.removeprefix('&')}"
    return Line(
        f"audit: {called or words or 'everything'}", "store_audit", {"store_id": "store"}, asked, bound=AUDIT, **options
    )  # type: ignore[arg-type]
