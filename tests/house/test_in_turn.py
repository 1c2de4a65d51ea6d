"""Cases in turn: each begins with what the fixtures made, and a failure names its case."""

import pytest

from memoryhub.models import MemoryStore
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering


@pytest.mark.both_databases
@in_turn(("name", "before"), [("a", "Support"), ("b", "Support")])
def test_a_case_finds_nothing_of_the_one_before(store: MemoryStore, name: str, before: str) -> None:
    assert MemoryStore.objects.get().name == before
    with tampering():
        MemoryStore.objects.update(name=name)


def test_a_failure_names_its_case(db: None) -> None:
    @in_turn("number", range(3))
    def fails_with_one(number: int) -> None:
        assert number != 1

    with pytest.raises(AssertionError) as raised:
        fails_with_one()
    assert raised.value.__notes__ == ["in the case 1"]
