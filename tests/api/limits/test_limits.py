"""Limits as an agent meets them: calls a minute, versions, sizes of bodies, and the header that tells what is used."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import settings as hub_settings
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.history import apply_plan
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HUB, AuditEntry, Door, IdempotentCall, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.limits import COLUMNS
from memoryhub.pure.protocol.errors import ToolError
from tests.api.harness import AT, Hub, assert_audit_is_right, new_hub, new_secret, newest_entry, row_counts

ACT = Act(Actor.system("Anna"), Door.WEB, AT)
VIEW = {"command": "view", "path": "/memories"}

Clock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the hub's clock to so many seconds after AT."""

    def set_to(seconds: float) -> None:
        moment: datetime = AT + timedelta(seconds=seconds)
        monkeypatch.setattr(timezone, "now", lambda: moment)

    set_to(0)
    return set_to


def status(hub: Hub, **headers: str) -> int:
    return hub.send(hub.block(**VIEW), **headers).status


def set_hub(**limits: int | None) -> None:
    hub_settings.set_limits(dict.fromkeys(COLUMNS) | limits, ACT)


def limit(hub: Hub, **limits: Any) -> None:
    stores.edit_store(
        hub.store, StoreSettings("x", limits=limits), actor=ACT.actor, door=ACT.door, at=AT, only=list(limits)
    )


class TestCallsAMinute:
    def test_past_the_limit_nothing_is_run_and_the_agent_is_told_when_to_come_back(
        self, db: None, clock: Clock
    ) -> None:
        hub = new_hub(limit_calls=3)
        assert [status(hub) for _ in range(2)] == [200, 200]
        clock(10.5)
        assert status(hub) == 200
        before = row_counts()
        answer = hub.send(
            hub.block(id="late", command="create", path="/memories/a", file_text="x"), memoryhub_session="s"
        )
        assert (answer.status, answer.headers["retry-after"]) == (429, "51")
        assert answer.value["error"]["type"] == "rate_limit_error"
        assert answer.value["request_id"] == answer.headers["request-id"]
        assert "3 calls in 60 seconds" in answer.value["error"]["message"]
        assert row_counts() == before
        clock(61)
        assert hub.send(hub.block(id="late", command="create", path="/memories/a", file_text="x")).status == 200
        assert [status(hub), status(hub)] == [200, 429]
        assert_audit_is_right(hub.store)

    def test_each_key_has_its_own_minute(self, db: None, clock: Clock) -> None:
        hub = new_hub(limit_calls=1)
        other = Hub(hub.store, new_secret(hub.store))
        assert [status(hub), status(other), status(hub), status(other)] == [200, 200, 429, 429]

    def test_a_message_is_as_many_calls_as_it_has_blocks_and_runs_whole_or_not_at_all(
        self, db: None, clock: Clock
    ) -> None:
        hub = new_hub(limit_calls=4)

        def blocks(count: int) -> list[dict[str, Any]]:
            return [hub.block(command="create", path=f"/memories/{n}-{count}", file_text="") for n in range(count)]

        assert hub.message(*blocks(3)).headers["memoryhub-usage"].endswith("calls=3;limit=4")
        before = row_counts()
        assert hub.message(*blocks(2)).status == 429
        assert row_counts() == before
        assert status(hub) == 200
        clock(100)
        never = hub.message(*blocks(5))
        assert (never.status, never.headers.get("retry-after")) == (400, None), "no client repeats it"
        assert "split the message; at most 4" in never.value["error"]["message"]
        assert never.value["error"]["most_calls"] == 4
        assert hub.message(*blocks(4)).status == 200

    @pytest.mark.both_databases
    def test_a_repeated_call_is_a_call_and_a_refused_one_is_none(self, db: None, clock: Clock) -> None:
        hub = new_hub(limit_calls=2)
        block = hub.block(**VIEW)
        assert [hub.send(block).status for _ in range(5)] == [200, 200, 429, 429, 429]
        clock(61)
        assert hub.send(block).status == 200
        assert IdempotentCall.objects.filter(store=hub.store).count() == 1

    def test_a_reused_token_is_no_call_and_is_refused_as_such_where_no_call_is_left(
        self, db: None, clock: Clock
    ) -> None:
        hub = new_hub(limit_calls=2)
        block = hub.block(**VIEW)
        reused = {**block, "input": {"command": "delete", "path": "/memories/a.md"}}
        assert [hub.send(one).status for one in (block, reused, block, reused, block)] == [200, 422, 200, 422, 429]

    def test_an_error_of_the_tool_is_a_call_too(self, db: None, clock: Clock) -> None:
        hub = new_hub(limit_calls=1)
        assert hub.send(hub.block(command="nothing")).value["is_error"]
        assert status(hub) == 429

    @pytest.mark.both_databases
    def test_the_hubs_limit_holds_where_a_store_has_none(self, db: None, clock: Clock) -> None:
        plain, own = new_hub(), new_hub(limit_calls=2)
        set_hub(limit_calls=1)
        assert [status(plain), status(plain), status(own), status(own), status(own)] == [200, 429, 200, 200, 429]
        set_hub()
        assert status(plain) == 200

    def test_without_a_limit_nothing_is_counted(self, hub: Hub) -> None:
        assert "calls" not in hub.send(hub.block(**VIEW)).headers["memoryhub-usage"]

    def test_a_wrong_body_is_no_call(self, db: None, clock: Clock) -> None:
        hub = new_hub(limit_calls=1)
        assert [hub.send({}).status, status(hub)] == [400, 200]


