"""Cases of memory stores: created, listed, retrieved, updated, archived, deleted."""

from typing import Any

from tests.doors.table import FORBIDDEN, INVALID, NOT_FOUND, Case, Step, case, delete, get, post

STORES = "/v1/memory_stores"
MAIN = f"{STORES}/<main>"
PAIRS = {f"k{number}": "v" for number in range(16)}


def create(body: object, **options: Any) -> Step:
    return post(STORES, body, key="hub", **options)


def update(body: object, **options: Any) -> Step:
    return post(MAIN, body, **options)


def ids(answer: Any) -> list[str]:
    return [store["id"] for store in answer["data"]]


def falls(answer: Any) -> bool:
    times = [store["created_at"] for store in answer["data"]]
    return times == sorted(times, reverse=True)


CREATE = (
    case("A store is created with a name alone", create({"name": "Team"}, has={
        "type": "memory_store", "name": "Team", "description": "", "metadata": {}, "archived_at": None})),
    case("A store is created with all it may have", create(
        {"name": "Team", "description": "What we know", "metadata": {"a": "1", "b": ""}},
        has={"description": "What we know", "metadata": {"a": "1", "b": ""}})),
    case("A new store's two times are one", create(
        {"name": "Team"}, check=lambda store: store["created_at"] == store["updated_at"])),
    case("A created store can be retrieved at once",
         create({"name": "Team"}, keep={"new": "id"}), get(f"{STORES}/<new>", key="hub", has={"id": "<new>"})),
    case("A created store is empty",
         create({"name": "Team"}, keep={"new": "id"}),
         get(f"{STORES}/<new>/memories", key="hub", has={"data": [], "next_page": None})),
    case("Two stores may have one name", create({"name": "Main"}), create({"name": "Main"})),
    case("A name has up to 255 characters", create({"name": "é" * 255}, has={"name": "é" * 255})),
    case("A name of 256 characters is refused", create({"name": "n" * 256}, **INVALID)),
    case("An empty name is refused", create({"name": ""}, **INVALID)),
    case("A missing name is refused", create({}, **INVALID)),
    case("A null name is refused", create({"name": None}, **INVALID)),
    case("A number is no name", create({"name": 7}, **INVALID)),
    case("A list is no name", create({"name": ["Team"]}, **INVALID)),
    case("A name with a line break is refused", create({"name": "Te\nam"}, **INVALID)),
    case("A name with a tab is refused", create({"name": "Te\tam"}, **INVALID)),
    case("A name with DEL is refused", create({"name": "Te\x7fam"}, **INVALID)),
    case("A name with NUL is refused", create({"name": "Te\0am"}, **INVALID)),
    case("A name with half a surrogate pair is refused", create(b'{"name": "Te\\ud800am"}', **INVALID)),
    case("A name may have emoji and quotes", create({"name": "\U0001f600 \"'<&"}, has={"name": "\U0001f600 \"'<&"})),
    case("A description has up to 1,024 characters", create({"name": "n", "description": "ö" * 1024})),
    case("A description of 1,025 characters is refused", create({"name": "n", "description": "d" * 1025}, **INVALID)),
    case("A description may have lines", create({"name": "n", "description": "a\nb"}, has={"description": "a\nb"})),
    case("A description with NUL is refused", create({"name": "n", "description": "a\0"}, **INVALID)),
    case("A number is no description", create({"name": "n", "description": 1}, **INVALID)),
    case("Metadata has up to 16 pairs", create({"name": "n", "metadata": PAIRS}, has={"metadata": PAIRS})),
    case("17 pairs of metadata are refused", create({"name": "n", "metadata": PAIRS | {"more": ""}}, **INVALID)),
    case("A key of metadata has up to 64 characters", create({"name": "n", "metadata": {"k" * 64: "v"}})),
    case("A key of metadata of 65 characters is refused", create(
        {"name": "n", "metadata": {"k" * 65: "v"}}, **INVALID)),
    case("An empty key of metadata is refused", create({"name": "n", "metadata": {"": "v"}}, **INVALID)),
    case("A value of metadata has up to 512 characters", create({"name": "n", "metadata": {"k": "ü" * 512}})),
    case("A value of metadata of 513 characters is refused", create(
        {"name": "n", "metadata": {"k": "v" * 513}}, **INVALID)),
    case("A number is no value of metadata", create({"name": "n", "metadata": {"k": 1}}, **INVALID)),
    case("Null is no value of new metadata", create({"name": "n", "metadata": {"k": None}}, **INVALID)),
    case("A list is no metadata", create({"name": "n", "metadata": []}, **INVALID)),
    case("NUL in metadata is refused", create({"name": "n", "metadata": {"k": "a\0"}}, **INVALID)),
    case("Half a surrogate pair in metadata is refused", create(
        b'{"name": "n", "metadata": {"k": "\\udfff"}}', **INVALID)),
    case("A key for one store creates none", post(STORES, {"name": "n"}, **FORBIDDEN)),
    case("A key that writes to all stores creates none", post(STORES, {"name": "n"}, key="hub_write", **FORBIDDEN)),
)  # fmt: skip

