"""Memory stores at the API: made, listed, edited, archived and deleted by keys."""

import json
import re
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HUB, Access, AuditChain, HoldKind, MemoryStore, User
from tests.api.harness import BY, Answer, Hub, assert_audit_is_right, new_agent, new_hub, new_secret, newest_entry
from tests.api.server import Server
from tests.api.test_concurrency import together
from tests.support.fixtures import signed_in

STORES = "/v1/memory_stores"


@pytest.fixture
def keeper(db: None) -> Hub:
    """A store, and a key that may manage all stores."""
    made = new_hub()
    made.secret = keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.MANAGE, **BY)[1]
    return made


def one(hub: Hub) -> str:
    return f"{STORES}/{hub.store.id}"


def good(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    assert answer.headers["request-id"].startswith("req_")
    return answer.value


def refused(answer: Answer, status: int = 400) -> str:
    """The sentence of a refusal."""
    assert answer.status == status, answer.body
    assert answer.value["type"] == "error" and answer.value["request_id"] == answer.headers["request-id"]
    return str(answer.value["error"]["message"])


def listed(hub: Hub, **query: Any) -> list[str]:
    """The names on a page of stores."""
    return [store["name"] for store in good(hub.send(b"", method="GET", url=f"{STORES}?{urlencode(query)}"))["data"]]


# ------------------------------------------------------------------------------------------------ making one


def test_a_store_is_made_and_its_chain_begins(keeper: Hub) -> None:
    body = {"name": "Notes é", "description": "All of them", "metadata": {"team": "a"}, "unknown": [1]}
    made = good(keeper.send(body, url=STORES + "?beta=true", memoryhub_session="run 7".replace(" ", "-")))
    assert set(made) == {
        "type", "id", "name", "description", "metadata", "created_at", "updated_at", "archived_at",
    }  # fmt: skip
    assert made["type"] == "memory_store" and made["id"].startswith("memstore_")
    assert (made["name"], made["description"], made["metadata"]) == ("Notes é", "All of them", {"team": "a"})
    assert made["created_at"] == made["updated_at"] and made["created_at"].endswith("Z")
    assert made["archived_at"] is None
    assert good(keeper.send(b"", method="GET", url=f"{STORES}/{made['id']}")) == made
    entry = newest_entry(made["id"])
    assert (entry.seq, entry.command, entry.door, entry.ok) == (1, "create_store", "api", True)
    assert entry.session is not None and json.loads(entry.input or "")["metadata"] == {"team": "a"}
    assert_audit_is_right(MemoryStore.objects.get(pk=made["id"]))


def test_what_is_left_out_or_null_is_empty(keeper: Hub) -> None:
    for body in ({"name": "x"}, {"name": "x", "description": None, "metadata": None}):
        made = good(keeper.send(body, url=STORES))
        assert (made["description"], made["metadata"]) == ("", {})


def test_only_a_key_that_manages_all_stores_makes_one(keeper: Hub) -> None:
    before = MemoryStore.objects.count()
    keys = [new_secret(keeper.store, level) for level in Access]
    keys += [keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.WRITE, **BY)[1]]
    for secret in keys:
        keeper.secret = secret
        assert "manage" in refused(keeper.send({"name": "x"}, url=STORES), 403)
        assert (newest_entry(HUB).command, newest_entry(HUB).ok) == ("refused", False)
    assert MemoryStore.objects.count() == before


