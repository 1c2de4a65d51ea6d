"""Cases of single memories: created, retrieved, updated, renamed, deleted, with preconditions and conflicts."""

from hashlib import sha256
from typing import Any

from tests.doors.table import CHANGED, FORBIDDEN, INVALID, NOT_FOUND, PATH_TAKEN, Case, Step, case, delete, get, post

STORES = "/v1/memory_stores"
MEMORIES = f"{STORES}/<main>/memories"
ONE = f"{MEMORIES}/<todo>"
TEXT = "ONE\nTWO\n"
OTHER_SHA = sha256(b"something else").hexdigest()
UNKNOWN = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"
TAKEN_BY_A: dict[str, Any] = PATH_TAKEN | {
    "has": {"error.conflicting_path": "/a.md", "error.conflicting_memory_id": "<a>"}}  # fmt: skip


def of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def create(path: object, content: object = "n", **options: Any) -> Step:
    return post(MEMORIES, {"path": path, "content": content}, **options)


def update(
    _body: object = None, _memory: str = "<todo>", _options: dict[str, Any] | None = None, **body: object
) -> Step:
    return post(f"{MEMORIES}/{_memory}", _body or body, **(_options or {}))


def condition(sha: object) -> dict[str, object]:
    return {"type": "content_sha256", "content_sha256": sha}


def versions(memory: str, number: int) -> Step:
    """How many versions a memory then has."""
    return get(
        f"{STORES}/<main>/memory_versions?limit=100&memory_id={memory}", check=lambda page: len(page["data"]) == number
    )