LIST = (
    case("A key lists only its stores", get(
        f"{STORES}?limit=100&include_archived=true", key="other", check=lambda page: len(page["data"]) == 1,
        has={"data.0.id": "<other>", "next_page": None})),
    case("A key for all stores lists all", get(f"{STORES}?limit=100&include_archived=true", key="hub", has={
        "data.3.id": "<called>", "data.11.id": "<main>", "next_page": None}, check=lambda p: len(p["data"]) == 12)),
    case("Stores of one moment come once each",
         get(f"{STORES}?limit=1", key="twins", keep={"one": "data.0.id", "page": "next_page"}),
         get(f"{STORES}?limit=1&page=<page>", key="twins", keep={"two": "data.0.id", "page": "next_page"}),
         get(f"{STORES}?limit=1&page=<page>", key="twins", keep={"three": "data.0.id"}, has={"next_page": None}),
         get(STORES, key="twins", has={"data.0.id": "<one>", "data.1.id": "<two>", "data.2.id": "<three>"})),
    case("A store's own moment finds it",
         create({"name": "n"}, keep={"new": "id", "then": "created_at"}),
         get(f"{STORES}?created_at[gte]=<then>&created_at[lte]=<then>", key="hub", has={"data.0.id": "<new>"},
             check=lambda page: len(page["data"]) == 1)),
    case("A cursor longer than any is refused", get(f"{STORES}?page=page_{'A' * 5000}", **INVALID)),
    case("Stores come newest first", get(f"{STORES}?limit=100", check=falls, has={"data.0.id": "<tight>"})),
    case("Archived stores are left out", get(
        f"{STORES}?limit=100", check=lambda page: all(store["archived_at"] is None for store in page["data"]))),
    case("Archived stores are left out on request", get(
        f"{STORES}?include_archived=false", check=lambda page: len(page["data"]) == 6)),
    case("Archived stores are listed on request", get(
        f"{STORES}?include_archived=true", has={"data.4.id": "<archived>"}, check=lambda page: len(page["data"]) == 7)),
    case("include_archived is true or false", get(f"{STORES}?include_archived=maybe", **INVALID)),
    case("A page of stores has at most its limit", get(
        f"{STORES}?limit=2", check=lambda page: len(page["data"]) == 2 and page["next_page"] is not None)),
    case("The cursor leads through all stores",
         get(f"{STORES}?limit=4", keep={"page": "next_page"}, has={"data.3.id": "<many>"}),
         get(f"{STORES}?limit=4&page=<page>", has={"data.0.id": "<empty>", "data.1.id": "<main>", "next_page": None})),
    case("The cursor keeps the filters",
         get(f"{STORES}?limit=4&include_archived=true", keep={"page": "next_page"}),
         get(f"{STORES}?limit=4&include_archived=true&page=<page>", has={
             "data.0.id": "<archived>", "next_page": None}, check=lambda page: len(page["data"]) == 3)),
    case("A full page that is the last has no cursor", get(f"{STORES}?limit=6", has={"next_page": None})),
    case("A page of stores may have 1", get(f"{STORES}?limit=1", check=lambda page: len(page["data"]) == 1)),
    case("A page of 0 stores is refused", get(f"{STORES}?limit=0", **INVALID)),
    case("A page of 101 stores is refused", get(f"{STORES}?limit=101", **INVALID)),
    case("A page of -1 stores is refused", get(f"{STORES}?limit=-1", **INVALID)),
    case("A page of abc stores is refused", get(f"{STORES}?limit=abc", **INVALID)),
    case("A page of 1.5 stores is refused", get(f"{STORES}?limit=1.5", **INVALID)),
    case("A page of very many stores is refused", get(f"{STORES}?limit={'9' * 5000}", **INVALID)),
    case("A cursor of nobody's is refused", get(f"{STORES}?page=page_nonsense", **INVALID)),
    case("A cursor without its prefix is refused", get(f"{STORES}?page=nonsense", **INVALID)),
    case("Stores from a moment on, with it", get(f"{STORES}?created_at[gte]=<many.created>", check=lambda page: len(
        page["data"]) == 4, has={"data.3.id": "<many>"})),
    case("Stores up to a moment, with it", get(f"{STORES}?created_at[lte]=<empty.created>", check=lambda page: len(
        page["data"]) == 2, has={"data.0.id": "<empty>"})),
    case("Stores between two moments", get(
        f"{STORES}?created_at[gte]=<many.created>&created_at[lte]=<many.created>",
        check=lambda page: len(page["data"]) == 1, has={"data.0.id": "<many>"})),
    case("Brackets come percent-encoded", get(
        f"{STORES}?created_at%5Bgte%5D=<many.created>", check=lambda page: len(page["data"]) == 4)),
    case("Both brackets and colons come percent-encoded", get(
        f"{STORES}?created_at%5Blte%5D=2025-11-03T08%3A59%3A59Z", has={"data": []})),
    case("A moment has an offset", get(f"{STORES}?created_at[gte]=2025-11-03T22:59:00%2B14:00", check=lambda page: len(
        page["data"]) == 6)),
    case("A moment with an offset is another moment", get(
        f"{STORES}?created_at[gte]=2025-11-03T09:30:00-14:00", has={"data": []})),
    case("A moment has parts of a second", get(
        f"{STORES}?created_at[gte]=2025-11-03T08:00:00.123456Z", check=lambda page: len(page["data"]) == 6)),
    case("A moment without an offset is refused", get(f"{STORES}?created_at[gte]=2025-11-03T09:00:00", **INVALID)),
    case("A day is no moment", get(f"{STORES}?created_at[gte]=2025-11-03", **INVALID)),
    case("Yesterday is no moment", get(f"{STORES}?created_at[lte]=yesterday", **INVALID)),
    case("The 30th of February is no moment", get(f"{STORES}?created_at[lte]=2025-02-30T00:00:00Z", **INVALID)),
)  # fmt: skip

