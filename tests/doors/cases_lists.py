"""Cases of the list of memories: order, prefixes, depth, views, limits, cursors."""

from typing import Any
from urllib.parse import quote

from tests.doors.table import INVALID, NOT_FOUND, Case, Step, case, delete, get, post

STORES = "/v1/memory_stores"
MEMORIES = f"{STORES}/<main>/memories"
MANY = f"{STORES}/<many>/memories"
IN_ORDER = [
    "/a.md", "/empty.md", "/moved.md", "/notes-archive/old.md", "/notes.txt", "/notes/deep/er/x.md",
    "/notes/deep/y.md", "/notes/todo.md", "/Über.md",
]  # fmt: skip
CHILDREN = ["/a.md", "/empty.md", "/moved.md", "/notes-archive/", "/notes.txt", "/notes/", "/Über.md"]


def paths(answer: Any) -> list[str]:
    return [item["path"] for item in answer["data"]]


def listed(query: str, expected: list[str], **options: Any) -> Step:
    return get(f"{MEMORIES}?{query}", check=lambda page: paths(page) == expected, **options)


def under(prefix: str, expected: list[str], more: str = "") -> Step:
    return listed(f"path_prefix={quote(prefix)}{more}", expected, has={"next_page": None})


def numbered(first: int, end: int) -> list[str]:
    return [f"/m{number:03}.md" for number in range(first, end)]


def many(query: str, first: int, end: int, **options: Any) -> Step:
    return get(f"{MANY}?{query}", check=lambda page: paths(page) == numbered(first, end), **options)


ORDER = (
    case("Memories come in byte order of their paths", listed("", IN_ORDER, has={"next_page": None}, key="read")),
    case("A listed memory has all its fields but the text", get(f"{MEMORIES}?path_prefix=/notes/", has={
        "data.2.type": "memory", "data.2.id": "<todo>", "data.2.content": None, "data.2.content_size_bytes": 8,
        "data.2.memory_version_id": "<todo.3>", "data.2.content_sha256": "<todo.sha>"})),
    case("A full list has the texts", get(f"{MEMORIES}?view=full", has={
        "data.0.content": "alpha\n", "data.1.content": "", "data.7.content": "ONE\nTWO\n"})),
    case("A basic list has none", get(f"{MEMORIES}?view=basic", check=lambda page: all(
        item["content"] is None for item in page["data"]))),
    case("A list has no view of another name", get(f"{MEMORIES}?view=short", **INVALID)),
    case("A deleted memory is in no list", listed("limit=100", IN_ORDER)),
    case("An empty store lists nothing", get(f"{STORES}/<empty>/memories", has={"data": [], "next_page": None})),
    case("An archived store is listed", get(f"{STORES}/<archived>/memories", has={"data.0.id": "<kept>"})),
    case("Another's store is not listed", get(f"{STORES}/<other>/memories", **NOT_FOUND)),
    case("An unknown store is not listed", get(f"{STORES}/memstore_01ARZ3NDEKTSV4RRFFQ69G5FAV/memories", **NOT_FOUND)),
)  # fmt: skip

PREFIXES = (
    case("Everything below a prefix", under("/notes/", IN_ORDER[5:8])),
    case("Everything below a deeper prefix", under("/notes/deep/", IN_ORDER[5:7])),
    case("Everything below the root", under("/", IN_ORDER)),
    case("Depth 0 is everything below", listed("depth=0", IN_ORDER)),
    case("Depth 1 rolls up what is deeper", listed("depth=1", CHILDREN, has={
        "data.3": {"type": "memory_prefix", "path": "/notes-archive/"},
        "data.5": {"type": "memory_prefix", "path": "/notes/"}})),
    case("Depth 1 below a prefix", under("/notes/", ["/notes/deep/", "/notes/todo.md"], "&depth=1")),
    case("Depth 1 below a deeper prefix", under("/notes/deep/", ["/notes/deep/er/", "/notes/deep/y.md"], "&depth=1")),
    case("Depth 1 below the deepest prefix", under("/notes/deep/er/", ["/notes/deep/er/x.md"], "&depth=1")),
    case("Depth 1 in a full view has texts and prefixes", get(f"{MEMORIES}?depth=1&view=full&path_prefix=/notes/", has={
        "data.0": {"type": "memory_prefix", "path": "/notes/deep/"}, "data.1.content": "ONE\nTWO\n"})),
    case("Depth 2 is refused", get(f"{MEMORIES}?depth=2", **INVALID)),
    case("Depth -1 is refused", get(f"{MEMORIES}?depth=-1", **INVALID)),
    case("Depth abc is refused", get(f"{MEMORIES}?depth=abc", **INVALID)),
    case("An empty depth is refused", get(f"{MEMORIES}?depth=", **INVALID)),
    case("Depth 1.0 is refused", get(f"{MEMORIES}?depth=1.0", **INVALID)),
    case("A prefix ends with a slash", get(f"{MEMORIES}?path_prefix=/notes", **INVALID)),
    case("A memory's path is no prefix", get(f"{MEMORIES}?path_prefix=/notes/todo.md", **INVALID)),
    case("A prefix begins with a slash", get(f"{MEMORIES}?path_prefix=notes/", **INVALID)),
    case("A prefix matches whole names", under("/note/", [])),
    case("A prefix of nothing lists nothing", under("/nothing/", [])),
    case("A memory is no directory", under("/a.md/", [])),
    case("A prefix differs by case", under("/Notes/", [])),
    case("A percent sign in a prefix is itself", under("/%/", [])),
    case("An underscore in a prefix is itself", under("/note_/", [])),
    case("A prefix comes percent-encoded", get(f"{MEMORIES}?path_prefix=%2Fnotes%2F", check=lambda page: (
        paths(page) == IN_ORDER[5:8]))),
    case("A deleted memory leaves no prefix",
         delete(f"{MEMORIES}/<todo>"), listed("path_prefix=/notes/&depth=1", ["/notes/deep/"])),
    case("A new memory brings its prefix",
         post(MEMORIES, {"path": "/b/c/d.md", "content": ""}), listed("depth=1", [CHILDREN[0], "/b/", *CHILDREN[1:]])),
    case("A moved memory takes its prefix along",
         post(f"{MEMORIES}/<a>", {"path": "/z/a.md"}), listed("depth=1", [*CHILDREN[1:6], "/z/", CHILDREN[6]])),
)  # fmt: skip