class TestVersions:
    def written(self, hub: Hub, name: str = "a", *, times: int = 3) -> Memory:
        hub.call(command="create", path=f"/memories/{name}", file_text="")
        for _ in range(times - 1):
            hub.call(command="insert", path=f"/memories/{name}", insert_line=0, insert_text="x")
        return Memory.objects.get(store=hub.store, path=f"/{name}", deleted_at=None)

    def test_every_write_past_the_limit_is_refused_and_noted_but_no_delete(self, db: None) -> None:
        hub = new_hub(limit_versions=3)
        memory = self.written(hub)
        sentence = (
            "Error: /memories/a has 3 versions, which is the limit of this memory store. "
            "Write to another path, or delete it and create it again."
        )
        writes: list[dict[str, Any]] = [
            {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "y"},
            {"command": "str_replace", "path": "/memories/a", "old_str": "x\nx", "new_str": ""},
            {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b/c"},
        ]
        versions = MemoryVersion.objects.filter(store=hub.store).count()
        for write in writes:
            assert hub.call(**write) == ["err", sentence]
            entry = newest_entry(hub.store.id)
            assert (entry.ok, entry.command, json.loads(entry.message or "")) == (False, write["command"], sentence)
        assert MemoryVersion.objects.filter(store=hub.store).count() == versions
        memory.refresh_from_db()
        assert (memory.version_count, memory.path) == (3, "/a")
        assert hub.call(command="delete", path="/memories/a")[0] == "ok"
        assert hub.call(command="create", path="/memories/a", file_text="again")[0] == "ok"
        assert_audit_is_right(hub.store)

    def test_a_directory_with_a_full_memory_stays_where_it_is(self, db: None) -> None:
        hub = new_hub(limit_versions=3)
        self.written(hub, "d/a", times=2)
        self.written(hub, "d/b", times=3)
        move = {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"}
        assert "/memories/d/b has 3 versions" in hub.call(**move)[1]
        limit(hub, limit_versions=4)
        assert hub.call(**move)[0] == "ok"
        assert (
            "/memories/e/b has 4 versions"
            in hub.call(command="rename", old_path="/memories/e", new_path="/memories/f")[1]
        )

    @pytest.mark.both_databases
    def test_versions_that_were_removed_do_not_count(self, db: None) -> None:
        hub = new_hub(limit_versions=3)
        memory = self.written(hub)
        insert = {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "y"}
        assert hub.call(**insert)[0] == "err"
        removed_rows(memory, 2)
        assert [hub.call(**insert)[0] for _ in range(3)] == ["ok", "ok", "err"]

    def test_people_and_restores_have_the_same_limit(self, db: None) -> None:
        hub = new_hub(limit_versions=3)
        memory = self.written(hub)
        first = MemoryVersion.objects.get(memory=memory, number=1)
        acts: list[Callable[[], object]] = [
            lambda: curation.edit(hub.store.id, memory.id, "new", memory.sha256, ACT),
            lambda: curation.rename(hub.store.id, "/a", "/b", ACT),
            lambda: curation.restore(hub.store.id, first.id, ACT),
        ]
        before = row_counts()
        for act in acts:
            with pytest.raises(ToolError, match="has 3 versions"):
                act()
        assert row_counts() == before
        curation.delete(hub.store.id, "/a", ACT)
        with pytest.raises(ToolError, match="has 4 versions"):
            curation.restore(hub.store.id, first.id, ACT)
        limit(hub, limit_versions=5)
        assert curation.restore(hub.store.id, first.id, ACT).memory == memory.id

    @pytest.mark.both_databases
    def test_undoing_has_the_same_limit(self, db: None) -> None:
        hub = new_hub(limit_versions=3)
        memory = self.written(hub)
        plan = apply_plan.undo_plan(hub.store.id, [memory.head_id])
        with pytest.raises(ToolError, match="/memories/a has 3 versions"):
            apply_plan.undo(hub.store.id, [memory.head_id], {}, plan.digest, ACT)
        limit(hub, limit_versions=4)
        assert apply_plan.undo(hub.store.id, [memory.head_id], {}, plan.digest, ACT).count == 1


def removed_rows(memory: Memory, count: int) -> None:
    """As if retention had removed the oldest versions of a memory."""
    with writing():
        Memory.objects.filter(pk=memory.pk).update(removed_versions=count)


def padded(hub: Hub, size: int) -> bytes:
    body = json.dumps(hub.block(**VIEW)).encode()
    return body + b" " * (size - len(body))


class TestBodies:
    def test_a_store_may_take_less_than_the_hub(self, db: None) -> None:
        hub = new_hub(limit_body_bytes=2000)
        assert [hub.send(padded(hub, size)).status for size in (1999, 2000)] == [200, 200]
        before = row_counts()
        answer = hub.send(padded(hub, 2001))
        assert (answer.status, answer.value["error"]["type"]) == (413, "request_too_large")
        assert "2000 bytes, which is the limit of this memory store" in answer.value["error"]["message"]
        assert row_counts() == before

    @pytest.mark.both_databases
    def test_the_hubs_page_may_set_less_and_a_store_more_again(self, hub: Hub) -> None:
        set_hub(limit_body_bytes=2000)
        assert [hub.send(padded(hub, size)).status for size in (2000, 2001)] == [200, 413]
        limit(hub, limit_body_bytes=3000)
        assert [hub.send(padded(hub, size)).status for size in (3000, 3001)] == [200, 413]

    def test_no_store_takes_more_than_the_hubs_own_limit(self, db: None) -> None:
        most = settings.MEMORYHUB_BODY_BYTES
        hub = new_hub(limit_body_bytes=10 * most)
        answer = hub.send(padded(hub, most + 1))
        assert (answer.status, f"{most} bytes" in answer.value["error"]["message"]) == (413, True)

    def test_who_has_no_key_learns_no_limit(self, db: None) -> None:
        hub = new_hub(limit_body_bytes=2000)
        hub.secret = "mh_wrong"
        assert hub.send(padded(hub, 2001)).status == 401
        other = new_hub()
        assert other.send(padded(other, 2001), url=hub.url).status == 404


class TestUsage:
    def test_each_answer_tells_what_the_store_then_holds(self, db: None) -> None:
        hub = new_hub(limit_memories=5, limit_total_bytes=1000, limit_calls=9)
        answer = hub.send(hub.block(command="create", path="/memories/a", file_text="abc"))
        assert answer.headers["memoryhub-usage"] == "memories=1;limit=5, bytes=3;limit=1000, calls=1;limit=9"
        answer = hub.message(
            hub.block(command="create", path="/memories/b", file_text="é"),
            hub.block(command="delete", path="/memories/a"),
        )
        assert answer.headers["memoryhub-usage"] == "memories=1;limit=5, bytes=2;limit=1000, calls=3;limit=9"
        assert "memoryhub-usage" not in hub.send({}).headers

    def test_it_is_a_dictionary_of_structured_fields(self, hub: Hub) -> None:
        usage = hub.send(hub.block(**VIEW)).headers["memoryhub-usage"]
        assert re.fullmatch(r"[a-z]+=\d{1,15};limit=\d{1,15}(, [a-z]+=\d{1,15};limit=\d{1,15})*", usage)
        assert usage == "memories=0;limit=10000, bytes=0;limit=104857600"

    def test_no_limit_is_left_out(self, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(settings.MEMORYHUB_LIMITS, "memories", None)
        monkeypatch.setitem(settings.MEMORYHUB_LIMITS, "view_characters", None)
        hub.call(command="create", path="/memories/a", file_text="x\n" * 50_000)
        answer = hub.send(hub.block(command="view", path="/memories/a"))
        assert answer.value["content"].count("\n") == 50_001
        assert answer.headers["memoryhub-usage"].startswith("memories=1, bytes=100000;limit=")


class TestTheHubsLimits:
    @pytest.mark.both_databases
    def test_the_entry_tells_before_and_after(self, db: None) -> None:
        set_hub(limit_calls=60, limit_memories=5)
        set_hub(limit_calls=30, limit_memories=5)
        set_hub(limit_calls=30, limit_memories=5)
        told = (
            AuditEntry.objects.filter(chain=HUB, command="set_limits").order_by("seq").values_list("input", flat=True)
        )
        assert [json.loads(input or "") for input in told] == [
            {"limit_calls": [None, 60], "limit_memories": [None, 5]}, {"limit_calls": [60, 30]}
        ]  # fmt: skip

    @pytest.mark.both_databases
    def test_they_hold_at_once_where_a_store_has_none_of_its_own(self, hub: Hub) -> None:
        own = new_hub(limit_memory_bytes=20)
        set_hub(limit_memory_bytes=10)
        create = {"command": "create", "path": "/memories/a", "file_text": "x" * 15}
        assert [hub.call(**create)[0], own.call(**create)[0]] == ["err", "ok"]
        assert MemoryStore.objects.get(pk=hub.store.pk).limit("memory_bytes") == 10
