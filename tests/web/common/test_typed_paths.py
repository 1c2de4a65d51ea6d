"""A path typed as agents write it, with `/memories` before it: the search leaves that out, and forms refuse it."""

from collections.abc import Callable, Mapping

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from memoryhub.models import Hold, Memory, MemoryStore, RetentionPolicy, User
from memoryhub.web.search import search
from tests.support.fixtures import new_person, signed_in
from tests.web.memories.pages import write
from tests.web.search.test_search import asked, text_of

TYPED = "/memories/customers/"
SAID = "Leave out /memories at the beginning: did you mean"
PLACES = {
    "a hold": ("holds", {"place": TYPED, "kind": "hold", "freezes": "on", "reason": "Dispute"}),
    "a policy": (
        "new_policy",
        {"name": "Old", "pattern": TYPED, "use_trash_days": "on", "trash_days": "9", "grace_days": "9"},
    ),
    "a rule": (
        "edit_path_rules",
        {
            "form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "0", "form-0-effect": "refuse", "form-0-verbs": "create",
            "form-0-pattern": TYPED, "act": "save",
        },
    ),
    "a memory": ("new_memory", {"path": TYPED + "new.md", "text": "new"}),
}  # fmt: skip
SENT: Mapping[str, Callable[[MemoryStore, Memory], tuple[str, dict[str, object]]]] = {
    "a rename": lambda store, memory: (reverse("rename_memory", args=[store.pk, memory.pk]), {"new_path": TYPED + "b"}),
    "a directory": lambda store, memory: (
        reverse("rename_directory", args=[store.pk, "customers"]),
        {"new_path": TYPED},
    ),
    "a move": lambda store, memory: (
        reverse("selection", args=[store.pk]),
        {"act": "move", "id": memory.pk, "into": TYPED},
    ),
    "an import": lambda store, memory: (
        reverse("new_import", args=[store.pk]),
        {"source": "upload", "place": TYPED, "brought": SimpleUploadedFile("a.md", b"text")},
    ),
    **{
        place: lambda store, memory, name=name, given=given: (reverse(name, args=[store.pk]), given)  # type: ignore[misc]
        for place, (name, given) in PLACES.items()
    },
}
READ = {
    "the audit": ("store_audit", {"q": f"path:{TYPED}"}),
    "the search": ("search", {"q": f"acme path:{TYPED}"}),
    "the inbox": ("review", {"q": f"path:{TYPED}"}),
    "what a pattern matches": ("retention_pattern", {"pattern": TYPED}),
    "which policy applies": ("explain_path", {"path": TYPED}),
}


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    return write(store, "/customers/acme.md")


@pytest.fixture
def client(memory: Memory, alice: User) -> Client:
    return signed_in(alice)


@pytest.mark.both_databases
@pytest.mark.parametrize("place", SENT)
def test_no_form_takes_the_root_of_the_tool_for_a_directory(
    place: str, client: Client, store: MemoryStore, memory: Memory
) -> None:
    address, given = SENT[place](store, memory)
    page = client.post(address, given).content.decode()
    assert SAID in page
    assert "customers" in page.partition(SAID)[2][:80]
    assert TYPED in page, "the form keeps what was typed"
    memory.refresh_from_db()
    store.refresh_from_db()
    assert (memory.path, store.memory_count, store.path_rules) == ("/customers/acme.md", 1, [])
    assert not Hold.objects.exists()
    assert not RetentionPolicy.objects.exists()


@pytest.mark.both_databases
@pytest.mark.parametrize("place", READ)
def test_no_filter_finds_nothing_there_without_saying_why(place: str, client: Client, store: MemoryStore) -> None:
    name, query = READ[place]
    args = [] if name in ("search", "review") else [store.pk]
    assert SAID in client.get(reverse(name, args=args), query).content.decode()


@pytest.mark.both_databases
def test_a_policy_of_the_hub_is_refused_too(client: Client) -> None:
    _name, given = PLACES["a policy"]
    hub = signed_in(new_person("Root", is_superuser=True))
    assert SAID in hub.post(reverse("new_hub_policy"), given).content.decode()


@pytest.mark.both_databases
def test_a_store_that_has_a_directory_of_this_name_is_asked_nothing(client: Client, store: MemoryStore) -> None:
    write(store, "/memories/customers/acme.md")
    page = client.post(reverse("holds", args=[store.pk]), PLACES["a hold"][1], follow=True).content.decode()
    assert SAID not in page
    assert Hold.objects.get().path == "/memories/customers"
    for name, query in READ.values():
        args = [] if name in ("search", "review") else [store.pk]
        assert SAID not in client.get(reverse(name, args=args), query).content.decode()


def test_a_path_is_found_as_agents_write_it_unless_it_is_in_quotes(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)
    write(store, "/tickets/4503.md", "open\n")
    page = asked(bob, "/memories/tickets/4503.md")
    assert "1 memory found." in text_of(page) and 'value="/memories/tickets/4503.md"' in page
    assert "Nothing was found" in asked(bob, '"/memories/tickets/4503.md"')
    assert "Nothing was found" in asked(bob, "/memories/")
    write(store, "/b.md", "see /memories/tickets/4503.md\n")
    assert "2 memories found." in text_of(asked(bob, "/memories/tickets/4503.md"))


@pytest.mark.both_databases
def test_a_directory_without_a_slash_at_the_end_is_recognized(client: Client, store: MemoryStore) -> None:
    def answer(pattern: str) -> str:
        return client.get(reverse("retention_pattern", args=[store.pk]), {"pattern": pattern}).content.decode()

    assert "/customers/" in answer("/memories/customers").partition(SAID)[2]
    said = "For all memories in it, write /customers/"
    assert said in answer("/customers") and "0 memories match now" in answer("/customers")
    rehearsed = client.post(reverse("new_policy", args=[store.pk]), PLACES["a policy"][1] | {"pattern": "/customers"})
    assert rehearsed.content.decode().count(said) == 2, "beside the pattern, and beside what a run would do"
    for other in ("/customers/", "/customers/acme.md", "/other", "/cust*", ""):
        assert said not in answer(other), other
    write(store, "/customer")
    assert "This is a directory" not in answer("/customer")