CREATE = (
    case("A memory is created, its text not repeated", create("/new.md", "text\n", has={
        "type": "memory", "path": "/new.md", "content": None, "content_sha256": of("text\n"),
        "content_size_bytes": 5, "memory_store_id": "<main>"})),
    case("A memory is created and given whole", post(
        f"{MEMORIES}?view=full", {"path": "/new.md", "content": "text\n"}, has={"content": "text\n"})),
    case("A memory is created in a basic view", post(
        f"{MEMORIES}?view=basic", {"path": "/new.md", "content": "text\n"}, has={"content": None})),
    case("A view is basic or full", post(f"{MEMORIES}?view=all", {"path": "/new.md", "content": ""}, **INVALID)),
    case("A memory's first version is `created`",
         create("/new.md", "n", keep={"new": "id", "head": "memory_version_id"}),
         get(f"{STORES}/<main>/memory_versions/<head>", has={
             "operation": "created", "memory_id": "<new>", "path": "/new.md", "content": "n"})),
    case("A new memory's two times are one", create(
        "/new.md", check=lambda memory: memory["created_at"] == memory["updated_at"])),
    case("A memory comes with all its directories", create("/d/e/f/new.md", has={"path": "/d/e/f/new.md"})),
    case("An empty memory is fine", create("/new.md", "", has={"content_size_bytes": 0, "content_sha256": of("")})),
    case("Null is no text", create("/new.md", None, **INVALID)),
    case("A missing text is refused", post(MEMORIES, {"path": "/new.md"}, **INVALID)),
    case("A number is no text", create("/new.md", 5, **INVALID)),
    case("A list is no text", create("/new.md", ["a"], **INVALID)),
    case("NUL in a text is refused", create("/new.md", "a\0b", **INVALID)),
    case("Half a surrogate pair in a text is refused", post(
        MEMORIES, b'{"path": "/new.md", "content": "a\\ud83d"}', **INVALID)),
    case("A whole surrogate pair is one character", post(
        MEMORIES, b'{"path": "/new.md", "content": "\\ud83d\\ude00"}', has={
            "content_size_bytes": 4, "content_sha256": of("\U0001f600")})),
    case("Size and hash are those of UTF-8", create("/new.md", "grün", has={
        "content_size_bytes": 5, "content_sha256": of("grün")})),
    case("A text is not normalised", post(
        f"{MEMORIES}?view=full", {"path": "/n.md", "content": "e\u0301\r\n\ufeff\x0b"}, has={
            "content": "e\u0301\r\n\ufeff\x0b", "content_sha256": of("e\u0301\r\n\ufeff\x0b")})),
    case("102,400 bytes are taken", create("/new.md", "b" * 102_400, has={"content_size_bytes": 102_400})),
    case("102,401 bytes are refused", create("/new.md", "b" * 102_401, **INVALID)),
    case("Bytes are counted, not characters", create("/new.md", "ü" * 51_201, **INVALID)),
    case("A refused memory is not there",
         create("/zz.md", "b" * 102_401, **INVALID), get(f"{MEMORIES}?limit=100", check=lambda page: all(
             item["path"] != "/zz.md" for item in page["data"]))),
    case("A store's own limit of bytes counts", post(
        f"{STORES}/<small>/memories", {"path": "/n.md", "content": "12345678901"}, **INVALID)),
    case("A store's own limit of bytes is reached", post(
        f"{STORES}/<small>/memories", {"path": "/n.md", "content": "1234567890"})),
    case("A full store takes no more", post(f"{STORES}/<full>/memories", {"path": "/n.md", "content": ""}, **INVALID)),
    case("A store holds its total of bytes and no more",
         post(f"{STORES}/<tight>/memories", {"path": "/n.md", "content": "1234567890"}),
         post(f"{STORES}/<tight>/memories", {"path": "/o.md", "content": "123"}, **INVALID)),
    case("Create never overwrites", create("/a.md", "new", **TAKEN_BY_A)),
    case("Create never overwrites, were it the same text", create("/a.md", "alpha\n", **TAKEN_BY_A)),
    case("After a refused create the text is the old one",
         create("/a.md", "new", **TAKEN_BY_A), get(f"{MEMORIES}/<a>", has={"content": "alpha\n"}), versions("<a>", 1)),
    case("A memory cannot lie beneath a memory", create("/a.md/x", **TAKEN_BY_A)),
    case("A memory cannot lie deep beneath a memory", create("/a.md/x/y/z.md", **TAKEN_BY_A)),
    case("A memory cannot be where a directory is", create("/notes", **PATH_TAKEN, check=lambda answer: answer[
        "error"]["conflicting_path"].startswith("/notes/"))),
    case("A memory cannot be where a directory of one memory is", create("/notes/deep/er", **PATH_TAKEN, has={
        "error.conflicting_path": "/notes/deep/er/x.md"})),
    case("Names that begin alike are different", create("/notes-archiv", has={"path": "/notes-archiv"})),
    case("Paths differ by case", create("/A.md", has={"path": "/A.md"})),
    case("Where a memory was deleted, a new one may be",
         create("/gone.md", "again", keep={"again": "id"}), get(f"{MEMORIES}/<again>", check=lambda memory: True),
         get(f"{MEMORIES}/<gone>", **NOT_FOUND)),
    case("Where a memory was moved from, a new one may be", create("/before.md", "again")),
    case("A key that reads creates nothing", create("/new.md", key="read", **FORBIDDEN)),
    case("A key that writes creates", create("/new.md", key="write")),
    case("Nothing is created in another's store", post(
        f"{STORES}/<other>/memories", {"path": "/n.md", "content": ""}, **NOT_FOUND)),
    case("An archived store takes no memory", post(
        f"{STORES}/<archived>/memories", {"path": "/n.md", "content": ""}, **INVALID)),
    case("An archived store takes no memory, were its path taken", post(
        f"{STORES}/<archived>/memories", {"path": "/kept.md", "content": ""}, **INVALID)),
    case("PATCH creates nothing",
         Step("PATCH", MEMORIES, {"path": "/n.md", "content": ""}, 405, "invalid_request_error")),
    case("PUT creates nothing", Step("PUT", MEMORIES, {"path": "/n.md", "content": ""}, 405, "invalid_request_error")),
)  # fmt: skip

RETRIEVE = (
    case("A memory is retrieved whole", get(ONE, key="read", has={
        "id": "<todo>", "path": "/notes/todo.md", "content": TEXT, "content_sha256": of(TEXT),
        "content_size_bytes": 8, "memory_version_id": "<todo.3>", "memory_store_id": "<main>"})),
    case("A memory is retrieved in a full view", get(f"{ONE}?view=full", has={"content": TEXT})),
    case("A memory is retrieved in a basic view", get(f"{ONE}?view=basic", has={
        "content": None, "content_sha256": of(TEXT), "content_size_bytes": 8})),
    case("A memory has no view of another name", get(f"{ONE}?view=FULL", **INVALID)),
    case("An empty view is none", get(f"{ONE}?view=", **INVALID)),
    case("An empty memory's text is empty and not null", get(f"{MEMORIES}/<empty_text>", has={
        "content": "", "content_size_bytes": 0, "content_sha256": of("")})),
    case("An edited memory keeps created_at", get(
        ONE, check=lambda memory: memory["created_at"] < memory["updated_at"] < "2026")),
    case("A moved memory has its new path", get(f"{MEMORIES}/<old>", has={"path": "/moved.md", "content": "moves\n"})),
    case("A deleted memory is not there", get(f"{MEMORIES}/<gone>", **NOT_FOUND)),
    case("An unknown memory is not there", get(f"{MEMORIES}/{UNKNOWN}", **NOT_FOUND)),
    case("Another store's memory is not in this one", get(f"{MEMORIES}/<others>", **NOT_FOUND)),
    case("A memory of this store is not in the next", get(f"{STORES}/<many>/memories/<todo>", **NOT_FOUND)),
    case("A memory in another's store is not there", get(f"{STORES}/<other>/memories/<others>", **NOT_FOUND)),
    case("A version's id is no memory's", get(f"{MEMORIES}/<todo.1>", **NOT_FOUND)),
    case("No memory has NUL in its id", get(f"{MEMORIES}/mem_%00", **NOT_FOUND)),
    case("A memory of an archived store is retrieved", get(
        f"{STORES}/<archived>/memories/<kept>", has={"content": "kept on\n"})),
)  # fmt: skip

