"""A path typed as agents write it, with `/memories` before it: filters and forms leave that out."""

from collections.abc import Callable, Mapping

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from memoryhub.actions.erasure import whole
from memoryhub.models import Hold, Import, Memory, MemoryStore, RetentionPolicy, User
from memoryhub.web.search import search
from tests.support.fixtures import new_person, signed_in
from tests.web.browser_forms import form_with
from tests.web.memories.pages import act, write
from tests.web.search.test_search import asked, text_of

TYPED = "/memories/customers/"
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
    "a memory": ("new_memory", {"path": TYPED + "new.md", "text": "new", "newlines": "lf"}),
}  # fmt: skip
SENT: Mapping[str, Callable[[MemoryStore, Memory], tuple[str, dict[str, object]]]] = {
    "a rename": lambda store, memory: (
        reverse("rename_memory", args=[store.pk, memory.pk]),
        {"new_path": TYPED + "b.md"},
    ),
    "a directory": lambda store, memory: (
        reverse("rename_directory", args=[store.pk, "customers"]),
        {"new_path": "/memories/clients/"},
    ),
    "a move": lambda store, memory: (
        reverse("selection", args=[store.pk]),
        {"act": "move", "id": memory.pk, "into": "/memories/clients"},
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
    "which policy applies": ("explain_path", {"path": TYPED + "acme.md"}),
}
FOUND = {
    "the audit": "/customers/acme.md", "the search": "1 memory found.", "the inbox": "/customers/",
    "what a pattern matches": "1 memory matches now", "which policy applies": "No policy",
}  # fmt: skip


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    return write(store, "/customers/acme.md")


@pytest.fixture
def client(memory: Memory, alice: User) -> Client:
    return signed_in(alice)


MADE: Mapping[str, Callable[[MemoryStore], object]] = {
    "a hold": lambda store: [hold.path for hold in Hold.objects.of_store(store.pk)] == ["/customers"],
    "a policy": lambda store: [one.pattern for one in RetentionPolicy.objects.filter(store=store)] == ["/customers/"],
    "a rule": lambda store: [rule["pattern"] for rule in store.path_rules] == ["/customers/"],
    "a memory": lambda store: live(store) == {"/customers/acme.md", "/customers/new.md"},
    "a rename": lambda store: live(store) == {"/customers/b.md"},
    "a directory": lambda store: live(store) == {"/clients/acme.md"},
    "a move": lambda store: live(store) == {"/clients/acme.md"},
    "an import": lambda store: [one.place for one in Import.objects.filter(store=store)] == ["/customers"],
}


def send(client: Client, address: str, given: dict[str, object]) -> None:
    """Send a form. If the hub shows first what the form would do, send it again to do that."""
    answer = client.post(address, given)
    if answer.status_code == 200:
        html = answer.content.decode()
        seen = "seen" if 'name="seen"' in html else "digest"
        acts = {"act": "save"} if seen == "seen" else {}
        client.post(address, given | acts | {seen: form_with(html, seen)[seen]})


def live(store: MemoryStore) -> set[str]:
    return set(Memory.objects.live().filter(store=store).values_list("path", flat=True))


@pytest.mark.both_databases
@pytest.mark.parametrize("place", SENT)
def test_every_form_takes_a_path_as_agents_write_it(
    place: str, client: Client, store: MemoryStore, memory: Memory
) -> None:
    address, given = SENT[place](store, memory)
    send(client, address, given)
    store.refresh_from_db()
    assert MADE[place](store)


@pytest.mark.both_databases
@pytest.mark.parametrize("place", READ)
def test_every_filter_takes_a_path_as_agents_write_it(
    place: str, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)
    name, query = READ[place]
    args = [] if name in ("search", "review") else [store.pk]
    page = client.get(reverse(name, args=args), query).content.decode()
    assert "/customers/" in page.replace(TYPED, "")
    assert FOUND[place] in " ".join(page.split())


@pytest.mark.both_databases
def test_a_policy_of_the_hub_takes_it_too(client: Client) -> None:
    _name, given = PLACES["a policy"]
    hub, address = signed_in(new_person("Root", is_superuser=True)), reverse("new_hub_policy")
    seen = form_with(hub.post(address, given).content.decode(), "seen")["seen"]
    hub.post(address, given | {"act": "save", "seen": seen})
    assert RetentionPolicy.objects.get().pattern == "/customers/"


@pytest.mark.both_databases
def test_a_store_that_has_a_directory_of_this_name_means_it(client: Client, store: MemoryStore) -> None:
    write(store, "/memories/customers/acme.md")
    client.post(reverse("holds", args=[store.pk]), PLACES["a hold"][1], follow=True)
    assert Hold.objects.get().path == "/memories/customers"


def test_the_root_of_the_tool_is_the_whole_memory_store(client: Client, store: MemoryStore) -> None:
    client.post(reverse("holds", args=[store.pk]), PLACES["a hold"][1] | {"place": "/memories"}, follow=True)
    assert Hold.objects.get().path == ""


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

    said = "To cover all memories in the directory, write /customers/"
    assert said in answer("/memories/customers")
    assert said in answer("/customers") and "0 memories match now" in answer("/customers")
    rehearsed = client.post(reverse("new_policy", args=[store.pk]), PLACES["a policy"][1] | {"pattern": "/customers"})
    assert rehearsed.content.decode().count(said) == 2, "beside the pattern, and beside what a run would do"
    for other in ("/customers/", "/customers/acme.md", "/other", "/cust*", ""):
        assert said not in answer(other), other
    write(store, "/customer")
    assert "There is a directory at this path" not in answer("/customer")


@pytest.mark.both_databases
def test_a_saved_pattern_keeps_its_meaning_when_nothing_is_left_of_its_directory(
    client: Client, store: MemoryStore
) -> None:
    gone = write(store, "/memories/customers/old.md")
    for place in ("a policy", "a rule"):
        send(client, *SENT[place](store, gone))
    whole.remove_memories(store.pk, [gone.pk], act())
    policy = RetentionPolicy.objects.get(pattern=TYPED)
    send(client, reverse("policy", args=[policy.pk]), {**PLACES["a policy"][1], "name": "New"})
    send(client, reverse("edit_path_rules", args=[store.pk]), {**PLACES["a rule"][1], "form-0-reason": "Ask."})
    policy.refresh_from_db()
    store.refresh_from_db()
    assert (policy.name, policy.pattern) == ("New", TYPED)
    assert [(rule["reason"], rule["pattern"]) for rule in store.path_rules] == [("Ask.", TYPED)]
    matching = client.get(reverse("retention_pattern", args=[store.pk]), {"pattern": TYPED})
    assert f"under {TYPED}" in matching.content.decode().replace("<bdi>", "")