RETRIEVE = (
    case("A store is retrieved", get(MAIN, key="read", has={
        "id": "<main>", "name": "Main", "description": "What Support knows", "archived_at": None,
        "metadata": {"team": "support", "tier": "gold"}})),
    case("A store's created_at is its own", get(
        MAIN, check=lambda store: store["created_at"].startswith("2025-11-03T09:0"))),
    case("An archived store is retrieved", get(
        f"{STORES}/<archived>", key="read", check=lambda store: store["archived_at"] is not None)),
    case("Another's store is not there", get(f"{STORES}/<other>", **NOT_FOUND)),
    case("An unknown store is not there", get(f"{STORES}/memstore_01ARZ3NDEKTSV4RRFFQ69G5FAV", **NOT_FOUND)),
    case("No store has such an id", get(f"{STORES}/nonsense", **NOT_FOUND)),
    case("A memory's id is no store's", get(f"{STORES}/<todo>", **NOT_FOUND)),
    case("No store has NUL in its id", get(f"{STORES}/memstore_%00", **NOT_FOUND)),
)  # fmt: skip

UPDATE = (
    case("A store gets another name",
         update({"name": "Head"}, has={"name": "Head", "description": "What Support knows"})),
    case("A store gets another description",
         update({"description": "New"}, has={"name": "Main", "description": "New"})),
    case("An empty description clears it", update({"description": ""}, has={"description": ""})),
    case("Null leaves the name alone", update({"name": None, "description": "New"}, has={"name": "Main"})),
    case("Null leaves the description alone", update(
        {"name": "Head", "description": None}, has={"description": "What Support knows"})),
    case("Null leaves metadata alone", update(
        {"name": "Head", "metadata": None}, has={"metadata": {"team": "support", "tier": "gold"}})),
    case("Metadata are a patch: added", update(
        {"metadata": {"new": "1"}}, has={"metadata": {"team": "support", "tier": "gold", "new": "1"}})),
    case("Metadata are a patch: replaced", update(
        {"metadata": {"tier": "iron"}}, has={"metadata": {"team": "support", "tier": "iron"}})),
    case("Metadata are a patch: null removes",
         update({"metadata": {"tier": None}}, has={"metadata": {"team": "support"}})),
    case("Removing what is not there changes nothing", update(
        {"metadata": {"nothing": None}}, has={"metadata": {"team": "support", "tier": "gold"}})),
    case("All metadata can be removed", update({"metadata": {"tier": None, "team": None}}, has={"metadata": {}})),
    case("A patch may fill metadata up to 16", update({"metadata": {f"k{n}": "" for n in range(14)}})),
    case("A patch past 16 pairs is refused",
         update({"metadata": {f"k{n}": "" for n in range(15)}}, **INVALID), get(MAIN, has={
             "metadata": {"team": "support", "tier": "gold"}})),
    case("A patch that removes as it adds stays within 16", update(
        {"metadata": {"tier": None} | {f"k{n}": "" for n in range(15)}})),
    case("A patch with a long value is refused", update({"metadata": {"tier": "v" * 513}}, **INVALID)),
    case("A patch with a long key is refused", update({"metadata": {"k" * 65: "v"}}, **INVALID)),
    case("An empty name is refused in an update", update({"name": ""}, **INVALID)),
    case("A long name is refused in an update", update({"name": "n" * 256}, **INVALID)),
    case("A long description is refused in an update", update({"description": "n" * 1025}, **INVALID)),
    case("A refused update changes nothing",
         update({"name": "Head", "description": "n" * 1025}, **INVALID), get(MAIN, has={"name": "Main"})),
    case("An update moves updated_at", update(
        {"name": "Head"}, check=lambda store: store["updated_at"] > "2026" > store["created_at"])),
    case("An update that changes nothing leaves updated_at",
         get(MAIN, keep={"before": "updated_at"}), update({"name": "Main"}, has={"updated_at": "<before>"})),
    case("An empty update changes nothing",
         get(MAIN, keep={"before": "updated_at"}), update({}, has={"name": "Main", "updated_at": "<before>"})),
    case("A memory leaves the store's updated_at",
         get(MAIN, keep={"before": "updated_at"}),
         post(f"{MAIN}/memories", {"path": "/new.md", "content": "n"}), get(MAIN, has={"updated_at": "<before>"})),
    case("PATCH is another word for POST", Step("PATCH", MAIN, {"name": "Head"}, has={"name": "Head"})),
    case("A key that writes may not update the store", update({"name": "Head"}, key="write", **FORBIDDEN)),
    case("A key that reads may not update the store", update({"name": "Head"}, key="read", **FORBIDDEN)),
    case("Another's store cannot be updated", post(f"{STORES}/<other>", {"name": "Mine"}, **NOT_FOUND)),
    case("An unknown store cannot be updated", post(f"{STORES}/memstore_x", {"name": "n"}, **NOT_FOUND)),
    case("An archived store cannot be updated",
         post(f"{STORES}/<archived>", {"name": "New"}, **INVALID),
         get(f"{STORES}/<archived>", has={"name": "Archived"})),
    case("An archived store's metadata cannot be updated", post(
        f"{STORES}/<archived>", {"metadata": {"a": "b"}}, **INVALID)),
    case("A store's update with a session", update(
        {"name": "Head"}, headers={"memoryhub-session": "run-1"}, has={"name": "Head"})),
)  # fmt: skip

