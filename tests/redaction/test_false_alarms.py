"""`verify_audit` calls nothing tampering that the hub did itself, nor a query that the database refused."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import delete
from memoryhub.actions.verification import verify
from memoryhub.models import Access, AuditEntry, Door, MemoryVersion, User
from tests.api.harness import Hub, new_secret, new_store
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db

BY_HUB = Actor.system("tests")


def read_through_the_api() -> Hub:
    """A store with a memory that was created, retrieved in full and changed through the API."""
    store = new_store()
    hub = Hub(store, new_secret(store, Access.MANAGE))
    memories = f"/v1/memory_stores/{store.pk}/memories"
    made = hub.send({"path": "/a.md", "content": "the password is hunter2\n"}, url=memories)
    assert made.status == 200, made.body
    one = f"{memories}/{made.value['id']}"
    assert hub.send(b"", method="GET", url=f"{one}?view=full").status == 200
    assert hub.send({"content": "nothing\n"}, url=one).status == 200
    return hub


@pytest.mark.both_databases
def test_a_version_read_through_the_api_then_redacted_then_deleted_with_its_store_is_no_alarm() -> None:
    hub = read_through_the_api()
    first = MemoryVersion.objects.get(store=hub.store, number=1)
    redaction.redact_version(hub.store.pk, first.pk, Act(BY_HUB, Door.API, timezone.now()))
    assert verify.verify(hub.store.pk)[1] is None
    delete.delete_store(hub.store.pk, act=Act(BY_HUB, Door.COMMAND, timezone.now()))
    assert verify.verify(hub.store.pk)[1] is None
    while delete.step(hub.store.pk):
        assert verify.verify(hub.store.pk)[1] is None
    assert verify.verify(hub.store.pk)[1] is None


@pytest.mark.both_databases
def test_a_refused_call_that_was_repeated_and_then_redacted_is_no_alarm() -> None:
    """The answer of the second is that of the first, and cannot be tried either when the first is redacted."""
    hub = read_through_the_api()
    block = hub.block(command="str_replace", path="/memories/a.md", old_str="hunter2", new_str="hunter3")
    for _ in range(2):
        assert hub.send(block).value["is_error"]
    assert hub.call(command="delete", path="/memories/a.md")[0] == "ok"
    for version in MemoryVersion.objects.filter(store=hub.store).order_by("-number"):
        redaction.redact_version(hub.store.pk, version.pk, Act(BY_HUB, Door.API, timezone.now()))
        assert verify.verify(hub.store.pk)[1] is None


def test_a_repeated_call_whose_first_was_removed_is_no_alarm(superuser: User) -> None:
    """Its answer is that of the first, which retention has removed with the oldest entries."""
    hub = read_through_the_api()
    block = hub.block(command="str_replace", path="/memories/a.md", old_str="hunter2", new_str="hunter3")
    for _ in range(2):
        assert hub.send(block).value["is_error"]
    repeat = AuditEntry.objects.get(chain=hub.store.pk, replay_of__isnull=False)
    act = Act(BY_HUB, Door.COMMAND, timezone.now() + timedelta(days=400))
    decisions.approve_many(hub.store.pk, list(MemoryVersion.objects.values_list("pk", flat=True)), act)
    assert removal.remove_entries(hub.store.pk, repeat.seq - 1, act) == repeat.seq - 1
    assert verify.verify(hub.store.pk)[1] is None
    page = signed_in(superuser).get(reverse("entry", args=[hub.store.pk, repeat.seq])).content.decode()
    assert "it was made from a version or a call that was removed" in page and "Alarm" not in page


def test_a_query_that_the_database_refuses_is_called_that_and_not_tampering(
    own_checkpoints: Path,
) -> None:
    """The database refuses, one after the other, the queries of each table that is read."""
    read_through_the_api()
    refused = 0
    for model in ("auditentry", "memoryversion", "memory", "redaction", "directory", "auditchain", "review"):

        def refuse(execute: object, sql: str, params: object, many: bool, context: object, name: str = model) -> object:
            if f'FROM "memoryhub_{name}"' in sql:
                raise OperationalError("disk I/O error")
            return execute(sql, params, many, context)  # type: ignore[operator]

        out = StringIO()
        with connection.execute_wrapper(refuse), pytest.raises(CommandError) as stopped:
            call_command("verify_audit", stdout=out)
        assert str(stopped.value) == "The database does not answer, or refuses: disk I/O error", model
        assert stopped.value.returncode == 2
        assert "changed" not in out.getvalue()
        refused += 1
    assert refused == 7
    call_command("verify_audit", stdout=StringIO())
