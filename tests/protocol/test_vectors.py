"""Every vector of the specification, without a database: by the protocol's functions and by the plain dictionary."""

import pytest

from memoryhub.pure.protocol import paths
from tests.protocol.dictionary_hub import DictionaryHub
from tests.protocol.pure_tree import PureTree
from tests.protocol.vectors import VECTORS, Vector

every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)


def test_there_are_vectors_with_names_of_their_own() -> None:
    assert len(VECTORS) >= 194
    assert len({vector.id for vector in VECTORS}) == len(VECTORS)


@every_vector
def test_the_protocol_answers_the_vector_exactly(vector: Vector) -> None:
    tree = PureTree()
    for command in vector.setup:
        tree.call(command)
    assert tree.call(vector.op) == vector.expect
    if vector.files_after is not None:
        assert {paths.to_tool(path): text for path, text in tree.memories.items()} == vector.files_after


@every_vector
def test_the_dictionary_answers_the_vector_exactly(vector: Vector) -> None:
    hub = DictionaryHub()
    for command in vector.setup:
        hub.call(command)
    assert hub.call(vector.op) == vector.expect
    if vector.files_after is not None:
        assert hub.memories == vector.files_after
