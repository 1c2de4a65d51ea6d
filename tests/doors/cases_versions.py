"""Cases of memory versions: listed by every filter, retrieved, redacted."""

from typing import Any

from tests.doors.table import FORBIDDEN, INVALID, NOT_FOUND, Case, Step, case, delete, get, post

STORES = "/v1/memory_stores"
MAIN = f"{STORES}/<main>"
VERSIONS = f"{MAIN}/memory_versions"
UNKNOWN = "memver_01ARZ3NDEKTSV4RRFFQ69G5FAV"
ALL = 14


def counted(query: str, number: int, **options: Any) -> Step:
    """A list of that many versions on its first page."""
    return get(f"{VERSIONS}?{query}", check=lambda page: len(page["data"]) == number, **options)


def operations(answer: Any) -> list[str]:
    return [version["operation"] for version in answer["data"]]


def redact(version: str, **options: Any) -> Step:
    return post(f"{VERSIONS}/<{version}>/redact", **options)


LIST = (
    case("Versions come newest first", counted("", ALL, key="read", has={
        "data.0.id": "<gone.2>", "data.1.id": "<gone.1>", "data.2.id": "<old.2>", "data.13.memory_id": "<a>",
        "next_page": None})),
    case("A list of versions has no texts", get(VERSIONS, check=lambda page: all(
        version["content"] is None for version in page["data"]))),
    case("A full list of versions has the texts", get(f"{VERSIONS}?view=full&memory_id=<todo>", has={
        "data.0.content": "ONE\nTWO\n", "data.1.content": "ONE\ntwo\n", "data.2.content": "one\ntwo\n"})),
    case("A basic list of versions has sizes and hashes", get(f"{VERSIONS}?view=basic&memory_id=<todo>", has={
        "data.0.content_sha256": "<todo.sha>", "data.0.content_size_bytes": 8})),
    case("A list of versions has no view of another name", get(f"{VERSIONS}?view=long", **INVALID)),
    case("The versions of a memory", counted("memory_id=<todo>", 3, has={
        "data.0.id": "<todo.3>", "data.1.id": "<todo.2>", "data.2.id": "<todo.1>"})),
    case("The versions of a deleted memory with its deletion", get(
        f"{VERSIONS}?memory_id=<gone>", check=lambda page: operations(page) == ["deleted", "created"])),
    case("The versions of a moved memory with the paths they had", get(f"{VERSIONS}?memory_id=<old>", has={
        "data.0.path": "/moved.md", "data.0.operation": "modified", "data.1.path": "/before.md"})),
    case("The versions of another store's memory are none here", counted("memory_id=<others>", 0)),
    case("The versions of an unknown memory are none", counted("memory_id=mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", 0)),
    case("Versions that created", counted("operation=created", 10)),
    case("Versions that modified", counted("operation=modified", 3)),
    case("Versions that deleted", counted("operation=deleted", 1, has={"data.0.id": "<gone.2>"})),
    case("An unknown operation is refused", get(f"{VERSIONS}?operation=renamed", **INVALID)),
    case("Versions by a key", counted("api_key_id=<id.manage>", 12)),
    case("Versions by a key that has written none", counted("api_key_id=<id.read>", 0)),
    case("Versions by an unknown key", counted("api_key_id=apikey_01ARZ3NDEKTSV4RRFFQ69G5FAV", 0)),
    case("Versions of a session",
         get(f"{VERSIONS}/<todo.3>", keep={"session": "created_by.session_id"}),
         counted("session_id=<session>", 1, has={"data.0.id": "<todo.3>"})),
    case("Versions of an unknown session", counted("session_id=run-8", 0)),
    case("Versions of an unknown service account", counted("service_account_id=svac_1", 0)),
    case("Versions from a moment on, with it",
         counted("created_at[gte]=<gone.1.at>", 2, has={"data.1.id": "<gone.1>"})),
    case("Versions up to a moment, with it", counted("memory_id=<todo>&created_at[lte]=<todo.2.at>", 2, has={
        "data.0.id": "<todo.2>"})),
    case("Versions between two moments", counted("created_at[gte]=<todo.2.at>&created_at[lte]=<todo.3.at>", 2)),
    case("Versions by percent-encoded brackets", counted("created_at%5Bgte%5D=<gone.2.at>", 1)),
    case("Versions by a moment with an offset", counted("created_at[gte]=2025-11-03T08:00:00%2B02:00", ALL)),
    case("Versions by a moment of nonsense are refused", get(f"{VERSIONS}?created_at[lte]=now", **INVALID)),
    case("A version's own moment finds it",
         post(f"{MAIN}/memories", {"path": "/n.md", "content": ""}, keep={
             "then": "created_at", "head": "memory_version_id"}),
         counted("created_at[gte]=<then>&created_at[lte]=<then>", 1, has={"data.0.id": "<head>"})),
    case("Versions by several filters", counted(
        "memory_id=<todo>&operation=modified&api_key_id=<id.write>&created_at[lte]=<todo.2.at>", 1, has={
            "data.0.id": "<todo.2>"})),
    case("A page of 5 versions and the next",
         get(f"{VERSIONS}?limit=5", keep={"page": "next_page", "last": "data.4.id"}),
         counted("limit=5&page=<page>", 5, keep={"page": "next_page"}),
         counted("limit=5&page=<page>", 4, has={"next_page": None, "data.3.memory_id": "<a>"})),
    case("The cursor of versions keeps a filter",
         get(f"{VERSIONS}?limit=1&memory_id=<todo>", keep={"page": "next_page"}),
         counted("limit=5&memory_id=<todo>&page=<page>", 2, has={"data.0.id": "<todo.2>", "next_page": None})),
    case("A new version does not come behind the cursor",
         get(f"{VERSIONS}?limit=13", keep={"page": "next_page"}),
         post(f"{MAIN}/memories/<todo>", {"content": "n"}), counted("limit=13&page=<page>", 1, has={
             "data.0.memory_id": "<a>"})),
    case("A page of 0 versions is refused", get(f"{VERSIONS}?limit=0", **INVALID)),
    case("A page of 101 versions is refused", get(f"{VERSIONS}?limit=101", **INVALID)),
    case("A page of abc versions is refused", get(f"{VERSIONS}?limit=abc", **INVALID)),
    case("A page of 100 versions", counted("limit=100", ALL)),
    case("A full page of versions has at most 20", get(
        f"{STORES}/<many>/memory_versions?limit=100&view=full", check=lambda page: len(page["data"]) == 20)),
    case("A basic page of versions has up to 100", get(
        f"{STORES}/<many>/memory_versions?limit=100", check=lambda page: len(page["data"]) == 100)),
    case("A cursor of nonsense leads through no versions", get(f"{VERSIONS}?page=page_AAAA", **INVALID)),
    case("A cursor of another filter leads through no versions",
         get(f"{VERSIONS}?limit=1", keep={"page": "next_page"}), get(
             f"{VERSIONS}?limit=1&operation=created&page=<page>", **INVALID)),
    case("A cursor of memories leads through no versions",
         get(f"{MAIN}/memories?limit=1", keep={"page": "next_page"}), get(f"{VERSIONS}?page=<page>", **INVALID)),
    case("The versions of an archived store", get(
        f"{STORES}/<archived>/memory_versions", check=lambda page: operations(page) == ["modified", "created"])),
    case("The versions of another's store are not there", get(f"{STORES}/<other>/memory_versions", **NOT_FOUND)),
)  # fmt: skip

