"""The paths that an erasure makes: the memories stay under the rules about their directories and endings."""

import pytest

from memoryhub.actions.erasure import erasure
from memoryhub.actions.erasure.places import Terms
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


@pytest.mark.django_db
@pytest.mark.both_databases
@pytest.mark.parametrize("text", ["/tickets/4711.md", "tickets/4711"])
def test_what_a_rule_hides_by_its_directory_stays_there_where_a_whole_path_is_erased(
    store: MemoryStore, key: str, alice: User, text: str
) -> None:
    """Its directory got another name, which no rule, policy or pin is about."""
    write(store, "/tickets/4711.md", "1,000\n")
    write(store, "/notes.md", f"See {text}.\n")
    hides = PathRule(Effect.HIDE, "/tickets/", reason="")
    path_rules.save(store.pk, [hides], path_rules.digest([]), act(alice))
    found = erasure.search(store.pk, [text], act().at, [text])
    erasure.erase(store.pk, [text], found.digest, act(alice), [text])
    (path,) = Memory.objects.filter(store=store).exclude(path="/notes.md").values_list("path", flat=True)
    assert path.startswith("/tickets/[redacted]")
    hub = Hub(store, key)
    assert b"does not exist" in hub.send(hub.block(command="view", path=f"/memories{path}")).body
    assert not erasure.search(store.pk, [text], act().at, [text]).hits


def test_a_directory_that_has_the_text_keeps_no_name() -> None:
    terms = Terms(["/tickets/"], ["", "/tickets"])
    assert terms.masked_path("/tickets/4711.md") == "/[redacted]/4711.md"
    assert Terms(["a/b/c.md"], ["", "/a"]).masked_path("/a/b/c.md") == "/a/[redacted]/[redacted]"
