"""Random commands on a hub and on a plain dictionary: no answer, and nothing that is left behind, differs."""

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings, strategies as st

from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import Access, AuditEntry, Directory, Memory, MemoryStore
from memoryhub.pure.protocol import paths
from tests.api.harness import BY, Hub, contents, new_secret, new_store, outcome
from tests.protocol.dictionary_hub import DictionaryHub, size_of
from tests.support.long import tried

NAMES = ("a", "b", "A", "a0", "a.md", ".x", "node_modules", "é", "100%", "_")
PIECES = ("", "a", "b", "aa", "a b", "é\r", "\u2028", "$1", "long line of text")
LISTS = tried(500 if connection.vendor == "sqlite" else 200)
"""So many lists of commands are tried; what they ask of the database is the same on both."""
STRANGE_PATHS = ("/memories", "/memories/", "/etc", "/memories/../a", "/memories/a\n", "/memories/ a", "", None, 7)

names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)
good_paths = st.builds(lambda parts: "/memories/" + "/".join(parts), names)
few_paths = st.sampled_from([f"/memories/{path}" for path in ("a", "b", "a/b", "a/a", "b/a", "a/b/a.md", "a/.x/a")])
any_path = st.one_of(few_paths, few_paths, good_paths, st.sampled_from(STRANGE_PATHS))
texts = st.lists(st.sampled_from(PIECES), max_size=6).map("\n".join)
pieces = st.one_of(st.sampled_from(PIECES), texts)
numbers = st.integers(-2, 8)
ranges = st.one_of(st.none(), st.tuples(numbers, numbers).map(list), st.sampled_from(["x", [1], [1, True], ["1", 2.0]]))
lines = st.one_of(numbers, st.sampled_from(["1", 2.0, 1.5, None, True, "x"]))

commands = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": any_path}, optional={"view_range": ranges}),
    st.fixed_dictionaries({"command": st.just("create"), "path": any_path, "file_text": texts}),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": any_path, "old_str": pieces}, optional={"new_str": pieces}
    ),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": any_path, "insert_line": lines, "insert_text": pieces}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": any_path}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": any_path, "new_path": any_path}),
    st.fixed_dictionaries({"command": st.sampled_from(["View", None, "list"])}, optional={"path": any_path}),
)
creates = st.fixed_dictionaries({"command": st.just("create"), "path": few_paths, "file_text": texts})
acts = st.one_of(
    st.tuples(st.just("call"), commands),
    st.tuples(st.just("call"), commands),
    st.tuples(st.just("call"), creates),
    st.tuples(st.just("message"), st.lists(commands, min_size=1, max_size=4)),
    st.tuples(st.just("again"), st.integers(0, 5)),
    st.tuples(st.just("archive"), st.booleans()),
    st.tuples(st.just("key"), st.sampled_from([Access.WRITE, Access.WRITE, Access.READ])),
)
limits = st.fixed_dictionaries(
    {
        "memory_bytes": st.sampled_from([10, 40, 102_400]),
        "memories": st.sampled_from([2, 5, 10_000]),
        "total_bytes": st.sampled_from([30, 100, 1_000_000]),
        "view_characters": st.sampled_from([1, 25, 16_000]),
        "overwrite": st.booleans(),
    }
)


class Pair:
    """A hub and the dictionary that has to agree with it."""

    def __init__(self, limits: dict[str, Any]) -> None:
        overwrite, view = limits["overwrite"], limits["view_characters"]
        self.model = DictionaryHub(
            memory_bytes=limits["memory_bytes"], most_memories=limits["memories"], total_bytes=limits["total_bytes"],
            view_characters=view, overwrite=overwrite,
        )  # fmt: skip
        store = new_store(
            overwrite_on_create=overwrite, limit_memory_bytes=limits["memory_bytes"], limit_memories=limits["memories"],
            limit_total_bytes=limits["total_bytes"], limit_view_characters=view,
        )  # fmt: skip
        self.secrets = {level: new_secret(store, level) for level in (Access.READ, Access.WRITE)}
        self.hub = Hub(store, self.secrets[Access.WRITE])
        self.sent: list[tuple[str, dict[str, Any], list[str]]] = []
        self.entries = 0

    def call(self, input: dict[str, Any]) -> None:
        block = self.hub.block(**input)
        self._compare(block, self.hub.send(block).value)

    def message(self, inputs: list[dict[str, Any]]) -> None:
        blocks = [self.hub.block(**input) for input in inputs]
        for block, result in zip(blocks, self.hub.message(*blocks).value["content"], strict=True):
            self._compare(block, result)

    def again(self, back: int) -> None:
        """Sends an earlier block again: nothing happens, and only a view answers what is true now."""
        if back < len(self.sent):
            secret, block, answer = self.sent[-1 - back]
            before = contents(self.hub.store)
            now, self.hub.secret = self.hub.secret, secret
            result = outcome(self.hub.send(block).value)
            self.hub.secret = now
            self.entries += 1
            assert contents(self.hub.store) == before
            assert result == (self._expected(block["input"]) if block["input"]["command"] == "view" else answer)

    def archive(self, archived: bool) -> None:
        before = MemoryStore.objects.get(pk=self.hub.store.pk).is_archived
        stores.set_archived(self.hub.store, archived, **BY)
        self.entries += before != archived
        self.model.archived = archived

    def key(self, level: Access) -> None:
        self.hub.secret = self.secrets[level]
        self.model.may_write = level == Access.WRITE

    def _expected(self, input: dict[str, Any]) -> list[str]:
        good, text = self.model.call(input)
        return ["ok" if good else "err", text]

    def _compare(self, block: dict[str, Any], result: dict[str, Any]) -> None:
        answer = self._expected(block["input"])
        assert outcome(result) == answer
        self.sent.append((self.hub.secret, block, answer))
        self.entries += 1

    def assert_same(self) -> None:
        """The tree, the directories with their counters, the store's counters and the audit."""
        store, texts = MemoryStore.objects.get(pk=self.hub.store.pk), self.model.memories
        assert contents(store) == texts
        count, size = Counter({"": 0}), Counter({"": 0})
        for path, text in texts.items():
            for directory in paths.ancestors(path.removeprefix("/memories")):
                count[directory] += 1
                size[directory] += size_of(text)
        rows = Directory.objects.filter(store=store).values_list("path", "memory_count", "total_bytes")
        assert sorted(rows) == sorted((path, count[path], size[path]) for path in count)
        assert (store.memory_count, store.total_bytes) == (count[""], size[""])
        places = Memory.objects.filter(store=store, deleted_at=None).values_list("path", "directory__path")
        assert all(paths.parent(path) == directory for path, directory in places)
        assert AuditEntry.objects.of_chain(store.id).count() == self.entries + 1
        assert verify.verify(store.id) == (self.entries + 1, None)


@pytest.mark.django_db
@settings(max_examples=LISTS, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(limits, st.lists(acts, min_size=1, max_size=30))
def test_the_hub_does_what_a_dictionary_would_do(limits: dict[str, Any], acts: list[tuple[str, Any]]) -> None:
    pair = Pair(limits)
    for name, value in acts:
        getattr(pair, name)(value)
    pair.assert_same()
