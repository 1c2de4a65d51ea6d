"""Random calls of the API among the tool's, on a store and on a dictionary: memories, versions and audit agree."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from memoryhub.models import Access, MemoryVersion
from tests.api.harness import Hub, assert_audit_is_right, contents, new_secret
from tests.api.memory_calls import Api, new_api, sha
from tests.support.long import some

pytestmark = pytest.mark.django_db

PATHS = ("/a", "/b", "/a/b", "/a/c", "/b/a/b.md", "/c d", "/é")
TEXTS = ("", "one\n", "two", "éé\n")


@dataclass(slots=True)
class Model:
    """What there should be: id -> (path, text); every version and every entry, oldest first."""

    memories: dict[str, tuple[str, str]] = field(default_factory=dict)
    versions: list[tuple[str, str, str, str | None, str]] = field(default_factory=list)
    entries: list[tuple[str, str, bool, str | None]] = field(default_factory=list)

    def taken(self, path: str, but: str | None = None) -> bool:
        """Whether a memory at a path, `but` moving there, would meet another, a directory or a memory above."""
        places = [place for place, _ in self.memories.values()]
        if path.startswith(self.memories[but][0] + "/") if but else False:
            return True
        return any(
            path == place or place.startswith(path + "/") or path.startswith(place + "/") for place in places
        )  # fmt: skip

    def wrote(self, operation: str, id: str, actor: str) -> None:
        path, text = self.memories[id]
        self.versions.append((operation, id, path, None if operation == "deleted" else text, actor))


class Play:
    """One store, its model, and who acts: a key, another, and the first in a session."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        api = new_api(Access.MANAGE)
        other = Api(Hub(api.hub.store, new_secret(api.hub.store)))
        self.api, self.model = api, Model()
        self.actors = {"key": api, "other": other, "session": Api(api.hub, "run-1")}
        self.names = {actor_of(actor): name for name, actor in self.actors.items()}
        self.start = api.seq

    def step(self) -> None:
        act = self.random.choice(
            [self.create, self.create, self.update, self.update, self.update, self.delete, self.read, self.tool]
        )
        act(*self.random.choice([*self.actors.items()]))

    def some_id(self) -> str | None:
        return self.random.choice([*self.model.memories]) if self.model.memories else None

    def create(self, name: str, api: Api) -> None:
        path, text = self.random.choice(PATHS), self.random.choice(TEXTS)
        answer = api.send("POST", "/memories", {"path": path, "content": text})
        taken = self.model.taken(path)
        self.model.entries.append(("api", "create", not taken, path))
        assert answer.status == (409 if taken else 200)
        if not taken:
            self.model.memories[answer.value["id"]] = (path, text)
            self.model.wrote("created", answer.value["id"], name)

    def update(self, name: str, api: Api) -> None:
        id = self.some_id()
        if id is None:
            return
        old_path, old_text = self.model.memories[id]
        body: dict[str, Any] = {}
        if self.random.random() < 0.7:
            body["content"] = self.random.choice(TEXTS)
        if not body or self.random.random() < 0.5:
            body["path"] = self.random.choice(PATHS)
        path, text = body.get("path", old_path), body.get("content", old_text)
        expected = self.random.choice([None, None, sha(old_text), sha("something else")])
        if expected is not None:
            body["precondition"] = {"type": "content_sha256", "content_sha256": expected}
        answer = api.send(self.random.choice(["POST", "PATCH"]), f"/memories/{id}?view=full", body)
        same = (path, text) == (old_path, old_text)
        fails = expected not in (None, sha(old_text)) and not same
        fails = fails or (path != old_path and self.model.taken(path, id))
        self.model.entries.append(("api", "edit" if "content" in body else "rename", not fails, old_path))
        if not fails and "content" not in body:  # the answer gives a text that the request did not have
            self.model.entries.append(("api", "view", True, path))
        assert answer.status == (409 if fails else 200), (body, answer.body)
        if fails or same:
            return
        assert (answer.value["path"], answer.value["content"]) == (path, text)
        self.model.memories[id] = (path, text)
        self.model.wrote("modified", id, name)

    def delete(self, name: str, api: Api) -> None:
        id = self.some_id()
        if id is None:
            return
        path, text = self.model.memories[id]
        expected = self.random.choice([None, sha(text), "0" * 64])
        query = {} if expected is None else {"expected_content_sha256": expected}
        good = expected in (None, sha(text))
        assert api.send("DELETE", f"/memories/{id}", **query).status == (200 if good else 409)
        self.model.entries.append(("api", "delete", good, path))
        if good:
            self.model.wrote("deleted", id, name)
            del self.model.memories[id]

    def read(self, _: str, api: Api) -> None:
        id = self.some_id()
        if id is None:
            return
        path, text = self.model.memories[id]
        view = self.random.choice(["full", "basic"])
        found = api.memory(id, view=view)
        assert (found["path"], found["content"]) == (path, text if view == "full" else None)
        if view == "full":
            self.model.entries.append(("api", "view", True, path))

    def tool(self, name: str, api: Api) -> None:
        """The same store through the memory tool: an insert at the top, or a rename of what lies beneath."""
        id = self.some_id()
        if id is None:
            return
        path, text = self.model.memories[id]
        headers = {"memoryhub_session": api.session} if api.session else {}
        call = {"command": "insert", "path": f"/memories{path}", "insert_line": 0, "insert_text": "top"}
        result = api.hub.send(api.hub.block(**call), **headers).value
        assert not result["is_error"]
        self.model.entries.append(("tool", "insert", True, path))
        # The text then ends with a line feed, whatever it ended with before.
        self.model.memories[id] = (path, "top\n" + (text if not text or text.endswith("\n") else text + "\n"))
        self.model.wrote("modified", id, name)


@pytest.mark.parametrize("seed", some(range(4), 2))
def test_the_api_and_the_tool_leave_what_a_dictionary_would(seed: int) -> None:
    play = Play(seed)
    for _ in range(150):
        play.step()
    api, model = play.api, play.model
    assert contents(api.hub.store) == {f"/memories{path}": text for path, text in model.memories.values()}
    listed = {item["id"]: (item["path"], item["content_sha256"]) for item in api.all("memories", 3)}
    assert listed == {id: (path, sha(text)) for id, (path, text) in model.memories.items()}
    told = [
        (v["operation"], v["memory_id"], v["path"], text_of(v["id"]), play.names[id_in(v["created_by"])])
        for v in reversed(api.all("memory_versions", 7))
    ]
    assert told[2 * len(play.actors) :] == model.versions
    entries = [(e.door, e.command, e.ok, e.path) for e in api.entries(play.start)]
    assert entries == model.entries
    assert_audit_is_right(api.hub.store)


def text_of(version: str) -> str | None:
    return MemoryVersion.objects.select_related("text").get(pk=version).content


def id_in(actor: dict[str, str]) -> str:
    return next(value for name, value in actor.items() if name != "type")


def actor_of(api: Api) -> str:
    """The id by which the API names who acts, learned from a memory that goes again."""
    made = api.create("/who am I", "x")
    id = id_in(api.version(made["memory_version_id"], view="basic")["created_by"])
    api.delete(made["id"])
    return id
