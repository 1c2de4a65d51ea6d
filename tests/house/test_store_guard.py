"""Every statement on a large table names its memory store: the checker itself, and what Django does with one row."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Review
from memoryhub.models.rows import RowOfStore
from tests.support import store_guard
from tests.support.fixtures import BY
from tests.support.statements import Checker
from tests.support.write_guard import tampering

SMALL = {
    "ActRequest": "some for a person, who is asked about all that concern them",
    "AuditChain": "one row a store",
    "ClaudeEvaluation": "at most 100 a store are kept",
    "ClaudePreset": "people save few of them",
    "ClaudeRun": "people start them one by one, and old ones are deleted; their events go by the run",
    "Delivery": "belongs to a webhook, and names the chain only to tell which entry it is about",
    "Figures": "one row a store",
    "Import": "some a store; its items go by the import",
    "Invitation": "belongs to the hub; only some name a store",
    "KeyStore": "belongs to a key",
    "Mail": "belongs to a person, and names the store only to write the message",
    "MeteredChain": "one row a store",
    "Member": "people ask for all of their own",
    "RetentionPolicy": "some a store, and those of the hub, which have none",
    "Run": "some a store, and those of the hub, which have none; its items go by the run",
    "SavedView": "belongs to a person",
    "Scan": "some a store",
    "Seal": "belongs to a governing row, and names the chain only to tell which entry it is about",
    "StreamCursor": "one row a store",
    "Webhook": "some a store, and those of the hub, which have none",
    "WebhookCursor": "one row a store",
}
"""The tables that name a store and may be asked without it, and why."""

WRONG = {
    "select * from m where id = %s": "m without its store",
    "select * from m where store_id = %s or id = %s": "m without its store",
    "select * from m where store_id in (select store_id from member)": "m without its store",
    "select m.id from m join v on m.head_id = v.id where m.store_id = %s": "joined without equating",
    "select m.id from m left join v on m.head_id = v.id where m.store_id = %s and v.store_id = %s": "joined without",
    "select 1 from store s join m on m.store_id = s.id": "m without its store",
    "select id from m where store_id = %s and exists (select 1 from v where v.id = m.head_id)": "v without its store",
    "with told as (select 1 from e where seq = %s) select * from told": "e without its store",
    "select count(*) from (select 1 from m where id = %s union all select 2) counted": "m without its store",
    "update m set store_id = %s where store_id = %s and id = %s": "m gets another store",
    "update m set size = %s where id = %s": "m without its store",
    "delete from m where id in (%s, %s)": "m without its store",
    "insert into copy select * from m where id = %s": "m without its store",
}
RIGHT = (
    "select * from m where store_id = %s and id = %s",
    "select * from m where (m.store_id = (%s) and m.id = %s) limit 21",
    "select * from m where store_id in (%s, %s, %s) and id in (%s, %s)",
    "select * from m where (store_id = %s and id = %s) or (store_id = %s and path = %s)",
    "select m.id from m join v on v.store_id = m.store_id and m.head_id = v.id where m.store_id = %s",
    "select id from m where store_id = %s and exists (select 1 from v where v.store_id = m.store_id)",
    "select s.id, (select max(v.seq) from v where v.store_id = s.id) from store s order by s.name",
    "select * from e where (e.chain, e.seq) in ((%s, %s), (%s, %s))",
    "update m set size = %s where store_id = %s and id = %s",
    "insert into m (id, store_id) values (%s, %s), (%s, %s) on conflict (id) do nothing",
    "select name from store where id = %s",
    "savepoint s1",
)


@pytest.fixture(params=["sqlite", "postgres"])
def checker(request: pytest.FixtureRequest) -> Checker:
    return Checker({"m": "store_id", "v": "store_id", "e": "chain"}, request.param)


@pytest.mark.parametrize("statement", WRONG)
def test_a_statement_on_a_large_table_without_its_store_is_seen(checker: Checker, statement: str) -> None:
    assert any(WRONG[statement] in problem for problem in checker.problems(statement))


@pytest.mark.parametrize("statement", RIGHT)
def test_a_statement_that_names_the_store_is_let_through(checker: Checker, statement: str) -> None:
    assert checker.problems(statement) == ()


def test_each_table_that_names_a_store_is_either_guarded_or_small() -> None:
    named = {
        model.__name__
        for model in apps.get_app_config("memoryhub").get_models()
        if {"store", "chain"} & {field.name for field in model._meta.get_fields() if field.concrete}
    }
    assert named == set(store_guard.LARGE) | (set(SMALL) - {"AuditChain"})
    assert not set(store_guard.LARGE) & set(SMALL)


def test_the_rows_of_each_guarded_table_name_their_store_themselves() -> None:
    for name, column in store_guard.LARGE.items():
        model = apps.get_model("memoryhub", name)
        assert issubclass(model, RowOfStore)
        assert column == model.STORE


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    curation.create(store.pk, "/notes.md", "one\n", Act(**BY))
    return Memory.objects.get(store=store)


@pytest.fixture
def sent() -> Iterator[CaptureQueriesContext]:
    with CaptureQueriesContext(connection) as queries:
        yield queries


def problems_of(queries: CaptureQueriesContext) -> list[str]:
    checker = Checker(store_guard.stores_of_tables(), "sqlite" if connection.vendor == "sqlite" else "postgres")
    assert len(queries)
    return [problem for query in queries for problem in checker.problems(query["sql"])]


@pytest.mark.both_databases
@pytest.mark.both_databases
def test_a_row_is_saved_read_again_and_deleted_by_its_store_and_stays_in_it(
    memory: Memory, sent: CaptureQueriesContext
) -> None:
    with tampering():
        memory.save()
        memory.save(update_fields=["size"])
        memory.refresh_from_db()
        assert Memory.objects.only("store_id").get(store=memory.store_id, pk=memory.pk).path == "/notes.md"
        entry = AuditEntry.objects.filter(chain=memory.store_id).newest()[0]
        entry.save(update_fields=["note"])
        entry.refresh_from_db()
        memory.delete()
    assert not problems_of(sent)
    assert not Memory.objects.filter(store=memory.store_id).exists()


@pytest.mark.both_databases
def test_a_row_is_not_saved_over_one_of_another_store(memory: Memory) -> None:
    memory.store_id = "memstore_of_somebody_else"
    with tampering(), pytest.raises(Memory.DoesNotExist):
        memory.refresh_from_db()
    with tampering():
        assert not memory.delete()[0]


@pytest.mark.both_databases
@pytest.mark.both_databases
def test_references_within_a_store_are_followed_by_the_store_too(memory: Memory, sent: CaptureQueriesContext) -> None:
    assert memory.head.text.content == "one\n"
    joined = MemoryVersion.objects.filter(store=memory.store_id).select_related("text", "memory")
    assert [version.memory.path for version in joined] == ["/notes.md"]
    assert MemoryVersion.objects.filter(store=memory.store_id, memory__path="/notes.md").count() == 1
    assert not Review.objects.filter(store=memory.store_id).select_related("version__text").exists()
    assert not problems_of(sent)


def look_for(memory: Memory) -> bool:
    return Memory.objects.filter(pk=memory.pk).exists()


@pytest.mark.both_databases
def test_what_a_test_sends_is_its_own_and_what_the_hub_sends_is_checked(memory: Memory) -> None:
    assert look_for(memory)
    assert store_guard.seen_since() == []
    of_hub = look_for.__code__.replace(co_filename=f"{store_guard.HUB}web/anywhere.py")
    as_hub = type(look_for)(of_hub, {**globals(), "__name__": "memoryhub.web.anywhere"})
    assert as_hub(memory)
    (mistake,) = store_guard.seen_since()
    assert mistake.startswith("web.anywhere.look_for: memoryhub_memory without its store: SELECT")


def test_processes_that_share_a_file_find_the_same_mistakes_and_note_only_what_is_right(tmp_path: Path) -> None:
    shared = tmp_path / "right"
    wrong, right = "DELETE FROM pen WHERE id = ?", "DELETE FROM pen WHERE store_id = ?"
    first, second = (Checker({"pen": "store_id"}, "sqlite", shared) for _ in range(2))
    for checker in (first, second):
        assert checker.problems(wrong) == ("pen without its store",)
        assert checker.problems(right) == ()
        assert shared.stat().st_size == 32
