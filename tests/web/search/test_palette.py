"""The palette: stores, paths and agents by parts of their names, of what the person may see."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.models import Agent, MemoryStore, User
from memoryhub.web.search.finder import cache
from tests.api.harness import Hub, new_store
from tests.support.fixtures import signed_in
from tests.support.in_turn import in_turn
from tests.web.all_pages.hostile import build
from tests.web.history.versions import Caller
from tests.web.memories.pages import write


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.forget_all()


def groups(person: User, **parameters: str) -> str:
    answer = signed_in(person).get(reverse("palette"), parameters, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    html = answer.content.decode()
    assert "<html" not in html
    return html


def test_stores_paths_and_agents_are_found(store: MemoryStore, alice: User, agent: Agent, key: str) -> None:
    memory = write(store, "/support/plan.md")
    html = groups(alice, q="support", store=store.id)
    assert f'href="/stores/{store.id}/"' in html
    assert f'href="/stores/{store.id}/memories/{memory.id}"' in html
    assert f'href="/agents/{agent.id}"' in html
    order = ["Memory stores", "Agents", "Paths", "Search"]
    assert sorted(order, key=lambda label: html.index(f'data-label="{label}"')) == order


def test_erasing_is_offered_first_only_to_who_asks_for_it(store: MemoryStore, alice: User) -> None:
    found = groups(alice, q="Jane Doe")
    assert found.index("Search memories for") < found.index(" everywhere…")
    assert " everywhere…" not in groups(alice, q="prometheus"), "no name, no address and no number"
    found = groups(alice, q="limits", store=store.id)
    assert "/limits" in found and " everywhere…" not in found, "who names a page erases nothing"
    found = groups(alice, q="erase a person")
    assert found.index("Erase a person everywhere…") < found.index("Search memories for")


@pytest.mark.both_databases
@in_turn(("typed", "address"), [
    ("rate limit", "/settings/limits"), ("limited", "/settings/limits"), ("429", "/stores/{}/limits"),
    ("is the hub healthy", "/settings/background"), ("health", "/settings/background"),
    ("status", "/settings/background"), ("readyz", "/settings/background"), ("key", "/stores/{}/keys"),
    ("slack", "/stores/{}/webhooks"), ("password", "/account"),
    ("authenticator", "/account"), ("personal data", "/erase"),
    ("siem", "/guide/metrics"), ("four eyes", "/acts"),
    ("stop agent", "/agents"), ("hand over", "/stores"), ("compare weeks", "/stores/{}/moments"),
    ("noisiest", "/overview"), ("never read", "/stores/{}/overview"), ("bring back", "/stores/{}/trash"),
    ("webhook failed", "/stores/{}/webhooks"), ("only propose", "/stores/{}/path-rules"), ("mfa", "/account"),
])  # fmt: skip
def test_pages_are_found_by_other_words(store: MemoryStore, superuser: User, typed: str, address: str) -> None:
    assert f'href="{address.format(store.id)}"' in groups(superuser, q=typed, store=store.id)


@pytest.mark.both_databases
def test_a_memory_and_a_version_are_found_by_their_ids(store: MemoryStore, alice: User, charlie: User) -> None:
    memory = write(store, "/support/<plan>.md")
    assert memory.head_id
    for typed in (memory.pk, f" {memory.pk} "):
        found = groups(alice, q=typed)
        assert f'href="/stores/{store.id}/memories/{memory.pk}"' in found and "/support/&lt;plan&gt;.md" in found
    found = groups(alice, q=memory.head_id)
    assert f'href="{reverse("version", args=[store.id, memory.head_id])}"' in found
    assert "Version 1 of /support/&lt;plan&gt;.md" in found
    for typed in (memory.pk, memory.head_id):
        assert "plan" not in groups(charlie, q=typed)
    for typed in ("mem_", "mem_x", "memver_", "memver_" + "Z" * 300):
        assert "plan" not in groups(alice, q=typed)


@pytest.mark.both_databases
def test_a_call_is_found_by_its_id(store: MemoryStore, key: str, alice: User, charlie: User) -> None:
    caller = Caller(store, key)
    caller.call("create", id="toolu_7", path="/memories/a.md", file_text="one\n")
    found = groups(alice, q="toolu_7")
    assert f'href="{reverse("entry", args=[store.id, caller.last.seq])}"' in found
    assert f'href="{reverse("audit")}?q=toolu_7"' in found
    assert "/audit/" not in groups(charlie, q="toolu_7")
    assert f'href="{reverse("audit")}?q=req_01"' in groups(alice, q="req_01")


def test_settings_are_found_by_who_may_open_them(store: MemoryStore, alice: User, bob: User, superuser: User) -> None:
    of_store, of_hub = f'href="/stores/{store.id}/members"', f'href="{reverse("hub_background")}"'
    assert of_store in groups(alice, q="members", store=store.id)
    assert of_store not in groups(bob, q="members", store=store.id)
    assert of_store not in groups(alice, q="members")
    assert of_hub in groups(superuser, q="background") and of_hub not in groups(alice, q="background")
    assert f'href="{reverse("account")}"' in groups(bob, q="your settings")


def test_pages_and_sessions_are_found_and_memories_can_always_be_searched(
    store: MemoryStore, bob: User, charlie: User, key: str
) -> None:
    hub = Hub(store, key)
    hub.send(hub.block(command="view", path="/memories"), memoryhub_session="trashy-7")
    html = groups(bob, q="trash", store=store.id)
    assert (
        f'href="{reverse("trash", args=[store.id])}"' in html and "trashy" not in html.split('data-label="Sessions"')[0]
    )
    assert "<mark>trash</mark>y-7 · Support bot" in html
    assert f'href="/search?q=trash&amp;store={store.id}"' in html and 'href="/search?q=trash"' in html
    hidden = groups(charlie, q="trash", store=store.id)
    assert "trashy" not in hidden and store.id not in hidden and 'href="/search?q=trash"' in hidden
    assert 'href="/search?q=%3Cb%3E%26"' in groups(bob, q="<b>&")


def test_other_stores_are_looked_through_where_this_one_has_few(store: MemoryStore, superuser: User) -> None:
    other = new_store()
    write(other, "/elsewhere.md")
    assert f"Paths of {other.name}" in groups(superuser, q="elsewhere", store=store.id)
    for number in range(8):
        write(store, f"/elsewhere-{number}.md")
    assert "Paths of" not in groups(superuser, q="elsewhere", store=store.id)


def test_paths_alone_when_asked_for(store: MemoryStore, alice: User) -> None:
    write(store, "/support.md")
    html = groups(alice, q="support", only="paths")
    assert "/</span><mark>support</mark>.md" in html
    assert "Memory stores" not in html


def test_an_empty_query_names_stores(store: MemoryStore, alice: User) -> None:
    assert store.name in groups(alice)


def test_charlie_finds_nothing_of_alice(
    store: MemoryStore, charlie: User, agent: Agent, key: str, client: Client
) -> None:
    write(store, "/support.md")
    for parameters in ({}, {"store": store.id}, {"only": "paths", "store": store.id}):
        assert "/stores/" not in groups(charlie, q="support", **parameters)
        assert store.name not in groups(charlie, **parameters)
    assert client.get(reverse("palette")).status_code == 302
    assert signed_in(charlie).post(reverse("palette")).status_code == 405


def test_it_is_a_page_without_script(store: MemoryStore, alice: User) -> None:
    page = signed_in(alice).get(reverse("palette"), {"q": "supp", "store": store.id}).content.decode()
    assert f'<a class="found-name row-link" href="/stores/{store.id}/"><mark>Supp</mark>ort</a>' in page
    assert f'name="store" value="{store.id}"' in page
    assert "Nothing has this name" in signed_in(alice).get(reverse("palette"), {"q": "zzz"}).content.decode()


@pytest.mark.parametrize("parameters", [{"store": "nowhere"}, {"store": "hub"}, {"only": "x"}, {"q": "a" * 3000}])
def test_any_parameters_are_answered(store: MemoryStore, alice: User, parameters: dict[str, str]) -> None:
    groups(alice, **parameters)


def test_hostile_names_stay_text(db: None) -> None:
    world = build()
    for query in ("onload", "onerror", "window", "script", "gnp"):
        html = groups(world.person, q=query, store=world.store.id)
        assert "<script" not in html
        assert "<img" not in html
        assert "<svg/onload" not in html


def test_documents_of_the_guide_are_a_group_of_their_own(alice: User) -> None:
    before, _label, after = groups(alice, q="mcp").partition('data-label="Guide"')
    assert 'href="/guide/mcp"' in after and 'href="/guide/mcp"' not in before
