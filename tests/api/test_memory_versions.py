"""Memory versions at the API: each list agrees with what its versions say of themselves, whatever its page."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count, pairwise
from typing import Any

import pytest
from django.utils import timezone

from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.tree import locked
from memoryhub.actions.memories import curation
from memoryhub.actions.memories.api import versions as memory_api_versions
from memoryhub.models import Access, Door, Key, Memory, MemoryVersion
from memoryhub.models.audit import ActorKind
from tests.actions.core.trees import ACT
from tests.api.harness import AT, Hub, assert_audit_is_right, new_secret
from tests.api.memory_calls import Api, Json, new_api, sha
from tests.support.long import LONG

pytestmark = pytest.mark.django_db

ORIGIN = {"import": "imp_x", "type": "api_actor", "id": "apikey_elsewhere"}


@pytest.fixture
def story(db: None, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Versions of four authors, a minute after the other: keys, sessions, a policy, the hub itself, and imports."""
    minutes = count()
    monkeypatch.setattr(timezone, "now", lambda: AT + timedelta(minutes=next(minutes)))
    api = new_api(Access.MANAGE)
    other = Api(Hub(api.hub.store, new_secret(api.hub.store)))
    named = Api(api.hub, "run-1")
    ids = [by.create(f"/{number}.md", f"{number}")["id"] for number, by in enumerate((api, other, named, api))]
    for turn, by in enumerate((named, api, other) * 2):
        by.update(ids[turn % 3], {"content": f"turn {turn}", "path": f"/t/{turn}.md"})
    other.delete(ids[1])
    curation.create(api.hub.store.id, "/hub.md", "by nobody", ACT._replace(at=timezone.now()))
    policy = Act(Actor(ActorKind.POLICY.value, "policy_1", "policy_1", "Tidy"), Door.COMMAND, timezone.now())
    curation.delete(api.hub.store.id, "/3.md", policy)
    bring(api, "/imported.md", AT + timedelta(minutes=3))
    named.create("/last.md")
    return api


def bring(api: Api, path: str, at: datetime) -> None:
    """As an import brings two versions: in one entry, with the times and authors of their source."""
    made = api.create(path, "brought")
    api.update(made["id"], {"content": "brought again"})
    with locked(api.hub.store.id, ACT):
        found = MemoryVersion.objects.filter(memory_id=made["id"])
        found.filter(number=1).update(origin=ORIGIN, created_at=at)
        found.filter(number=2).update(origin=ORIGIN | {"type": "session_actor", "id": "sesn_there"}, created_at=at)


def newest_first(api: Api) -> list[Json]:
    """Every version by the rows alone."""
    rows = MemoryVersion.objects.filter(store=api.hub.store).order_by("-seq", "-id")
    return [api.version(row.pk, view="basic") for row in rows]


def by(**actor: str) -> Callable[[Json], bool]:
    return lambda version: version["created_by"] == actor


