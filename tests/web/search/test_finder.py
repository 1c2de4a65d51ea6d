"""The path finder: the paths of a store as they are now, whatever has happened to them, and to whom it answers."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.erasure import whole
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.database.watch import TookTooMuch
from memoryhub.models import HUB, AuditChain, Memory, MemoryStore, User
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.path_index import Entry, found, words_of
from memoryhub.web.search import search
from memoryhub.web.search.finder import cache as finder_cache
from tests.api.harness import new_store
from tests.support.fixtures import signed_in
from tests.support.long import LONG, some
from tests.support.write_guard import tampering
from tests.web.all_pages.hostile import HIDDEN, PATH, build
from tests.web.memories.pages import act, write


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    finder_cache.forget_all()


def find(store: MemoryStore, query: str, limit: int = 30) -> list[str]:
    seq = AuditChain.objects.get(pk=store.id).last_seq
    return [entry.path for entry in finder_cache.paths_of(store.id, seq).find(query, limit)]


def naive(store: MemoryStore, query: str, limit: int = 30) -> list[str]:
    """Every live path looked at."""
    rows = Memory.objects.live().filter(store=store).values_list("id", "path")
    fits = [found(Entry.of(*row), words_of(query)) for row in rows]
    return [entry.path for *_, entry in sorted(fit for fit in fits if fit)[:limit]]


def rows(client: Client, store: MemoryStore, query: str) -> str:
    answer = client.get(reverse("find", args=[store.id]), {"q": query}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.push
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_the_finder_follows_everything_that_happens_to_paths(
    store: MemoryStore, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Creates, edits, renames of memories and directories, deletes and restores, at random."""
    monkeypatch.setattr(finder_cache, "FEW", 0)
    chance = random.Random(seed)
    names = ["acme", "Notes", "顧客", "ＡＢＣ", "x y", "plan-b"]
    for _ in range(120 if LONG else 50):
        _do_something(store, chance, names)
        if chance.random() < 0.6:
            for query in ("a", "no", "顧客", "abc x", "plan acme", "/notes", "b"):
                assert find(store, query) == naive(store, query), query


def _do_something(store: MemoryStore, chance: random.Random, names: list[str]) -> None:
    place = "/" + "/".join(chance.choices(names, k=chance.randint(1, 3)))
    live = list(Memory.objects.live().filter(store=store).values_list("id", "path", "sha256"))
    gone = list(Memory.objects.in_trash().filter(store=store).values_list("id", flat=True))
    one = chance.choice(live) if live else None
    what = chance.choice(
        ["create", "create", "edit", "rename", "rename directory", "delete", "delete directory", "restore", "remove"]
    )
    try:
        if what == "create":
            curation.create(store.id, f"{place}/{chance.randint(0, 99)}.md", "text", act())
        elif what == "restore" and gone:
            versions = store.versions.filter(memory_id=chance.choice(gone), text__isnull=False)
            curation.restore(store.id, versions.order_by("-number")[0].id, act())
        elif one and what == "remove":
            whole.remove_memories(store.id, [one[0]], act())
        elif one and what == "edit":
            curation.edit(store.id, one[0], f"text {chance.random()}", one[2], act())
        elif one and what.startswith("rename"):
            old = one[1] if what == "rename" else "/" + one[1].split("/")[1]
            curation.rename(store.id, old, f"{place}{chance.randint(0, 99)}", act())
        elif one and what.startswith("delete"):
            curation.delete(store.id, one[1] if what == "delete" else "/" + one[1].split("/")[1], act())
    except ToolError:
        pass


def test_a_path_is_found_as_agents_write_it(store: MemoryStore) -> None:
    write(store, "/tickets/4503.md")
    assert find(store, " /memories/tickets/4503.md") == find(store, "/tickets/4503.md") == ["/tickets/4503.md"]
    assert find(store, "/memories/tickets/9.md") == find(store, "memories/tickets/4503.md") == []
    write(store, "/memories/tickets/4503.md")
    assert find(store, "/memories/tickets/4503.md") == ["/memories/tickets/4503.md"]


def test_a_memory_that_was_removed_permanently_is_found_no_more(store: MemoryStore) -> None:
    """Its versions are gone, also the one that says it was deleted: only what took their place names it."""
    kept, gone = (write(store, f"/notes/{name}.md", "text") for name in ("kept", "gone"))
    assert find(store, "notes") == ["/notes/gone.md", "/notes/kept.md"]
    whole.remove_memories(store.id, [gone.pk], act())
    assert find(store, "notes") == [kept.path]


def test_a_removal_whose_entries_were_removed_is_noticed_too(store: MemoryStore) -> None:
    gone = write(store, "/notes/gone.md", "text")
    assert find(store, "notes") == [gone.path]
    whole.remove_memories(store.id, [gone.pk], act())
    write(store, "/notes/new.md", "text")
    late = act()._replace(at=act().at + timedelta(days=400))
    assert removal.remove_entries(store.id, AuditChain.objects.get(pk=store.id).last_seq, late)
    assert find(store, "notes") == ["/notes/new.md"]


def test_many_changes_at_once_are_read_anew(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder_cache, "MOST_CHANGES", 5)
    write(store, "/a/first.md")
    assert find(store, "first") == ["/a/first.md"]
    for number in range(12):
        write(store, f"/a/{number}.md")
    curation.rename(store.id, "/a", "/b", act())
    assert find(store, "first") == ["/b/first.md"]
    assert find(store, "md") == naive(store, "md")