UPDATE = (
    case("A memory gets another text", update(content="new\n", _options={"has": {
        "id": "<todo>", "content": None, "content_sha256": of("new\n"), "path": "/notes/todo.md"}}),
        versions("<todo>", 4)),
    case("An update gives the text on request", post(f"{ONE}?view=full", {"content": "new"}, has={"content": "new"})),
    case("An update's view is basic or full", post(f"{ONE}?view=none", {"content": "new"}, **INVALID)),
    case("An update makes a `modified` version",
         update(content="new", _options={"keep": {"head": "memory_version_id"}}),
         get(f"{STORES}/<main>/memory_versions/<head>", has={
             "operation": "modified", "content": "new", "path": "/notes/todo.md"})),
    case("An update moves updated_at alone", update(content="n", _options={"check": lambda memory: (
        memory["created_at"] < "2026" < memory["updated_at"])})),
    case("A text can be emptied", update(content="", _options={"has": {"content_size_bytes": 0}})),
    case("A text of 102,401 bytes is refused", update(content="b" * 102_401, _options=INVALID), versions("<todo>", 3)),
    case("A text with NUL is refused", update(content="\0", _options=INVALID)),
    case("A text with half a surrogate pair is refused", post(ONE, b'{"content": "\\udc00"}', **INVALID)),
    case("A number is no new text", update(content=7, _options=INVALID)),
    case("A full store's memories can be edited", post(f"{STORES}/<full>/memories/<first>", {"content": "second"})),
    case("The same text makes no version",
         update(content=TEXT, _options={"has": {"memory_version_id": "<todo.3>"}}), versions("<todo>", 3)),
    case("The same text and path make no version",
         update(content=TEXT, path="/notes/todo.md", _options={"has": {"memory_version_id": "<todo.3>"}}),
         versions("<todo>", 3)),
    case("The same path makes no version", update(
        path="/notes/todo.md", _options={"has": {"memory_version_id": "<todo.3>"}}), versions("<todo>", 3)),
    case("No change leaves updated_at",
         get(ONE, keep={"before": "updated_at"}), update(content=TEXT, _options={"has": {"updated_at": "<before>"}})),
    case("A rename keeps id and text", update(path="/done.md", _options={"has": {
        "id": "<todo>", "path": "/done.md", "content_sha256": of(TEXT)}}), get(ONE, has={"content": TEXT})),
    case("A rename is a `modified` version",
         update(path="/done.md", _options={"keep": {"head": "memory_version_id"}}),
         get(f"{STORES}/<main>/memory_versions/<head>", has={
             "operation": "modified", "content": TEXT, "path": "/done.md"})),
    case("A rename and an edit at once are one version",
         update(path="/done.md", content="done", _options={"has": {"path": "/done.md", "content_sha256": of("done")}}),
         versions("<todo>", 4)),
    case("A null text renames", update(path="/done.md", content=None, _options={"has": {
        "path": "/done.md", "content_sha256": of(TEXT)}})),
    case("A null path edits", update(path=None, content="n", _options={"has": {"path": "/notes/todo.md"}})),
    case("A rename into new directories", update(path="/x/y/z.md", _options={"has": {"path": "/x/y/z.md"}})),
    case("A rename by case is a rename", update(path="/notes/ToDo.md", _options={"has": {"path": "/notes/ToDo.md"}}),
         versions("<todo>", 4)),
    case("A rename onto a memory is refused", update(path="/a.md", _options=TAKEN_BY_A)),
    case("A rename onto a memory with its text is refused",
         update(path="/a.md", content="alpha\n", _options=TAKEN_BY_A)),
    case("A rename beneath a memory is refused", update(path="/a.md/todo.md", _options=TAKEN_BY_A)),
    case("A rename onto a directory is refused", update(path="/notes/deep", _options=PATH_TAKEN | {
        "check": lambda answer: answer["error"]["conflicting_path"].startswith("/notes/deep/")})),
    case("A rename onto its own directory is refused", update(path="/notes", _options=PATH_TAKEN)),
    case("A refused rename changes nothing",
         update(path="/a.md", content="new", _options=TAKEN_BY_A), get(ONE, has={
             "path": "/notes/todo.md", "content": TEXT}), versions("<todo>", 3)),
    case("A rename to the sync's marker is refused", update(path="/.anthropic-memory-store", _options=INVALID)),
    case("A rename to a directory's form is refused", update(path="/done.md/", _options=INVALID)),
    case("A rename to a relative path is refused", update(path="done.md", _options=INVALID)),
    case("A rename to nothing is refused", update(path="", _options=INVALID)),
    case("A rename to a number is refused", update(path=5, _options=INVALID)),
    case("A rename out of the store is refused", update(path="/../a.md", _options=INVALID)),
    case("A rename to 1,024 bytes", update(path=("/" + "p" * 255) * 4)),
    case("A rename to 1,025 bytes is refused",
         update(path=("/" + "p" * 255) * 3 + "/" + "p" * 254 + "/p", _options=INVALID)),
    case("An update of nothing is refused", post(ONE, {}, **INVALID)),
    case("An update of two nulls is refused", update(content=None, path=None, _options=INVALID)),
    case("A precondition alone is refused", update(precondition=condition("<todo.sha>"), _options=INVALID)),
    case("PATCH updates, too", Step("PATCH", ONE, {"content": "new"}, has={"content_sha256": of("new")})),
    case("PUT updates nothing", Step("PUT", ONE, {"content": "new"}, 405, "invalid_request_error")),
    case("A key that reads updates nothing", update(content="n", _options=FORBIDDEN | {"key": "read"})),
    case("A key that writes updates", update(content="n", _options={"key": "write"})),
    case("An unknown memory cannot be updated", update(_memory=UNKNOWN, content="n", _options=NOT_FOUND)),
    case("A deleted memory cannot be updated", update(_memory="<gone>", content="n", _options=NOT_FOUND)),
    case("Another store's memory cannot be updated", update(_memory="<others>", content="n", _options=NOT_FOUND)),
    case("A memory of an archived store cannot be edited", post(
        f"{STORES}/<archived>/memories/<kept>", {"content": "n"}, **INVALID)),
    case("A memory of an archived store cannot be renamed", post(
        f"{STORES}/<archived>/memories/<kept>", {"path": "/n.md"}, **INVALID)),
)  # fmt: skip

