"""A key does not fill the disk: what it is refused is kept in part, and what the audit holds has a limit."""

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from memoryhub import settings as shipped
from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import erasure, places
from memoryhub.actions.erasure.redaction import _without_texts
from memoryhub.actions.memories import calls, refusals
from memoryhub.actions.retention import removal
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HUB, Access, AuditChain, AuditEntry, Door, MemoryStore, RefusalWindow, Role, Session, User
from memoryhub.pure.path_rules import Effect, PathRule
from memoryhub.pure.text import keeping
from tests.api.harness import AT, Hub, assert_audit_is_right, new_hub, new_secret, newest_entry
from tests.api.path_rules.test_path_rules import set_rules
from tests.mcp.messages import STATELESS, message, send as send_mcp
from tests.support.fixtures import BY, new_person, signed_in

pytestmark = pytest.mark.django_db

LONG = "é\n\u0000 and so on " * 2_000
INPUTS: dict[str, dict[str, Any]] = {
    "another command": {"command": "append", "path": "/memories/a.md", "text": LONG},
    "a path that is not allowed": {"command": "create", "path": "/memories/../" + "a" * 5_000, "file_text": LONG},
    "a passage that is not there": {"command": "str_replace", "path": "/memories/a.md", "old_str": LONG[:9_000]},
    "parameters that no command has": {
        "command": "view",
        "path": "/memories/none",
        **{f"x{n}": LONG for n in range(9)},
    },
    "a long name of a parameter": {"command": "view", LONG: LONG},
    "deep JSON": {"command": "view", "path": [[LONG] * 3] * 2},
    "a create at a taken path": {"command": "create", "path": "/memories/a.md", "file_text": "text " * 20_000},
}


def kept(entry: AuditEntry) -> tuple[Any, int | None]:
    return keeping.parts(json.loads(entry.input or "null"))


@pytest.mark.parametrize("input", INPUTS.values(), ids=INPUTS)
def test_a_refused_input_is_kept_to_4_kb_with_its_length(input: dict[str, Any]) -> None:
    hub = new_hub()
    hub.call(command="create", path="/memories/a.md", file_text="text")
    whole = json.dumps(input, ensure_ascii=True, separators=(",", ":"))
    result, _answer = hub.call(**input)
    entry = newest_entry(hub.store.id)
    assert result == "err" and len(entry.input or "") < 4_096 + 200 and len(entry.message or "") < 4_096 + 400
    beginning, told = kept(entry)
    assert told == len(whole) and hashlib.sha256(whole.encode()).hexdigest() not in (entry.input or "")
    for name, value in beginning.items():
        assert input[name] == value or input[name].startswith(value)
    assert beginning["command"] == input["command"]
    assert_audit_is_right(hub.store)


def test_refused_megabytes_take_little_of_the_disk() -> None:
    hub = new_hub()
    for _ in range(6):
        hub.call(command="view", path="/memories/none", junk="x" * 900_000)
    rows = AuditEntry.objects.of_chain(hub.store.id)
    assert sum(len(entry.input or "") for entry in rows) < 6 * 4_500
    assert AuditChain.objects.get(pk=hub.store.id).bytes == rows.bytes()


@pytest.mark.parametrize("input", INPUTS.values(), ids=INPUTS)
def test_a_refused_call_that_is_sent_again_gets_the_same_answer(input: dict[str, Any]) -> None:
    hub = new_hub()
    hub.call(command="create", path="/memories/a.md", file_text="text")
    block = hub.block("toolu_again", **input)
    first, again = hub.send(block), hub.send(block)
    assert again.headers["idempotent-replay"] == "true" and again.value == first.value
    other = {**block, "input": {**input, "command": "other"}}
    assert hub.send(other).status == 422, "the token belongs to the whole input, also to what is not kept"
    assert len(newest_entry(hub.store.id).input or "") < 4_300
    assert_audit_is_right(hub.store)


