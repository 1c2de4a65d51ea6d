"""The completions of a filter: keys, values, phrases, and only names that the person may see."""

import re

import pytest
from django.urls import reverse

from memoryhub.models import Agent, MemoryStore, User
from tests.api.harness import Hub, new_store
from tests.support.fixtures import signed_in
from tests.web.memories.pages import write

KEYS = "store path agent person session is when from to"


def completed(person: User, typed: str, keys: str = KEYS, store: str = "") -> list[str]:
    """Return what the field would say after each completion."""
    answer = signed_in(person).get(reverse("completions"), {"q": typed, "keys": keys, "store": store})
    assert answer.status_code == 200
    html = answer.content.decode().replace("&quot;", '"')
    match = re.search(r'data-start="(\d+)"', html)
    assert match
    return [typed[: int(match[1])] + text for text in re.findall(r'data-text="(.*?)"><span', html)]


def test_keys_and_phrases_of_the_page_complete(store: MemoryStore, alice: User) -> None:
    assert completed(alice, "refund pa") == ["refund path:"]
    assert completed(alice, "-pa") == ["-path:"] and completed(alice, "-fro") == []
    assert completed(alice, "not") == ["not reviewed "] and completed(alice, "not", "path") == []
    assert "last week " in completed(alice, "last")


def test_values_complete(store: MemoryStore, alice: User, agent: Agent, key: str) -> None:
    write(store, "/support/plan.md")
    assert completed(alice, "agent:sup") == ['agent:"Support bot" ']
    assert completed(alice, 'x agent:"Support b') == ['x agent:"Support bot" ']
    assert completed(alice, "refund by bot") == ['refund by "Support bot" ']
    assert completed(alice, "in /su") == ["in /support "] and completed(alice, "-path:/su") == ["-path:/support "]
    assert completed(alice, "is:pin") == ["is:pinned "] and completed(alice, "store:sup") == ["store:Support "]
    assert completed(alice, "person:ali") == ["person:alice@example.com "]


def test_a_session_completes_by_its_name(store: MemoryStore, bob: User, charlie: User, key: str) -> None:
    hub = Hub(store, key)
    hub.send(hub.block(command="view", path="/memories"), memoryhub_session="ticket-7")
    (found,) = completed(bob, "session:ticket")
    assert found.startswith("session:sesn_")
    assert completed(charlie, "session:ticket") == []


@pytest.mark.parametrize("typed", ["agent:", "by ", "store:", "person:", "session:", "path:/", "/", "in /s"])
def test_only_names_that_the_person_may_see_complete(
    store: MemoryStore, alice: User, charlie: User, agent: Agent, key: str, typed: str
) -> None:
    write(store, "/secret/a.md")
    other = new_store()
    write(other, "/elsewhere/a.md")
    said = " ".join(completed(charlie, typed) + completed(charlie, typed, store=store.pk))
    assert not any(name in said for name in ("Support", "alice", "secret", "elsewhere"))
    assert "elsewhere" not in " ".join(completed(alice, typed) + completed(alice, typed, store=other.pk))


@pytest.mark.parametrize("typed", ['"', 'agent:"', ":", "-", "a" * 5000, "is:", "nothing:x", "when:", "/%_\\"])
def test_whatever_is_typed_is_answered(alice: User, typed: str) -> None:
    completed(alice, typed)
    completed(alice, typed, keys="nonsense")
