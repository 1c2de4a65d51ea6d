"""Two paths that become equal in an erasure: both memories stay under the rules about their ending."""

import pytest

from memoryhub.actions.erasure import erasure
from memoryhub.actions.stores import path_rules
from memoryhub.models import Memory, MemoryStore, User
from memoryhub.path_rules import Effect, PathRule
from tests.api.harness import Hub
from tests.web.memories.pages import act, write


@pytest.mark.django_db
@pytest.mark.both_databases
def test_what_a_rule_hides_stays_hidden_where_two_paths_become_equal(store: MemoryStore, key: str, alice: User) -> None:
    """A number behind the ending took the second one out of rules and policies for `*.md`."""
    for path in ("/private/Ada.md", "/private/Ada Meyer.md"):
        write(store, path, "1,000\n")
    hides = PathRule(Effect.HIDE, "/private/*.md", reason="")
    path_rules.save(store.pk, [hides], path_rules.digest([]), act(alice))
    terms = ["Ada", "Ada Meyer"]
    found = erasure.search(store.pk, terms, act().at, terms)
    erasure.erase(store.pk, terms, found.digest, act(alice), terms)
    there = sorted(Memory.objects.filter(store=store).values_list("path", flat=True))
    assert there == ["/private/[redacted]-2.md", "/private/[redacted].md"]
    hub = Hub(store, key)
    for path in there:
        assert b"does not exist" in hub.send(hub.block(command="view", path=f"/memories{path}")).body
