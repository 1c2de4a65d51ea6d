"""The protocol's functions and the plain dictionary, written apart, answer every sequence of calls alike."""

from typing import Any

from hypothesis import given, settings, strategies as st

from memoryhub.pure.protocol import paths
from tests.protocol.dictionary_hub import DictionaryHub
from tests.protocol.pure_tree import PureTree
from tests.protocol.strategies import inputs


@settings(max_examples=300, deadline=None)
@given(st.lists(inputs, max_size=25), st.sampled_from([16_000, 60, 20]))
def test_the_two_agree_on_every_answer_and_every_memory(calls: list[dict[str, Any]], view_characters: int) -> None:
    tree, hub = PureTree(view_characters), DictionaryHub(view_characters=view_characters)
    for input in calls:
        assert tree.call(input) == hub.call(input)
        assert {paths.to_tool(path): text for path, text in tree.memories.items()} == hub.memories
    for path in ["/memories", *hub.memories]:
        view = {"command": "view", "path": path}
        assert tree.call(view) == hub.call(view)


# ------------------------------------------------------------------------------------------------ the hub's refusals
# The protocol knows their sentences but not when they are due; the dictionary does, and is looked at here alone.


def create(path: str, text: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def test_a_memory_has_at_most_its_bytes_and_one_that_has_more_may_not_grow() -> None:
    hub = DictionaryHub(memory_bytes=4)
    assert hub.call(create("/memories/a", "éé"))[0]
    sentence = "Error: /memories/a would be 5 bytes; the limit of this memory store is 4. Split it or shorten it."
    assert hub.call(replace("/memories/a", "éé", "ééx")) == (False, sentence)
    assert hub.call(create("/memories/b", "ééx")) == (False, sentence.replace("/a ", "/b "))
    hub.memories["/memories/a"] = "ééééé"
    assert hub.call(replace("/memories/a", "ééééé", "eeeeeeeee"))[0]
    assert hub.call(replace("/memories/a", "eeeeeeeee", "fffffffff"))[0]
    assert not hub.call(replace("/memories/a", "fffffffff", "ffffffffff"))[0]
    assert hub.memories == {"/memories/a": "fffffffff"}


def test_a_store_has_at_most_its_memories_and_bytes() -> None:
    hub = DictionaryHub(most_memories=2, total_bytes=6)
    assert hub.call(create("/memories/a", "12345"))[0]
    assert hub.call(create("/memories/b", "12")) == (
        False,
        "Error: this memory store would hold 7 bytes; its limit is 6. Delete or shorten some memories.",
    )
    assert hub.call(create("/memories/b", "1"))[0]
    assert hub.call(create("/memories/c", "")) == (
        False,
        "Error: this memory store holds 2 memories, which is its limit. Delete or merge some.",
    )
    assert not hub.call(replace("/memories/b", "1", "12"))[0]
    assert hub.call(replace("/memories/a", "12345", "1234"))[0]
    assert hub.call(replace("/memories/b", "1", "12"))[0]


def test_a_reader_only_views_and_an_archived_store_also_forgets() -> None:
    reader, archived = DictionaryHub(may_write=False), DictionaryHub(archived=True)
    archived.memories["/memories/a"] = "1"
    may_not = (False, "Error: this key may not write to this memory store")
    is_archived = (False, "Error: this memory store is archived and cannot be changed")
    assert reader.call(create("/memories/a", "1")) == reader.call({"command": "delete", "path": "/memories"}) == may_not
    assert archived.call(create("/memories/a", "1")) == archived.call(replace("/memories/z", "1", "2")) == is_archived
    assert reader.call(create("/etc", "1"))[1].startswith("Error: Path must start")
    assert reader.call({"command": "view", "path": "/memories"})[0]
    assert archived.call({"command": "view", "path": "/memories/a"})[0]
    assert archived.call({"command": "delete", "path": "/memories/a"})[0]


def test_a_store_may_be_set_to_overwrite() -> None:
    hub = DictionaryHub(overwrite=True, memory_bytes=4, most_memories=1)
    assert hub.call(create("/memories/a/b", "1")) == hub.call(create("/memories/a/b", "22"))
    assert hub.memories == {"/memories/a/b": "22"}
    assert hub.call(create("/memories/a", "1")) == (False, "Error: File /memories/a already exists")
    assert not hub.call(create("/memories/a/b", "55555"))[0]
