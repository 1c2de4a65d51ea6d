"""Memories that several agents wrote: the filter that finds them, and the fact on the page of each."""

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Access, Agent, MemoryStore, User
from memoryhub.web.search import search
from tests.api.harness import Hub
from tests.support.fixtures import BY, signed_in
from tests.web.search.test_search import asked, text_of


@pytest.mark.both_databases
def test_memories_that_several_agents_wrote_are_found_and_say_so(
    store: MemoryStore, key: str, agent: Agent, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)
    hub = Hub(store, key)
    bot = keys_and_roles.create_agent(name="other-bot", description="", **BY)
    other = Hub(hub.store, keys_and_roles.issue_key(bot, stores=[hub.store], access=Access.WRITE, **BY)[1])
    for path in ("/memories/one.md", "/memories/both.md"):
        hub.call(command="create", path=path, file_text="one")
    other.call(command="str_replace", path="/memories/both.md", old_str="one", new_str="two")
    page = asked(bob, "is:several-agents")
    assert "both.md" in page and "one.md" not in page
    assert "one.md" in asked(bob, "-is:several-agents") and "both.md" in asked(bob, "by several agents")
    both, one = hub.store.memories.get(name="both.md"), hub.store.memories.get(name="one.md")
    facts = text_of(signed_in(bob).get(f"/stores/{hub.store.pk}/memories/{both.pk}").content.decode())
    assert f"Agents that wrote it other-bot , {agent.name}" in facts or f"it {agent.name} , other-bot" in facts
    assert "Agents that wrote" not in signed_in(bob).get(f"/stores/{hub.store.pk}/memories/{one.pk}").content.decode()