TOO_MANY = "The body has more than 16,384 values."
WRONG: tuple[tuple[object, str], ...] = (
    ({}, "`name` is needed."),
    ({"name": None}, "`name` must be a string."),
    ({"name": 5}, "`name` must be a string."),
    ({"name": ""}, "`name` must have 1 or more characters."),
    ({"name": "x" * 256}, "`name` must have at most 255 characters."),
    ({"name": "a\tb"}, "`name` must have no control characters."),
    ({"name": "a\u0085b"}, "`name` must have no control characters."),
    ({"name": "a\0b"}, "A string of the body has an unpaired surrogate or a NUL character."),
    ({"name": "\ud800"}, "A string of the body has an unpaired surrogate or a NUL character."),
    ({"name": "x", "description": "x" * 1025}, "`description` must have at most 1,024 characters."),
    ({"name": "x", "description": 1}, "`description` must be a string."),
    ({"name": "x", "metadata": []}, "`metadata` must be an object."),
    ({"name": "x", "metadata": {"k": None}}, "`metadata.k` must be a string."),
    ({"name": "x", "metadata": {"k": True}}, "`metadata.k` must be a string."),
    ({"name": "x", "metadata": {"": "v"}}, "A key of `metadata` must have 1 or more characters."),
    ({"name": "x", "metadata": {"k" * 65: "v"}}, "A key of `metadata` must have at most 64 characters."),
    ({"name": "x", "metadata": {"k": "v" * 513}}, "`metadata.k` must have at most 512 characters."),
    ({"name": "x", "metadata": {str(n): "" for n in range(17)}}, "`metadata` must have at most 16 items."),
    ([], "The body must be a JSON object."),
    (b"", "The body is not JSON: Expecting value at line 1 column 1."),
    (b'{"name":"a","name":"b"}', 'The key "name" is repeated in one object.'),
    (b'{"name":"a","x":[%b[]]}' % (b"[]," * 100_000), "The body has more than 262,144 bytes outside of strings."),
    (b'{"name":"a","x":[%b[]]}' % (b"[]," * 16_383), TOO_MANY),
    (b'{"name":"a","x":[%b0]}' % ((b"[" * 60 + b"]" * 60 + b",") * 1_000), TOO_MANY),
    (b'{"name":"a","x":{%b}}' % b",".join(b'"%x":0' % n for n in range(16_384)), TOO_MANY),
)


def test_each_wrong_body_is_told_in_one_sentence(keeper: Hub) -> None:
    before = MemoryStore.objects.count()
    for body, sentence in WRONG:
        assert refused(keeper.send(body, url=STORES)) == sentence
    longest = {
        "name": "n" * 255, "description": "d" * 1024, "metadata": {f"{n:064}": "v" * 512 for n in range(16)},
    }  # fmt: skip
    made = good(keeper.send(longest, url=STORES))
    assert made == made | longest
    assert refused(keeper.send({"name": "x"}, url=STORES, type="text/plain"), 415)
    assert MemoryStore.objects.count() == before + 1


# ------------------------------------------------------------------------------------------------ lists