ARCHIVE = (
    case("A store is archived", post(f"{MAIN}/archive", check=lambda store: store["archived_at"] is not None)),
    case("Archiving moves updated_at",
         post(f"{MAIN}/archive", check=lambda store: store["updated_at"] == store["archived_at"])),
    case("Archiving twice is archiving once",
         post(f"{MAIN}/archive", keep={"then": "archived_at"}), post(f"{MAIN}/archive", has={
             "archived_at": "<then>", "updated_at": "<then>"})),
    case("Archiving takes an empty object, too", post(f"{MAIN}/archive", {})),
    case("Archiving takes no content type", post(f"{MAIN}/archive", headers={"content-type": ""})),
    case("Archiving with a key that writes", post(f"{MAIN}/archive", key="write", **FORBIDDEN)),
    case("Archiving with a key that reads", post(f"{MAIN}/archive", key="read", **FORBIDDEN)),
    case("Archiving an unknown store", post(f"{STORES}/memstore_x/archive", **NOT_FOUND)),
    case("Archiving another's store", post(f"{STORES}/<other>/archive", **NOT_FOUND)),
    case("An archived store stays archived through this API",
         post(f"{STORES}/<archived>", {"archived_at": None, "name": "New"}, **INVALID)),
    case("Once archived, a store takes no memory",
         post(f"{MAIN}/archive"), post(f"{MAIN}/memories", {"path": "/n.md", "content": ""}, **INVALID)),
    case("Once archived, a store leaves the list",
         post(f"{MAIN}/archive"), get(STORES, check=lambda page: len(page["data"]) == 5)),
)  # fmt: skip