@pytest.mark.both_databases
def test_every_filter_gives_those_versions_that_say_so(story: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = newest_first(story)
    authors = {str(version["created_by"]) for version in everything}
    assert len(authors) == 7 and len(everything) == 16
    session = next(v["created_by"]["session_id"] for v in everything if by_type(v) == "session_actor" and
                   v["created_by"]["session_id"] != "sesn_there")  # fmt: skip
    keys = [key.pk for key in Key.objects.filter(stores=story.hub.store)]
    times = sorted(version["created_at"] for version in everything)
    cases: list[tuple[dict[str, Any], Callable[[Json], bool]]] = [
        ({}, lambda _: True),
        *(({"operation": name}, has(operation=name)) for name in ("created", "modified", "deleted")),
        *(({"memory_id": id}, has(memory_id=id)) for id in {version["memory_id"] for version in everything}),
        *(({"api_key_id": key}, by(type="api_actor", api_key_id=key)) for key in (*keys, "apikey_elsewhere", "x")),
        *(({"session_id": id}, by(type="session_actor", session_id=id)) for id in (session, "sesn_there", "sesn_none")),
        ({"service_account_id": "policy_1"}, by(type="service_account_actor", service_account_id="policy_1")),
        ({"memory_id": "mem_none"}, lambda _: False),
        ({"api_key_id": keys[0], "session_id": session}, lambda _: False),
    ]
    cases += [({"created_at__gte": at}, lambda v, at=at: v["created_at"] >= at) for at in times[::3]]
    cases += [({"created_at__lte": at}, lambda v, at=at: v["created_at"] <= at) for at in times[::3]]
    first = everything[-1]["memory_id"]
    cases += [
        ({**a, **b}, lambda v, one=one, two=two: one(v) and two(v))
        for (a, one), (b, two) in pairwise(cases)
        if not a.keys() & b.keys() and len(a) + len(b) == 2
    ]
    cases += [
        ({"memory_id": first, "operation": "modified"}, has(memory_id=first, operation="modified")),
        ({"created_at__gte": times[4], "created_at__lte": times[9]}, lambda v: times[4] <= v["created_at"] <= times[9]),
    ]
    for most in (5_000, 3):
        monkeypatch.setattr(memory_api_versions, "MOST_LOOKED_AT", most)
        for query, fits in cases:
            expected = [version for version in everything if fits(version)]
            for limit in (1, 4, 100) if LONG else (100 if most > 100 else 2,):
                assert story.all("memory_versions", limit, **query) == expected, (query, limit, most)


def by_type(version: Json) -> str | None:
    return version["created_by"] and version["created_by"]["type"]


def has(**values: str) -> Callable[[Json], bool]:
    return lambda version: all(version[name] == value for name, value in values.items())


@pytest.mark.both_databases
def test_a_page_that_looks_at_few_rows_is_shorter_and_leads_on(story: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_api_versions, "MOST_LOOKED_AT", 2)
    pages = story.pages("memory_versions", service_account_id="policy_1")
    assert sum(map(len, pages)) == 1
    assert [] in story.pages("memory_versions", operation="deleted")


def test_a_version_is_shown_whole_and_its_text_is_told(story: Api) -> None:
    memory = Memory.objects.get(store=story.hub.store, path="/t/3.md")
    first = MemoryVersion.objects.get(memory=memory, number=1)
    before = story.seq
    shown = story.version(first.pk)
    assert set(shown) == {
        "type", "id", "memory_store_id", "memory_id", "operation", "path", "content", "content_sha256",
        "content_size_bytes", "created_at", "created_by", "redacted_at", "redacted_by",
    }  # fmt: skip
    assert (shown["path"], shown["content"], shown["content_sha256"]) == ("/0.md", "0", sha("0"))
    entry = story.entries(before)[0]
    assert (entry.command, entry.memory, entry.version, entry.path) == ("view", memory.pk, first.pk, "/0.md")
    assert Memory.objects.get(pk=memory.pk).last_read_seq == entry.seq
    assert story.version(first.pk, view="basic") == shown | {"content": None}
    assert story.seq == entry.seq


@pytest.mark.both_databases
def test_a_deletion_has_neither_text_nor_digest_and_tells_no_read(story: Api) -> None:
    before = story.seq
    for row in MemoryVersion.objects.filter(store=story.hub.store, operation="deleted"):
        shown = story.version(row.pk)
        assert (shown["content"], shown["content_sha256"], shown["content_size_bytes"]) == (None, None, None)
        assert shown["path"] is not None
    assert story.seq == before


def test_a_full_list_tells_each_text_in_one_group(story: Api) -> None:
    before = story.seq
    shown = story.good("GET", "/memory_versions", view="full", limit=6)["data"]
    given = [version for version in shown if version["content"] is not None]
    entries = story.entries(before)
    assert [(e.command, e.version) for e in entries] == [("view", version["id"]) for version in given]
    assert len({entry.group for entry in entries}) == 1 < len(entries)


def test_what_is_redacted_keeps_author_and_times_alone_at_every_door(story: Api) -> None:
    memory = Memory.objects.get(store=story.hub.store, path="/t/3.md")
    first = MemoryVersion.objects.get(memory=memory, number=1)
    whole = story.version(first.pk)
    gone = story.good("POST", f"/memory_versions/{first.pk}/redact")
    nothing = dict.fromkeys(("path", "content", "content_sha256", "content_size_bytes"))
    assert gone == whole | nothing | {"redacted_at": gone["redacted_at"], "redacted_by": gone["redacted_by"]}
    assert gone["redacted_by"]["type"] == "api_actor"
    before = story.seq
    assert story.version(first.pk) == gone
    assert gone in story.all("memory_versions", limit=20, view="basic", memory_id=memory.pk)
    assert story.good("POST", f"/memory_versions/{first.pk}/redact") == gone
    assert story.seq == before
    status, _, message = story.refused("POST", f"/memory_versions/{memory.head_id}/redact")
    assert status == 400 and "newest version" in message
    assert (story.entries()[-1].command, story.entries()[-1].ok) == ("redact", False)


def test_what_is_not_there_is_404_and_what_is_no_query_400(story: Api) -> None:
    theirs = new_api().create("/a.md")["memory_version_id"]
    before = story.seq
    for id in (theirs, "memver_x", "%00", Memory.objects.filter(store=story.hub.store)[0].pk):
        assert story.refused("GET", f"/memory_versions/{id}")[:2] == (404, "not_found_error")
        assert story.refused("GET", f"/memory_versions/{id}", view="basic")[:2] == (404, "not_found_error")
    cursor = story.good("GET", "/memory_versions", limit=2)["next_page"]
    for query in (
        {"operation": "edited"}, {"limit": 0}, {"limit": 101}, {"view": "x"}, {"created_at__gte": "yesterday"},
        {"created_at__lte": "2026-13-01T00:00:00Z"}, {"page": cursor, "operation": "created"}, {"page": cursor[:-3]},
        {"page": "page_"},
    ):  # fmt: skip
        assert story.refused("GET", "/memory_versions", **query)[:2] == (400, "invalid_request_error"), query
    assert story.seq == before


def test_the_audit_of_all_this_is_right() -> None:
    api = new_api(Access.MANAGE)
    made = api.create("/a.md", "one")
    api.update(made["id"], {"content": "two", "path": "/b.md"})
    api.memory(made["id"])
    api.version(made["memory_version_id"])
    read = api.entries()[-1]
    assert "message" in proofs.read(read).salts
    api.good("POST", f"/memory_versions/{made['memory_version_id']}/redact")
    read.refresh_from_db()
    assert "message" not in proofs.read(read).salts  # a guess at the text cannot be tried on what was read of it later
    assert "message" in proofs.read(api.entries()[-3]).salts  # what was read of the newer one is as it was
    for view in ("full", "basic"):
        api.all("memory_versions", 20, view=view)
        api.all("memories", 20, view=view)
    assert_audit_is_right(api.hub.store)