RETRIEVE = (
    case("A version is retrieved whole", get(f"{VERSIONS}/<todo.1>", key="read", has={
        "id": "<todo.1>", "memory_id": "<todo>", "memory_store_id": "<main>", "operation": "created",
        "path": "/notes/todo.md", "content": "one\ntwo\n", "content_size_bytes": 8, "redacted_at": None,
        "redacted_by": None})),
    case("A version is retrieved in a basic view", get(f"{VERSIONS}/<todo.1>?view=basic", has={
        "content": None, "content_size_bytes": 8})),
    case("A version is retrieved in a full view", get(f"{VERSIONS}/<todo.3>?view=full", has={
        "content": "ONE\nTWO\n", "content_sha256": "<todo.sha>"})),
    case("A version has no view of another name", get(f"{VERSIONS}/<todo.1>?view=fuller", **INVALID)),
    case("A version names the key that made it", get(f"{VERSIONS}/<todo.2>", has={
        "created_by": {"type": "api_actor", "api_key_id": "<id.write>"}})),
    case("A version names the session that made it", get(f"{VERSIONS}/<todo.3>", has={
        "created_by.type": "session_actor"})),
    case("A rename is a version with the same text", get(f"{VERSIONS}/<old.2>", has={
        "operation": "modified", "path": "/moved.md", "content": "moves\n"})),
    case("A deletion has path and author, and no text", get(f"{VERSIONS}/<gone.2>", has={
        "operation": "deleted", "path": "/gone.md", "content": None, "content_sha256": None,
        "content_size_bytes": None, "created_by": {"type": "api_actor", "api_key_id": "<id.manage>"}})),
    case("A deleted memory's version keeps its text", get(f"{VERSIONS}/<gone.1>", has={"content": "gone\n"})),
    case("An unknown version is not there", get(f"{VERSIONS}/{UNKNOWN}", **NOT_FOUND)),
    case("Another store's version is not there", get(f"{VERSIONS}/<others.1>", **NOT_FOUND)),
    case("A version of this store is not in the next", get(f"{STORES}/<many>/memory_versions/<todo.1>", **NOT_FOUND)),
    case("A memory's id is no version's", get(f"{VERSIONS}/<todo>", **NOT_FOUND)),
    case("No version has NUL in its id", get(f"{VERSIONS}/memver_%00", **NOT_FOUND)),
    case("A version in another's store is not there", get(f"{STORES}/<other>/memory_versions/<others.1>", **NOT_FOUND)),
    case("A version of an archived store is retrieved", get(f"{STORES}/<archived>/memory_versions/<kept.1>", has={
        "content": "kept\n"})),
    case("A version with a session makes the next one its", post(
        f"{MAIN}/memories/<todo>", {"content": "n"}, headers={"memoryhub-session": "run-9"},
        keep={"head": "memory_version_id"}), get(f"{VERSIONS}/<head>", has={"created_by.type": "session_actor"})),
    case("A version cannot be deleted", delete(f"{VERSIONS}/<todo.1>", status=405, error="invalid_request_error")),
    case("A version cannot be changed", post(
        f"{VERSIONS}/<todo.1>", {"content": "n"}, status=405, error="invalid_request_error")),
)  # fmt: skip