PAGES = (
    case("A page has 20 where nobody says", many("", 0, 20)),
    case("A page has up to 100", many("limit=100", 0, 100)),
    case("A page of 1", many("limit=1", 0, 1)),
    case("A page of 0 memories is refused", get(f"{MANY}?limit=0", **INVALID)),
    case("A page of 101 memories is refused", get(f"{MANY}?limit=101", **INVALID)),
    case("A page of abc memories is refused", get(f"{MANY}?limit=abc", **INVALID)),
    case("A page of an empty limit is refused", get(f"{MANY}?limit=", **INVALID)),
    case("A page of -5 memories is refused", get(f"{MANY}?limit=-5", **INVALID)),
    case("A page of a circled 2 memories is refused", get(f"{MANY}?limit=%E2%91%A1", **INVALID)),
    case("A full page has at most 20", many("limit=100&view=full", 0, 20, has={"data.19.content": "19\n"})),
    case("A full page may have fewer", many("limit=3&view=full", 0, 3)),
    case("The cursor of a full page goes on after it",
         get(f"{MANY}?limit=100&view=full", keep={"page": "next_page"}),
         many("limit=100&view=full&page=<page>", 20, 40)),
    case("The cursor leads to the end",
         get(f"{MANY}?limit=100", keep={"page": "next_page"}), many("limit=100&page=<page>", 100, 105, has={
             "next_page": None})),
    case("The limit may change on the way",
         get(f"{MANY}?limit=10", keep={"page": "next_page"}), many("limit=5&page=<page>", 10, 15)),
    case("A cursor is used twice",
         get(f"{MANY}?limit=10", keep={"page": "next_page"}), many("limit=10&page=<page>", 10, 20),
         many("limit=10&page=<page>", 10, 20)),
    case("Memories and prefixes count toward the limit",
         get(f"{MEMORIES}?depth=1&limit=4", keep={"page": "next_page"}, check=lambda page: paths(page) == CHILDREN[:4]),
         listed("depth=1&limit=4&page=<page>", CHILDREN[4:], has={"next_page": None})),
    case("A page may end with a prefix",
         get(f"{MEMORIES}?depth=1&limit=6", keep={"page": "next_page"}, check=lambda page: paths(page) == CHILDREN[:6]),
         listed("depth=1&limit=6&page=<page>", CHILDREN[6:])),
    case("A page may be one prefix",
         get(f"{MEMORIES}?depth=1&limit=1&path_prefix=/notes/", keep={"page": "next_page"},
             check=lambda page: paths(page) == ["/notes/deep/"]),
         listed("depth=1&limit=1&path_prefix=/notes/&page=<page>", ["/notes/todo.md"], has={"next_page": None})),
    case("The last page of exactly its limit has no cursor", listed("limit=9", IN_ORDER, has={"next_page": None})),
    case("The cursor survives its memory",
         get(f"{MANY}?limit=10", keep={"page": "next_page", "last": "data.9.id"}), delete(f"{MANY}/<last>"),
         many("limit=10&page=<page>", 10, 20)),
    case("What is created behind the cursor does not come",
         get(f"{MANY}?limit=10", keep={"page": "next_page"}),
         post(f"{MANY}", {"path": "/m000.md.too", "content": ""}), many("limit=10&page=<page>", 10, 20)),
    case("What is created before the cursor does come",
         get(f"{MANY}?limit=100", keep={"page": "next_page"}), post(f"{MANY}", {"path": "/z.md", "content": ""}),
         get(f"{MANY}?limit=100&page=<page>", check=lambda page: paths(page) == [*numbered(100, 105), "/z.md"])),
    case("A cursor of nonsense is refused", get(f"{MANY}?page=page_!!", **INVALID)),
    case("An empty cursor is refused", get(f"{MANY}?page=", **INVALID)),
    case("A cursor of stores leads through no memories",
         get(f"{STORES}?limit=1", keep={"page": "next_page"}), get(f"{MANY}?page=<page>", **INVALID)),
    case("A cursor of another store's is refused",
         get(f"{MEMORIES}?limit=1", keep={"page": "next_page"}), get(f"{MANY}?page=<page>", **INVALID)),
    case("A cursor of another prefix is refused",
         get(f"{MEMORIES}?limit=1", keep={"page": "next_page"}),
         get(f"{MEMORIES}?limit=1&path_prefix=/notes/&page=<page>", **INVALID)),
    case("A cursor of another depth is refused",
         get(f"{MEMORIES}?limit=1&depth=1", keep={"page": "next_page"}),
         get(f"{MEMORIES}?limit=1&page=<page>", **INVALID)),
    case("A limit asked twice is refused", get(f"{MANY}?limit=1&limit=2", **INVALID)),
    case("What nobody knows in a query is passed over", many("limit=2&colour=blue", 0, 2)),
)  # fmt: skip

CASES: tuple[Case, ...] = ORDER + PREFIXES + PAGES