def test_a_long_listing_is_received_whole_and_kept_to_4_kb_with_its_size() -> None:
    """Also where memories of the directory are hidden."""
    hub, reader = new_hub(), new_person("Alice")
    keys_and_roles.set_role(hub.store, reader, Role.VIEWER, **BY)
    for number in range(150):
        hub.call(command="create", path=f"/memories/notes/{number:03}-ü.md", file_text="text")
    for last in (149, 148):
        seen = newest_entry(hub.store.id).seq
        block = hub.block(f"toolu_up_to_{last}", command="view", path="/memories/notes")
        first, again = hub.send(block), hub.send(block)
        answer = first.value["content"]
        assert f"/memories/notes/{last}-ü.md" in answer and again.value == first.value
        assert f"/memories/notes/{last + 1}-ü.md" not in answer
        views = AuditEntry.objects.of_chain(hub.store.id).filter(command="view", seq__gt=seen)
        assert len(views) == 2
        for entry in views:
            _is_kept_in_part(hub, entry, answer, signed_in(reader))
        set_rules(hub.store, PathRule(Effect.HIDE, "/notes/149*"))
    assert_audit_is_right(hub.store)


def _is_kept_in_part(hub: Hub, entry: AuditEntry, answer: str, reader: Client) -> None:
    stored, size = json.loads(entry.message or ""), f"{len(answer.encode()):,}"
    assert len(entry.message or "") < 4_200 and stored.endswith(f"[kept in part: {size} bytes]")
    kept_lines = stored.split("\n")[:-1]
    assert kept_lines == answer.split("\n")[: len(kept_lines)] and len(kept_lines) > 50
    page = reader.get(reverse("entry", args=[hub.store.id, entry.seq])).content.decode()
    assert f"The agent received {size} bytes. Only the beginning of the answer is kept here." in page
    assert "the agent received exactly this" not in page
    then = reverse("moment_directory", args=[hub.store.id, entry.seq, "notes"])
    assert then in page and reader.get(then).status_code == 200


def test_no_path_makes_a_whole_listing_look_like_one_that_is_kept_in_part() -> None:
    hub = new_hub()
    name = "z… [kept in part: 9,999,999 bytes]"
    hub.call(command="create", path=f"/memories/a/{'x' * 200}/{name}", file_text="text")
    reader = new_person("Alice")
    keys_and_roles.set_role(hub.store, reader, Role.VIEWER, **BY)
    for path in ("/memories/a", f"/memories/a/none/{name}"):
        hub.call(command="view", path=path)
        url = reverse("entry", args=[hub.store.id, newest_entry(hub.store.id).seq])
        page = signed_in(reader).get(url).content.decode()
        assert "the agent received exactly this" in page
        assert "Only the beginning of the answer is kept here" not in page


def test_what_a_version_holds_stays_whole_and_what_no_command_has_does_not() -> None:
    hub, text = new_hub(), "line\n" * 5_000
    hub.call(command="create", path="/memories/a.md", file_text=text, junk="x" * 500_000)
    beginning, told = kept(newest_entry(hub.store.id))
    assert beginning["file_text"] == text and told is not None and told > 500_000
    assert len(beginning["junk"]) <= 4_096
    block = hub.block("toolu_same", command="create", path="/memories/b.md", file_text=text)
    hub.send(block)
    assert kept(newest_entry(hub.store.id))[1] is None
    assert hub.send(block).headers["idempotent-replay"] == "true"
    assert len(newest_entry(hub.store.id).input or "") < 4_300, "a repeated call has the first one's input beside it"
    assert_audit_is_right(hub.store)


def test_no_agent_can_make_a_whole_input_look_like_one_that_is_kept_in_part() -> None:
    hub = new_hub()
    for value in ({"kept_in_part": True, "bytes": 9, "sha256": "0"}, [{}, {"kept_in_part": True, "bytes": 9}]):
        hub.call(command="view", path="/memories/none", **{"0": value, "1": value})
        assert kept(newest_entry(hub.store.id))[1] is None


def test_page_and_api_say_how_much_of_a_call_is_kept() -> None:
    hub = new_hub()
    hub.call(command="view", path="/memories/none", junk="x" * 300_000)
    entry, whole = newest_entry(hub.store.id), kept(newest_entry(hub.store.id))[1]
    assert whole is not None
    reader = new_person("Alice")
    keys_and_roles.set_role(hub.store, reader, Role.VIEWER, **BY)
    page = signed_in(reader).get(reverse("entry", args=[hub.store.id, entry.seq])).content.decode()
    assert f"Only a part of the call is kept here: about 4,096 of {whole:,} bytes" in page
    assert "checked: unchanged since it was written" in page
    url = f"/v1/memory_stores/{hub.store.id}/audit_entries/{entry.seq}"
    told = Hub(hub.store, new_secret(hub.store, Access.MANAGE)).send(b"", method="GET", url=url).value
    assert told["input_in_part"] == {"size_bytes": whole}
    assert told["input"]["command"] == "view" and told["input"]["junk"].startswith("xxx")
    lines = signed_in(reader).post(reverse("export_audit"), {"format": "json", "store": hub.store.id})
    exported = b"".join(lines.streaming_content) if lines.streaming else lines.content  # type: ignore[attr-defined]
    assert b"kept_in_part" in exported