PRECONDITIONS = (
    case("A precondition that holds", update(content="n", precondition=condition("<todo.sha>")), versions("<todo>", 4)),
    case("A precondition that fails",
         update(content="n", precondition=condition(OTHER_SHA), _options=CHANGED), versions("<todo>", 3)),
    case("A precondition that fails for a rename", update(
        path="/done.md", precondition=condition(OTHER_SHA), _options=CHANGED)),
    case("A precondition that holds for a rename", update(
        path="/done.md", precondition=condition("<todo.sha>"), _options={"has": {"path": "/done.md"}})),
    case("A precondition that fails where the text already is so",
         update(content=TEXT, precondition=condition(OTHER_SHA), _options={"has": {"memory_version_id": "<todo.3>"}}),
         versions("<todo>", 3)),
    case("A precondition that fails where the path already is so", update(
        path="/notes/todo.md", precondition=condition(OTHER_SHA), _options={"has": {"memory_version_id": "<todo.3>"}})),
    case("A precondition that fails where text and path already are so", update(
        path="/notes/todo.md", content=TEXT, precondition=condition(OTHER_SHA))),
    case("A precondition that fails where only the text is so", update(
        path="/done.md", content=TEXT, precondition=condition(OTHER_SHA), _options=CHANGED)),
    case("A precondition that fails where only the path is so", update(
        path="/notes/todo.md", content="n", precondition=condition(OTHER_SHA), _options=CHANGED)),
    case("An edit made twice is made once",
         update(content="n", precondition=condition("<todo.sha>"), _options={"keep": {"head": "memory_version_id"}}),
         update(content="n", precondition=condition("<todo.sha>"), _options={"has": {"memory_version_id": "<head>"}}),
         versions("<todo>", 4)),
    case("Of two edits with one precondition the second fails",
         update(content="n", precondition=condition("<todo.sha>")),
         update(content="m", precondition=condition("<todo.sha>"), _options=CHANGED), get(ONE, has={"content": "n"})),
    case("A precondition with a hash that is none", update(
        content="n", precondition=condition("nonsense"), _options=CHANGED), get(ONE, has={"content": TEXT})),
    case("A precondition with an empty hash", update(
        content="n", precondition=condition(""), _options=CHANGED), get(ONE, has={"content": TEXT})),
    case("The precondition of an empty text", post(
        f"{MEMORIES}/<empty_text>", {"content": "n", "precondition": condition(of(""))})),
    case("A precondition of another type is refused", update(
        content="n", precondition={"type": "etag", "content_sha256": OTHER_SHA}, _options=INVALID)),
    case("A precondition without a type is refused", update(
        content="n", precondition={"content_sha256": "<todo.sha>"}, _options=INVALID)),
    case("A precondition without a hash is refused", update(
        content="n", precondition={"type": "content_sha256"}, _options=INVALID)),
    case("A precondition with a null hash is refused",
         update(content="n", precondition=condition(None), _options=INVALID)),
    case("A precondition with a number is refused", update(content="n", precondition=condition(12), _options=INVALID)),
    case("A text is no precondition", update(content="n", precondition="<todo.sha>", _options=INVALID)),
    case("A list is no precondition", update(content="n", precondition=[condition("<todo.sha>")], _options=INVALID)),
)  # fmt: skip

