"""The write guard itself: nothing gets past it, and what may write does."""

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.utils import timezone

from memoryhub.actions.core import transactions
from memoryhub.models import Agent, BackgroundTask, MemoryStore
from tests.support.fixtures import AT
from tests.support.write_guard import UnguardedWrite, tampering


def new_agent(name: str = "Bot") -> Agent:
    return Agent(id=f"agent_{name}", name=name, folded_name=name, created_at=AT)


@pytest.mark.django_db
def test_a_row_is_not_saved_outside_a_transaction() -> None:
    with pytest.raises(UnguardedWrite):
        new_agent().save()


@pytest.mark.both_databases
@pytest.mark.django_db
def test_rows_are_not_written_outside_a_transaction() -> None:
    agents = Agent.objects.all()
    writes = (
        lambda: agents.create(id="agent_1", name="Bot", folded_name="bot", created_at=AT),
        lambda: agents.get_or_create(id="agent_1"),
        lambda: agents.update_or_create(id="agent_1"),
        lambda: agents.bulk_create([new_agent()]),
        lambda: agents.bulk_update([], ["name"]),
        lambda: agents.update(name="Other"),
        agents.delete,
        lambda: agents._raw_delete("default"),
    )
    for write in writes:
        with pytest.raises(UnguardedWrite):
            write()


def test_a_row_is_not_deleted_outside_a_transaction(store: MemoryStore) -> None:
    with pytest.raises(UnguardedWrite):
        store.delete()


@pytest.mark.both_databases
@pytest.mark.django_db
def test_actions_write_inside_their_transaction() -> None:
    with transactions.writing():
        BackgroundTask(node="here", name="scans").save()
    assert BackgroundTask.objects.get().name == "scans"


@pytest.mark.django_db
def test_a_test_may_tamper() -> None:
    with tampering():
        new_agent().save(force_insert=True)
    with pytest.raises(UnguardedWrite):
        Agent.objects.update(name="Other")


@pytest.mark.django_db
def test_tables_of_others_are_free() -> None:
    BrowserSession.objects.create(session_key="x", session_data="", expire_date=timezone.now())
    assert BrowserSession.objects.count() == 1