def test_erasing_what_is_kept_of_a_call_keeps_its_size() -> None:
    text = keeping.in_part(json.dumps({"command": "create", "file_text": "Grace Hopper " + "x" * 99_000}))
    for left in (places.Terms(("Grace Hopper",)).masked_json(text), _without_texts(text)):
        assert left is not None and "Grace" not in left
        assert keeping.parts(json.loads(left))[1] == keeping.parts(json.loads(text))[1]


def test_half_a_name_is_not_kept_of_a_call(alice: User) -> None:
    hub, name = new_hub(), "Waldemar Finkenstein"
    hub.call(command="create", path="/memories/a.md", file_text="text")
    for before in range(3_980, 4_080, 7):
        lines = "a line of nothing\n" * 222
        hub.call(
            command="create", path="/memories/a.md", file_text=f"{lines}{'x' * (before - len(lines))} {name}\n" * 2
        )
    found = erasure.search(hub.store.id, [name], AT)
    erasure.erase(hub.store.id, [name], found.digest, Act(BY["actor"], Door.WEB, AT))
    inputs = [entry.input or "" for entry in AuditEntry.objects.of_chain(hub.store.id)]
    assert not [input for input in inputs if "Walde" in input or "Fink" in input]
    assert_audit_is_right(hub.store)


# ------------------------------------------------------------------------------------------------ the limit of bytes


def set_limit(store: MemoryStore, **limits: int | None) -> None:
    stores.edit_store(
        store, StoreSettings("x", limits=limits), actor=BY["actor"], door=Door.WEB, at=AT, only=list(limits)
    )


def doors(hub: Hub) -> list[Any]:
    """A call of each kind through each door of a key."""
    url = f"/v1/memory_stores/{hub.store.id}/memories"
    return [
        hub.send(hub.block(command="create", path="/memories/new.md", file_text="x")),
        hub.send(hub.block(command="view", path="/memories")),
        hub.send({"path": "/new.md", "content": "x"}, url=url),
        send_mcp(hub, message("tools/call", {"name": "memory", "arguments": {"command": "view", "path": "/memories"}})),
        send_mcp(hub, message("tools/call", {"name": "search", "arguments": {"query": "x"}}), STATELESS),
    ]


@pytest.mark.both_databases
def test_at_the_limit_of_the_audit_no_call_of_a_key_runs_at_any_door_and_people_go_on(alice: User) -> None:
    hub = new_hub()
    hub.call(command="create", path="/memories/a.md", file_text="text")
    set_limit(hub.store, limit_audit_bytes=1_000)
    before = AuditEntry.objects.count()
    answers = doors(hub)
    assert [answer.status for answer in answers] == [507, 507, 507, 200, 507], "200 is for MCP's older versions"
    for answer in answers:
        assert "Nothing was run" in answer.body.decode() and answer.headers["x-should-retry"] == "false"
    assert AuditEntry.objects.count() == before
    keys_and_roles.set_role(hub.store, alice, Role.ADMIN, **BY)
    page = signed_in(alice).get(reverse("limits", args=[hub.store.id])).content.decode()
    assert 'data-level="full"' in page and "At the limit, all calls of agents are refused" in page
    shown = signed_in(alice).get(reverse("store", args=[hub.store.id])).content.decode()
    assert shown.count("<meter") == 3, "near its limit the audit stands on the store's own page too"
    set_limit(hub.store, limit_audit_bytes=None)
    assert signed_in(alice).get(reverse("store", args=[hub.store.id])).content.decode().count("<meter") == 2
    assert hub.call(command="view", path="/memories/a.md")[0] == "ok"
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_what_retention_removes_of_the_audit_makes_room() -> None:
    hub = new_hub()
    for number in range(6):
        hub.call(command="view", path=f"/memories/{number}")
    later = Act(Actor.system("tests"), Door.COMMAND, timezone.now() + timedelta(days=400))
    assert removal.remove_entries(hub.store.id, 4, later) == 4
    assert AuditChain.objects.get(pk=hub.store.id).bytes == AuditEntry.objects.of_chain(hub.store.id).bytes()