DELETE = (
    case("A memory is deleted", delete(ONE, has={"id": "<todo>", "type": "memory_deleted"}), get(ONE, **NOT_FOUND)),
    case("A deletion is a `deleted` version",
         delete(ONE), get(f"{STORES}/<main>/memory_versions?memory_id=<todo>&limit=1", has={
             "data.0.operation": "deleted", "data.0.path": "/notes/todo.md", "data.0.content_sha256": None,
             "data.0.content_size_bytes": None, "data.0.content": None}), versions("<todo>", 4)),
    case("A memory is deleted once", delete(ONE), delete(ONE, **NOT_FOUND)),
    case("A memory is deleted with the hash it has", delete(
        f"{ONE}?expected_content_sha256=<todo.sha>", has={"id": "<todo>"})),
    case("A memory with another hash is not deleted",
         delete(f"{ONE}?expected_content_sha256={OTHER_SHA}", **CHANGED), get(ONE, has={"content": TEXT}),
         versions("<todo>", 3)),
    case("A memory is not deleted with a hash that is none",
         delete(f"{ONE}?expected_content_sha256=nonsense", **CHANGED), get(ONE)),
    case("A memory is not deleted with an empty hash",
         delete(f"{ONE}?expected_content_sha256=", **CHANGED), get(ONE)),
    case("A deleted memory with another hash is not there", delete(
        f"{MEMORIES}/<gone>?expected_content_sha256={OTHER_SHA}", **NOT_FOUND)),
    case("An unknown memory cannot be deleted", delete(f"{MEMORIES}/{UNKNOWN}", **NOT_FOUND)),
    case("Another store's memory cannot be deleted", delete(f"{MEMORIES}/<others>", **NOT_FOUND)),
    case("A memory in another's store cannot be deleted", delete(f"{STORES}/<other>/memories/<others>", **NOT_FOUND)),
    case("A key that reads deletes nothing", delete(ONE, key="read", **FORBIDDEN), get(ONE)),
    case("A key that writes deletes", delete(ONE, key="write", has={"type": "memory_deleted"})),
    case("A memory of an archived store is deleted", delete(
        f"{STORES}/<archived>/memories/<kept>", has={"id": "<kept>"})),
    case("Where the only memory of a full store was, another may be",
         delete(f"{STORES}/<full>/memories/<first>"),
         post(f"{STORES}/<full>/memories", {"path": "/n.md", "content": ""})),
    case("A directory goes with its last memory",
         delete(f"{MEMORIES}/<a>"), create("/a.md/x", has={"path": "/a.md/x"})),
)  # fmt: skip

CASES: tuple[Case, ...] = CREATE + RETRIEVE + UPDATE + PRECONDITIONS + DELETE