DELETE = (
    case("A store is deleted", delete(MAIN, key="hub", has={"id": "<main>", "type": "memory_store_deleted"})),
    case("A deleted store is not there", delete(MAIN, key="hub"), get(MAIN, **NOT_FOUND)),
    case("A deleted store's memories are not there",
         delete(MAIN, key="hub"), get(f"{MAIN}/memories/<todo>", **NOT_FOUND)),
    case("A deleted store's versions are not there",
         delete(MAIN, key="hub"), get(f"{MAIN}/memory_versions/<todo.1>", **NOT_FOUND)),
    case("A deleted store is in no list",
         delete(MAIN, key="hub"), get(STORES, check=lambda page: len(page["data"]) == 5)),
    case("A store is deleted once", delete(MAIN, key="hub"), delete(MAIN, key="hub", **NOT_FOUND)),
    case("An archived store is deleted", delete(f"{STORES}/<archived>", key="hub", has={"id": "<archived>"})),
    case("A key to some stores may archive one and not delete it",
         delete(MAIN, **FORBIDDEN), get(MAIN), post(f"{MAIN}/archive"), delete(MAIN, **FORBIDDEN), get(MAIN)),
    case("A key that writes to all stores may not delete one", delete(MAIN, key="hub_write", **FORBIDDEN)),
    case("A key that writes may not delete the store", delete(MAIN, key="write", **FORBIDDEN)),
    case("A key that reads may not delete the store", delete(MAIN, key="read", **FORBIDDEN)),
    case("An unknown store cannot be deleted", delete(f"{STORES}/memstore_x", **NOT_FOUND)),
    case("Another's store cannot be deleted", delete(f"{STORES}/<other>", **NOT_FOUND)),
)  # fmt: skip

CASES: tuple[Case, ...] = CREATE + LIST + RETRIEVE + UPDATE + ARCHIVE + DELETE