@pytest.mark.both_databases
def test_stores_are_listed_newest_first_page_by_page(keeper: Hub) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(5):  # two of them at the same moment
        stores.create_store(StoreSettings(f"S{number}"), **(BY | {"at": at + timedelta(days=number // 2)}))
    everything = [f"S{n}" for n in (4, 3, 2, 1, 0)]
    names, page, pages = [], None, 0
    while True:
        query = {"limit": 2, "created_at[gte]": "2026-01-01T00:00:00Z"} | ({"page": page} if page else {})
        value = good(keeper.send(b"", method="GET", url=f"{STORES}?{urlencode(query)}"))
        names += [store["name"] for store in value["data"]]
        page, pages = value["next_page"], pages + 1
        if page is None:
            break
        assert page.startswith("page_")
    assert pages == 3 and sorted(names[1:3]) == ["S2", "S3"] and sorted(names) == sorted(everything)
    assert names[0] == "S4" and set(names[3:]) == {"S0", "S1"}


@pytest.mark.both_databases
def test_a_list_is_filtered_by_time_and_archive(keeper: Hub) -> None:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    for number in range(3):
        stores.create_store(StoreSettings(f"S{number}"), **(BY | {"at": at + timedelta(hours=number)}))
    stores.set_archived(MemoryStore.objects.get(name="S1"), True, **(BY | {"at": at}))
    gte, lte = "created_at[gte]", "created_at[lte]"
    assert listed(keeper, **{gte: "2026-01-01T12:00:00Z"}) == ["S2", "S0"]
    assert listed(keeper, **{gte: "2026-01-01T12:00:00Z", "include_archived": "true"}) == ["S2", "S1", "S0"]
    assert listed(keeper, **{gte: "2026-01-01T12:00:00Z", lte: "2026-01-01T14:00:00.000+01:00",
                             "include_archived": "true"}) == ["S1", "S0"]  # fmt: skip
    assert listed(keeper, **{gte: "2026-01-01T12:00:00.000001Z", "include_archived": "false"}) == ["S2"]
    assert listed(keeper, **{gte: "9999-12-31T23:59:59-23:59"}) == []


def test_a_key_sees_its_own_stores_alone(keeper: Hub) -> None:
    other = new_hub()
    assert listed(other) == [other.store.name]
    assert {keeper.store.name, other.store.name} <= set(listed(keeper))
    refused(other.send(b"", method="GET", url=one(keeper)), 404)
    assert newest_entry(HUB).command == "refused"
    assert good(other.send(b"", method="GET", url=one(other)))["id"] == other.store.id


NO_TIME = "must be a time of RFC 3339, such as 2026-01-31T14:30:00Z."
BAD_QUERIES = (
    ("limit=0", "`limit` must be at least 1."),
    ("limit=101", "`limit` must be at most 100."),
    ("limit=1000000000", "`limit` must be at most 100."),
    ("limit=2.0", "`limit` must be a whole number."),
    ("limit=%2B5", "`limit` must be a whole number."),
    ("limit=", "`limit` must be a whole number."),
    ("limit=1&limit=1", "The query parameter `limit` is repeated."),
    ("include_archived=yes", "`include_archived` must be `true` or `false`."),
    ("created_at[gte]=2026", "`created_at[gte]` " + NO_TIME),
    (
        "created_at[gte]=2026-01-01T00:00:00",
        "`created_at[gte]` " + NO_TIME,
    ),
    (
        "created_at[lte]=2026-02-30T00:00:00Z",
        "`created_at[lte]` " + NO_TIME,
    ),
    ("page=", "`page` must have 1 or more characters."),
    ("page=x", "`page` is not a cursor of this list."),
    ("page=page_W10", "`page` is not a cursor of this list."),
    ("page=%00", "The query parameter `page` has a NUL character."),
    ("page=%ff", "The query is not UTF-8."),
)


def test_each_wrong_query_is_told_in_one_sentence(keeper: Hub) -> None:
    for query, sentence in BAD_QUERIES:
        assert refused(keeper.send(b"", method="GET", url=f"{STORES}?{query}")) == sentence, query
    refused(keeper.send(b"", method="GET", url=STORES + "?limit=5&page=\xff"))
    for query in ("x=1&x=2&beta=0", "beta=true", "beta=1&beta=2", "limit=%31", "unknown"):
        good(keeper.send(b"", method="GET", url=f"{STORES}?{query}", anthropic_version="x", anthropic_beta=","))


@pytest.mark.both_databases
def test_a_cursor_is_of_use_with_its_own_filters_alone(keeper: Hub) -> None:
    good(keeper.send({"name": "Another"}, url=STORES))
    page = good(keeper.send(b"", method="GET", url=STORES + "?limit=1"))["next_page"]
    assert len(listed(keeper, page=page, limit=5)) == MemoryStore.objects.count() - 1
    url = f"{STORES}?page={quote(page)}&include_archived=true"
    assert "other filters" in refused(keeper.send(b"", method="GET", url=url))
    assert "not a cursor" in refused(keeper.send(b"", method="GET", url=f"{STORES}?page={page[:-3]}"))


# ------------------------------------------------------------------------------------------------ editing


@pytest.mark.both_databases
def test_an_update_changes_what_it_names_and_tells_it(keeper: Hub) -> None:
    first = good(keeper.send(b"", method="GET", url=one(keeper)))
    steps: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"description": "d"}, {"description": "d"}),
        ({"metadata": {"a": "1", "b": "2"}}, {"metadata": {"a": "1", "b": "2"}}),
        ({"metadata": {"a": None, "c": "", "gone": None}}, {"metadata": {"b": "2", "c": ""}}),
        ({"description": "", "name": "N"}, {"description": "", "name": "N"}),
    )
    for number, (body, changed) in enumerate(steps):
        before = good(keeper.send(b"", method="GET", url=one(keeper)))
        after = good(keeper.send(body, url=one(keeper), method=("POST", "PATCH")[number % 2]))
        assert after == before | changed | {"updated_at": after["updated_at"]}
        assert after["updated_at"] > before["updated_at"]
        entry = newest_entry(keeper.store.id)
        assert (entry.command, entry.ok, entry.door) == ("edit_store", True, "api")
        assert json.loads(entry.input or "") == {name: [before[name], value] for name, value in changed.items()}
    assert after["created_at"] == first["created_at"]
    assert_audit_is_right(keeper.store)


def test_an_update_that_changes_nothing_leaves_nothing(keeper: Hub) -> None:
    good(keeper.send({"metadata": {"a": "1"}, "description": "d"}, url=one(keeper)))
    before, entries = good(keeper.send(b"", method="GET", url=one(keeper))), newest_entry(keeper.store.id).seq
    for body in ({}, {"name": None, "description": None, "metadata": None}, {"metadata": {"a": "1", "b": None}},
                 {"name": keeper.store.name, "description": "d"}):  # fmt: skip
        assert good(keeper.send(body, url=one(keeper))) == before
    assert newest_entry(keeper.store.id).seq == entries


def test_metadata_holds_sixteen_pairs_after_a_patch(keeper: Hub) -> None:
    full = {f"k{n}": "v" for n in range(16)}
    good(keeper.send({"metadata": full}, url=one(keeper)))
    assert refused(keeper.send({"metadata": {"one": "more"}}, url=one(keeper))) == (
        "This memory store would have 17 pairs of metadata; 16 are the most."
    )
    assert not newest_entry(keeper.store.id).ok
    patched = good(keeper.send({"metadata": {"one": "more", "k0": None}}, url=one(keeper)))["metadata"]
    assert len(patched) == 16 and patched["one"] == "more"


def test_the_memories_of_a_store_do_not_move_it(keeper: Hub) -> None:
    before = good(keeper.send(b"", method="GET", url=one(keeper)))
    keeper.call(command="create", path="/memories/a.md", file_text="x")
    assert good(keeper.send(b"", method="GET", url=one(keeper))) == before


def test_patches_at_once_lose_nothing(server: Server) -> None:
    store, _ = server.new_store()
    secret = server.command("issue_key", "Patcher", "--store", store, "--access", "manage")
    lock, statuses = threading.Lock(), []

    def patch(number: int) -> None:
        connection = server.connect()
        body = json.dumps({"metadata": {f"k{number}": str(number)}}).encode()
        headers = {"x-api-key": secret, "Content-Type": "application/json"}
        connection.request("POST", f"{STORES}/{store}", body, headers)
        with lock:
            statuses.append(connection.getresponse().status)
        connection.close()

    together(patch, 16)
    assert statuses == [200] * 16
    connection = server.connect()
    connection.request("GET", f"{STORES}/{store}", headers={"x-api-key": secret})
    metadata = json.loads(connection.getresponse().read())["metadata"]
    assert metadata == {f"k{n}": str(n) for n in range(16)}


# ------------------------------------------------------------------------------------------------ archiving, deleting


def test_an_archived_store_is_read_and_not_updated(keeper: Hub) -> None:
    archived = good(keeper.send(b"", url=one(keeper) + "/archive"))
    assert archived["archived_at"] == archived["updated_at"]
    assert (newest_entry(keeper.store.id).command, newest_entry(keeper.store.id).ok) == ("archive_store", True)
    entries = newest_entry(keeper.store.id).seq
    assert good(keeper.send({}, url=one(keeper) + "/archive")) == archived
    assert newest_entry(keeper.store.id).seq == entries
    assert "archived" in refused(keeper.send({"name": "x"}, url=one(keeper)))
    entry = newest_entry(keeper.store.id)
    assert (entry.command, entry.ok, json.loads(entry.input or "")) == ("edit_store", False, {"name": "x"})
    assert good(keeper.send(b"", method="GET", url=one(keeper))) == archived


def test_a_deleted_store_is_gone_and_its_audit_is_closed(keeper: Hub) -> None:
    keeper.call(command="create", path="/memories/a.md", file_text="x")
    answer = keeper.send(b"", method="DELETE", url=one(keeper))
    assert good(answer) == {"type": "memory_store_deleted", "id": keeper.store.id}
    for method in ("GET", "DELETE", "POST"):
        refused(keeper.send({}, method=method, url=one(keeper)), 404)
    assert keeper.store.name not in listed(keeper, include_archived="true")
    entry = newest_entry(keeper.store.id)
    assert (entry.command, entry.ok, entry.door) == ("delete_store", True, "api")
    assert AuditChain.objects.get(pk=keeper.store.id).closed_at is not None
    assert_audit_is_right(keeper.store)


def test_a_legal_hold_keeps_its_store(keeper: Hub) -> None:
    held = holds.place(keeper.store.id, Act(**BY), kind=HoldKind.HOLD, reason="A court asks", path="")
    assert "legal hold" in refused(keeper.send(b"", method="DELETE", url=one(keeper)))
    assert (newest_entry(keeper.store.id).command, newest_entry(keeper.store.id).ok) == ("delete_store", False)
    holds.release(keeper.store.id, held.pk, Act(**BY))
    good(keeper.send(b"", method="DELETE", url=one(keeper)))


def test_too_little_access_is_refused_and_noted(keeper: Hub) -> None:
    before = good(keeper.send(b"", method="GET", url=one(keeper)))
    acts = (("POST", "", {"name": "x"}), ("PATCH", "", {"name": "x"}), ("POST", "/archive", b""), ("DELETE", "", b""))
    for level in (Access.READ, Access.WRITE):
        keeper.secret = new_secret(keeper.store, level)
        assert good(keeper.send(b"", method="GET", url=one(keeper))) == before
        for method, more, body in acts:
            seq = newest_entry(HUB).seq
            refused(keeper.send(body, method=method, url=one(keeper) + more), 403)
            entry = newest_entry(HUB)
            assert entry.seq == seq + 1 and json.loads(entry.input or "")["status"] == 403
        assert good(keeper.send(b"", method="GET", url=one(keeper))) == before


def test_other_methods_are_told_which_there_are(keeper: Hub) -> None:
    for path, allowed in (("", "POST, GET"), (f"/{keeper.store.id}", "GET, POST, PATCH, DELETE"),
                          (f"/{keeper.store.id}/archive", "POST"), ("/x/archive", "POST")):  # fmt: skip
        for method in ("PUT", "OPTIONS", "TRACE", "X"):
            answer = keeper.send(b"", method=method, url=STORES + path)
            refused(answer, 405)
            assert sorted(answer.headers["allow"].split(", ")) == sorted(allowed.split(", "))
    assert keeper.send(b"", method="HEAD", url=STORES).status == 405


def test_no_key_learns_of_no_store(keeper: Hub) -> None:
    keeper.secret = "mh_nobody"
    for method, more in (("GET", ""), ("POST", ""), ("GET", "/" + keeper.store.id), ("DELETE", "/" + keeper.store.id)):
        refused(keeper.send(b"", method=method, url=STORES + more), 401)


def test_a_key_that_an_admin_of_the_store_issued_archives_it_at_most(store: MemoryStore, alice: User) -> None:
    """What the browser refuses to an admin of a store, no key that the admin can make does for them."""
    form = {"agent": "new", "new_agent": "Scout", "access": "manage", "expires_in": "never", "form": "f"}
    page = signed_in(alice).post(f"/stores/{store.id}/keys", form).content.decode()
    [secret] = set(re.findall(r"mh_[\w-]{43}", page))
    hub = Hub(store, secret)
    sentence = refused(hub.send(b"", method="DELETE", url=one(hub)), 403)
    assert sentence == ("This needs a key with `manage` access to all memory stores. A key to this one may archive it.")
    assert newest_entry(HUB).command == "refused"
    assert good(hub.send(b"", method="POST", url=one(hub) + "/archive"))["archived_at"]
    refused(hub.send(b"", method="DELETE", url=one(hub)), 403)
    assert MemoryStore.objects.get(pk=store.pk).deleted_at is None
    assert_audit_is_right(store)


def test_a_key_with_too_little_access_reads_that_it_needs_all_stores(hub: Hub) -> None:
    """The sentence names the access that is enough: `manage` access to one store would be refused again."""
    for method, url in (("POST", STORES), ("DELETE", one(hub))):
        sentence = refused(hub.send({"name": "Mine"} if method == "POST" else b"", method=method, url=url), 403)
        assert sentence.startswith("This needs a key with `manage` access to all memory stores.")


def test_every_document_says_that_deleting_a_store_needs_a_key_to_all(keeper: Hub) -> None:
    document = good(keeper.send(b"", method="GET", url="/v1/openapi.json"))
    assert (
        "`manage` access to all memory stores"
        in document["paths"][STORES + "/{memory_store_id}"]["delete"]["description"]
    )
    text = (Path(__file__).resolve().parents[2] / "docs/http.md").read_text()
    assert "| `DELETE /v1/memory_stores/{memory_store_id}` | nothing | `manage` on all memory stores |" in text