def test_a_change_whose_reading_was_stopped_is_read_again(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last limit stops a request at any step."""
    write(store, "/old.md")
    assert find(store, "old") == ["/old.md"]
    write(store, "/new.md")
    with monkeypatch.context() as stopping:
        stopping.setattr(finder_cache._Store, "_add", _stopped)
        with pytest.raises(TookTooMuch):
            find(store, "new")
    assert find(store, "new") == ["/new.md"]


def _stopped(*_: object) -> None:
    raise TookTooMuch


def test_another_process_sees_what_this_one_wrote(store: MemoryStore) -> None:
    """Each keeps its own paths; the seq says what they miss."""
    write(store, "/one.md")
    assert find(store, "md") == ["/one.md"]
    other, finder_cache._stores = finder_cache._stores, type(finder_cache._stores)()
    assert find(store, "md") == ["/one.md"]
    write(store, "/two.md")
    assert find(store, "two") == ["/two.md"]
    finder_cache._stores = other
    assert find(store, "two") == ["/two.md"]


def test_only_so_many_paths_are_kept(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr(finder_cache, "MOST_PATHS", 2)
    stores = [new_store() for _ in range(4)]
    for store in stores:
        write(store, "/a.md")
        assert find(store, "a") == ["/a.md"]
    assert list(finder_cache._stores) == [store.id for store in stores[-2:]]
    assert find(stores[0], "a") == ["/a.md"]


def test_threads_that_ask_at_once_get_right_answers(store: MemoryStore) -> None:
    """The reads of the database are made before: the test's transaction is not theirs."""
    for number in range(50):
        write(store, f"/{number}/note.md")
    seq = AuditChain.objects.get(pk=store.id).last_seq
    expected = [entry.path for entry in finder_cache.paths_of(store.id, seq).find("note", 30)]
    ready = threading.Barrier(8)

    def ask() -> list[str]:
        ready.wait()
        return [entry.path for _ in range(20) for entry in finder_cache.paths_of(store.id, seq).find("note", 30)]

    with ThreadPoolExecutor(8) as pool:
        answers = [future.result() for future in [pool.submit(ask) for _ in range(8)]]
    assert all(answer == expected * 20 for answer in answers)


def test_the_page_works_without_script(store: MemoryStore, bob: User) -> None:
    memory = write(store, "/customers/Acme.md")
    html = signed_in(bob).get(reverse("find", args=[store.id]), {"q": "acme"}).content.decode()
    assert f'href="/stores/{store.id}/memories/{memory.id}"' in html
    assert '<span class="found-directory">/customers/</span><mark>Acme</mark>.md' in html
    nothing = signed_in(bob).get(reverse("find", args=[store.id]), {"q": "zzz"}).content.decode()
    assert "No path matches" in nothing


def test_a_script_gets_the_rows_alone(store: MemoryStore, bob: User) -> None:
    write(store, "/顧客/ﾀﾅｶ.md")
    html = rows(signed_in(bob), store, "タナカ 顧客")
    assert html.startswith("<li")
    assert "/<mark>顧客</mark>/</span><mark>ﾀﾅｶ</mark>.md" in html
    assert rows(signed_in(bob), store, "") == ""


def test_letters_in_order_are_shown_where_words_find_little(store: MemoryStore, bob: User) -> None:
    write(store, "/customers/acme.md")
    assert "acme.md" in rows(signed_in(bob), store, "cstacm")


def test_only_those_with_a_role_find_something(
    store: MemoryStore, alice: User, charlie: User, superuser: User, client: Client
) -> None:
    write(store, "/a.md")
    for person, status in ((alice, 200), (superuser, 200), (charlie, 404)):
        for headers in ({}, {"HX-Request": "true"}):
            answer = signed_in(person).get(reverse("find", args=[store.id]), {"q": "a"}, headers=headers)
            assert answer.status_code == status
    assert client.get(reverse("find", args=[store.id])).status_code == 302
    htmx = {"HX-Request": "true"}
    for nowhere in ("memstore_nowhere", HUB):
        assert signed_in(superuser).get(f"/stores/{nowhere}/find", headers=htmx).status_code == 404
    assert signed_in(alice).post(reverse("find", args=[store.id])).status_code == 405


@pytest.mark.parametrize("query", ["\x01", "%", "_", "'", "/" * 400, "ﷺ" * 300, "a " * 300, "\u0301" * 500, "*?["])
def test_any_query_is_answered(store: MemoryStore, bob: User, query: str) -> None:
    write(store, "/100%_'.md")
    assert signed_in(bob).get(reverse("find", args=[store.id]), {"q": query}).status_code == 200


def test_hostile_paths_stay_text(db: None) -> None:
    world = build()
    html = rows(signed_in(world.person), world.store, "onerror")
    assert "<img" not in html
    assert "img src=x <mark>onerror</mark>=" in html
    write(world.store, f"/{HIDDEN.strip()}.md")
    assert 'class="hidden-character"' in rows(signed_in(world.person), world.store, "gnp")
    assert PATH not in html


def test_a_flag_is_seen_wherever_the_memory_is_found(
    store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_SECONDS", 10)
    monkeypatch.setattr(search, "FIRST_HITS", 90)
    write(store, "/plan.md", "the plan\n")
    write(store, "/other-plan.md", "another plan\n")
    with tampering():
        Memory.objects.at("/plan.md").filter(store=store).update(flagged=True)
    browser, badge = signed_in(bob), "badge-flagged"
    assert rows(browser, store, "plan").count(badge) == 1
    assert browser.get(reverse("search"), {"q": "plan"}).content.decode().count("mark-flagged") == 1
    for path, count in (("/plan.md", 1), ("/other-plan.md", 0)):
        memory = Memory.objects.at(path).get(store=store)
        for page in ("blame", "readers"):
            html = browser.get(reverse(page, args=[store.id, memory.id])).content.decode()
            assert html.count(badge) == count