def test_the_hub_ships_with_limits_of_calls_and_of_the_audit() -> None:

    assert (shipped.MEMORYHUB_LIMITS["calls"], shipped.MEMORYHUB_LIMITS["audit_bytes"]) == (1_200, 10 * 2**30)
    hub = new_hub()
    with override_settings(MEMORYHUB_LIMITS=shipped.MEMORYHUB_LIMITS | {"calls": 3}):
        statuses = [hub.send(hub.block(command="view", path="/memories/none")).status for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


# ------------------------------------------------------------------------------------------------ refusals in the hub


def of_hub(command: str) -> int:
    return AuditEntry.objects.of_chain(HUB).filter(command=command).count()


@pytest.mark.both_databases
def test_past_thirty_a_minute_the_hub_counts_the_refusals_of_a_key_and_writes_one_entry() -> None:
    one, other = new_hub(), new_hub()
    url = f"/v1/memory_stores/{other.store.id}/tool_calls"
    for _ in range(75):
        assert one.send(one.block(command="view", path="/memories"), url=url).status == 404
    assert of_hub("refused") == refusals.MOST == 30 and of_hub("refused_more") == 0
    second = Hub(one.store, new_secret(one.store))
    assert second.send(second.block(command="view", path="/memories"), url=url).status == 404
    assert of_hub("refused") == 31, "each key is counted by itself"
    refusals.write_counted(timezone.now() + timedelta(seconds=61))
    entry = AuditEntry.objects.of_chain(HUB).get(command="refused_more")
    caller = calls.find_caller(one.secret, one.store.id, timezone.now())
    assert caller is not None and json.loads(entry.input or "")["count"] == 45 and entry.actor_id == caller.key
    assert not RefusalWindow.objects.exists()
    page = signed_in(new_person("Root", is_superuser=True)).get(reverse("entry", args=[HUB, entry.seq]))
    assert "was refused 45 more times within a minute" in page.content.decode()


@pytest.mark.both_databases
def test_a_refused_request_is_recorded_with_its_reason_and_its_session() -> None:
    one, other = new_hub(), new_hub()
    hub = signed_in(new_person("Root", is_superuser=True))

    def said() -> str:
        newest = AuditEntry.objects.of_chain(HUB).newest()[0]
        page = hub.get(reverse("entry", args=[HUB, newest.seq])).content.decode()
        assert newest.session is not None and Session.objects.get(pk=newest.session).name == "run-1"
        return page

    view = one.block("toolu_1", command="view", path="/memories")
    assert one.send(view, memoryhub_session="run-1").status == 200
    for store, why in ((other.store.id, "the key does not reach the memory store"), ("nowhere", "there is no such")):
        assert one.send(view, url=f"/v1/memory_stores/{store}/tool_calls", memoryhub_session="run-1").status == 404
        assert f"with 404: {why}" in said()
    changed = one.block("toolu_1", command="delete", path="/memories/a.md")
    assert one.send(changed, memoryhub_session="run-1").status == 422
    assert "with 422: the id of the call was used before for another input" in said()
    assert newest_entry(HUB).token == "toolu_1"


def test_a_used_id_is_recorded_for_mcp_too() -> None:
    one = new_hub()
    meta = {"_meta": {"claudecode/toolUseId": "toolu_1"}}
    for path in ("/memories/a", "/memories/b"):
        called = {"name": "memory", "arguments": {"command": "view", "path": path}}
        send_mcp(one, message("tools/call", called | meta))
    entry = newest_entry(HUB)
    assert (entry.command, entry.door, entry.token, entry.ok) == ("refused", "mcp", "toolu_1", False)


def test_an_agent_cannot_fill_the_audit_with_calls_under_a_used_id() -> None:
    one = new_hub()
    assert one.send(one.block("toolu_1", command="view", path="/memories")).status == 200
    before = AuditEntry.objects.of_chain(one.store.id).count()
    for number in range(refusals.MOST + 5):
        assert one.send(one.block("toolu_1", command="delete", path=f"/memories/{number}")).status == 422
    assert of_hub("refused") == refusals.MOST
    assert AuditEntry.objects.of_chain(one.store.id).count() == before


def test_retry_after_is_at_most_the_window() -> None:
    hub = new_hub(limit_calls=1)
    assert hub.send(hub.block(command="view", path="/memories")).status == 200
    answer = hub.send(hub.block(command="view", path="/memories"))
    assert answer.status == 429 and 1 <= int(answer.headers["retry-after"]) <= 60