REDACT = (
    case("An older version is redacted", redact("todo.1", has={
        "id": "<todo.1>", "path": None, "content": None, "content_sha256": None, "content_size_bytes": None,
        "operation": "created", "created_by": {"type": "api_actor", "api_key_id": "<id.manage>"},
        "redacted_by": {"type": "api_actor", "api_key_id": "<id.manage>"}})),
    case("A redacted version is retrieved without its text",
         redact("todo.1", keep={"when": "redacted_at"}), get(f"{VERSIONS}/<todo.1>?view=full", has={
             "content": None, "path": None, "redacted_at": "<when>"})),
    case("A redacted version stays in the list", redact("todo.1"), counted("memory_id=<todo>&view=full", 3, has={
        "data.2.content": None, "data.2.path": None, "data.1.content": "ONE\ntwo\n"})),
    case("Redacting twice is redacting once",
         redact("todo.1", keep={"when": "redacted_at"}), redact("todo.1", has={"redacted_at": "<when>"})),
    case("The head of a live memory cannot be redacted",
         redact("todo.3", **INVALID), get(f"{VERSIONS}/<todo.3>", has={"content": "ONE\nTWO\n", "redacted_at": None})),
    case("The memory of a redacted version lives on", redact("todo.1"), get(f"{MAIN}/memories/<todo>", has={
        "content": "ONE\nTWO\n"})),
    case("A deleted memory's versions are redacted", redact("gone.1"), redact("gone.2", has={
        "operation": "deleted", "path": None})),
    case("Redacting takes an empty object, too", post(f"{VERSIONS}/<todo.1>/redact", {})),
    case("Redacting is for keys that manage", redact("todo.1", key="write", **FORBIDDEN)),
    case("Redacting is not for keys that read", redact("todo.1", key="read", **FORBIDDEN)),
    case("A session never redacts", redact(
        "todo.1", headers={"memoryhub-session": "run-1"}, **FORBIDDEN), get(f"{VERSIONS}/<todo.1>", has={
            "content": "one\ntwo\n"})),
    case("An unknown version cannot be redacted", post(f"{VERSIONS}/{UNKNOWN}/redact", **NOT_FOUND)),
    case("Another store's version cannot be redacted", post(f"{VERSIONS}/<others.1>/redact", **NOT_FOUND)),
    case("A version in another's store cannot be redacted", post(
        f"{STORES}/<other>/memory_versions/<others.1>/redact", **NOT_FOUND)),
    case("A version of an archived store is redacted", post(
        f"{STORES}/<archived>/memory_versions/<kept.1>/redact", has={"content": None})),
    case("The head of an archived store's memory cannot be redacted", post(
        f"{STORES}/<archived>/memory_versions/<kept.2>/redact", **INVALID)),
    case("Redacting is no GET", get(f"{VERSIONS}/<todo.1>/redact", status=405, error="invalid_request_error")),
)  # fmt: skip

CASES: tuple[Case, ...] = LIST + RETRIEVE + REDACT
