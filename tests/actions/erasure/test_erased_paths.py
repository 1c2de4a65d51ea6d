"""The paths that an erasure makes: the memories stay under the rules about their directories and endings, and come
under no others."""

from collections.abc import Sequence

import pytest

from memoryhub.actions.erasure import erasure
from memoryhub.actions.erasure.places import Named, Terms
from memoryhub.actions.stores import path_rules
from memoryhub.models import AuditEntry, Finding, FindingState, Memory, MemoryStore, User
from memoryhub.pure.path_rules import Effect, PathRule
from memoryhub.web.path_rules.rules import saved_by
from tests.api.harness import Hub
from tests.web.memories.pages import act, write


def hide(store: MemoryStore, by: User, *patterns: str, allowed: Sequence[str] = ()) -> None:
    rules = [PathRule(Effect.ALLOW, pattern) for pattern in allowed]
    rules += [PathRule(Effect.HIDE, pattern) for pattern in patterns]
    path_rules.save(store.pk, rules, path_rules.digest([]), act(by))


def erase(store: MemoryStore, by: User, *texts: str) -> list[str]:
    """Erase texts, and return the paths of the memories that there are then."""
    found = erasure.search(store.pk, texts, act().at, texts)
    erasure.erase(store.pk, texts, found.digest, act(by), texts)
    return sorted(Memory.objects.filter(store=store).values_list("path", flat=True))


def is_hidden(hub: Hub, path: str) -> bool:
    return b"does not exist" in hub.send(hub.block(command="view", path=f"/memories{path}")).body


@pytest.mark.django_db
def test_what_a_rule_hides_stays_hidden_where_two_paths_would_become_equal(
    store: MemoryStore, key: str, alice: User
) -> None:
    """A number behind the ending took the second one out of rules and policies for `*.md`."""
    for path in ("/private/Ada.md", "/private/Ada Meyer.md"):
        write(store, path, "1,000\n")
    hide(store, alice, "/private/*.md")
    there = erase(store, alice, "Ada", "Ada Meyer")
    assert there == ["/private/[redacted-2].md", "/private/[redacted].md"]
    hub = Hub(store, key)
    assert all(is_hidden(hub, path) for path in there)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "pattern"),
    [("/tickets/4711.md", "/*/*.md"), ("tickets/4711", "/tickets/"),
     pytest.param("/tickets/4711.md", "/tickets/", marks=pytest.mark.long),
     pytest.param("/tickets/4711.md", "/**/tickets/", marks=pytest.mark.long)],
)  # fmt: skip
def test_what_a_rule_hides_stays_hidden_where_a_whole_path_is_erased(
    store: MemoryStore, key: str, alice: User, text: str, pattern: str
) -> None:
    """Its directory and its ending were gone, which the rule is about."""
    write(store, "/tickets/4711.md", "1,000\n")
    write(store, "/notes.md", f"See {text}.\n")
    hide(store, alice, pattern)
    (path,) = set(erase(store, alice, text)) - {"/notes.md"}
    assert "redacted" in path and is_hidden(Hub(store, key), path)


@pytest.mark.django_db
@pytest.mark.both_databases
@pytest.mark.parametrize("moved", [False, True])
def test_a_finding_in_a_part_of_a_path_that_stays_is_open_afterwards(
    store: MemoryStore, key: str, alice: User, *, moved: bool
) -> None:
    """It was resolved, although the path had its value still, so nobody was led to it any more."""
    hub = Hub(store, key)
    hub.call(command="create", path="/memories/Ada/4111111111111111/notes.md", file_text="1,000\n")
    if moved:
        hub.call(command="rename", old_path="/memories/Ada", new_path="/memories/Evelyn")
    still_open = Finding.objects.of_store(store.pk).filter(in_path=True, state=FindingState.OPEN)
    erase(store, alice, "Ada")
    (finding,) = still_open
    assert str(finding.version.path)[finding.start : finding.end] == "4111111111111111"
    erase(store, alice, "4111111111111111")
    assert not still_open.all().exists()


@pytest.mark.django_db
def test_a_later_erasure_makes_no_path_that_is_under_the_rules_of_an_earlier_one(
    store: MemoryStore, key: str, alice: User
) -> None:
    """Both names became the same, so what agents may see of the first person showed them the second one."""
    for name in ("Ada", "Benjamin"):
        write(store, f"/people/{name}/notes.md", "1,000\n")
    hide(store, alice, "/people/", allowed=["/people/Benjamin/"])
    assert erase(store, alice, "Benjamin") == ["/people/Ada/notes.md", "/people/[redacted]/notes.md"]
    there = erase(store, alice, "Ada")
    assert there == ["/people/[redacted-2]/notes.md", "/people/[redacted]/notes.md"]
    hub = Hub(store, key)
    assert [is_hidden(hub, path) for path in there] == [True, False]


@pytest.mark.django_db
def test_an_earlier_list_of_path_rules_is_about_the_same_memories_as_before(store: MemoryStore, alice: User) -> None:
    for name in ("Ada", "Benjamin"):
        write(store, f"/people/{name}/notes.md", "1,000\n")
    hide(store, alice, "/people/Ada/", allowed=["/people/Benjamin/"])
    erase(store, alice, "Benjamin")
    erase(store, alice, "Ada")
    entry = AuditEntry.objects.of_chain(store.pk).get(command="edit_path_rules")
    now = MemoryStore.objects.get(pk=store.pk)
    assert saved_by(now, str(entry.seq)) == path_rules.of_store(now)


@pytest.mark.push
@pytest.mark.django_db
@pytest.mark.parametrize("at_once", [True, False])
def test_a_name_of_a_memory_and_one_of_a_directory_are_erased(store: MemoryStore, alice: User, at_once: bool) -> None:
    """The second path came under the memory that the first one had become, and the search for a free one never
    ended."""
    write(store, "/people/Ada Meyer")
    write(store, "/people/Ada/notes.md")
    if not at_once:
        erase(store, alice, "Ada Meyer")
    assert erase(store, alice, "Ada Meyer", "Ada") == ["/people/[redacted]", "/people/[redacted-2]/notes.md"][::-1]


def test_what_has_the_text_keeps_no_name() -> None:
    named = Named(frozenset(["", "/tickets", "/a"]), frozenset(["b/", "c/"]), frozenset([".md"]))
    assert Terms(["/tickets/"], named).masked_path("/tickets/4711.md") == "/[redacted]/4711.md"
    assert Terms(["a/d/x.md"], named).masked_path("/a/d/x.md") == "/a/[redacted]/[redacted].md"
    assert Terms(["b/c"], named).masked_path("/a/b/c/x") == "/a/[redacted]/c/x"
    assert Terms(["dir/x", "dir"], named).masked_path("/dir/x.md") == "/[redacted]/x.md"
    assert Terms(["x.md"], named).masked_path("/b/x.md") == "/b/[redacted].md"
    assert Terms(["].md"], named).masked_path("/b/a].md") == "/b/a[redacted]"
