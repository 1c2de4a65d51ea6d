"""Cases of sessions: listed and retrieved by the key's own agent, in the shape of the service's sessions."""

from typing import Any

from tests.doors.table import INVALID, NO_KEY, NOT_FOUND, WRONG_METHOD, Step, case, get, post

SESSIONS = "/v1/sessions"
MAIN = "/v1/memory_stores/<main>/memories"


def begins(name: str, **options: Any) -> Step:
    """A first request under a name."""
    headers = {"memoryhub-session": name}
    return post(MAIN, {"path": f"/{name}.md", "content": "x"}, headers=headers, **options)


def titles(*names: str) -> dict[str, Any]:
    return {"check": lambda answer: [one["title"] for one in answer["data"]] == list(names)}


def listed(query: str = "", **options: Any) -> Step:
    return get(f"{SESSIONS}?memory_store_id=<main>{query}", **options)


LIST = (
    case("An agent's sessions are listed, the newest first",
         begins("s1"), begins("s2"), listed(**titles("s2", "s1", "run-7"))),
    case("They can be listed from the oldest on",
         begins("s1"), begins("s2"), listed("&order=asc", **titles("run-7", "s1", "s2"))),
    case("Without the filter each of the agent's stores counts",
         begins("s1"), get(f"{SESSIONS}?limit=1", **titles("s1"))),
    case("A page goes on after the one before it",
         begins("s1"), begins("s2"), listed("&limit=1", keep={"next": "next_page"}, **titles("s2")),
         listed("&limit=2&page=<next>", has={"next_page": None}, **titles("s1", "run-7"))),
    case("A cursor belongs to its filters",
         begins("s1"), begins("s2"), listed("&limit=1", keep={"next": "next_page"}),
         listed("&limit=1&order=asc&page=<next>", **INVALID)),
    case("An unknown order is refused", listed("&order=newest", **INVALID)),
    case("Too many at once are refused", listed("&limit=101", **INVALID)),
    case("A time that is none is refused", listed("&created_at[gte]=today", **INVALID)),
    case("Sessions are found by when they began",
         begins("s1"), listed("&created_at[gte]=2000-01-01T00:00:00Z", **titles("s1", "run-7")),
         listed("&created_at[lt]=2000-01-01T00:00:00Z", **titles())),
    case("Another agent's sessions are not listed", begins("s1"), listed(key="other", has={"data": []}),
         get(SESSIONS, key="other", check=lambda answer: all(one["title"] != "s1" for one in answer["data"]))),
    case("A store that the key does not reach has none", get(f"{SESSIONS}?memory_store_id=<others>", has={"data": []})),
    case("A list needs a key", get(SESSIONS, key="none", **NO_KEY)),
    case("Sessions are not made by hand", post(SESSIONS, {}, **WRONG_METHOD)),
)  # fmt: skip

RETRIEVE = (
    case("A session has the memory stores in which it did something",
         begins("s1"), listed(keep={"id": "data.0.id"}), get(f"{SESSIONS}/<id>", has={
             "id": "<id>", "type": "session", "title": "s1", "status": "idle",
             "resources.0.type": "memory_store", "resources.0.memory_store_id": "<main>",
             "resources.0.access": "read_write", "resources.0.instructions": None, "resources.0.name": "Main",
             "resources.0.mount_path": "/mnt/memory/main"},
             check=lambda session: len(session["resources"]) == 1)),
    case("A key that only reads has read-only stores",
         begins("s1"), listed(keep={"id": "data.0.id"}),
         get(f"{SESSIONS}/<id>", key="read", has={"resources.0.access": "read_only"})),
    case("Another agent's session is unknown",
         begins("s1"), listed(keep={"id": "data.0.id"}), get(f"{SESSIONS}/<id>", key="other", **NOT_FOUND)),
    case("An unknown session is 404", get(f"{SESSIONS}/sesn_0", **NOT_FOUND)),
    case("A session needs a key", get(f"{SESSIONS}/sesn_0", key="none", **NO_KEY)),
)  # fmt: skip

CASES = (*LIST, *RETRIEVE)
