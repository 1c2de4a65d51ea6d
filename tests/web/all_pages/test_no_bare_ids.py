"""Tables and letters have names beside the ids; `test_right_to_left` looks for bare ids on every page."""

import csv
import io

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from memoryhub.demo.load import load
from memoryhub.demo.story import SERVICE
from memoryhub.models import AuditEntry, Memory, MemoryStore, Role, User
from tests.support.fixtures import signed_in
from tests.web.all_pages.bare_ids import BARE, bare_ids
from tests.web.erasure.erasing import fields

pytestmark = pytest.mark.django_db

NAMES_OF = {
    "chain": "store", "actor": "label", "agent": "label", "session": "session_name", "memory": "path",
    "version": "version_number",
}  # fmt: skip
"""The columns of tables that have ids, and those beside them that have the names."""


@pytest.fixture(scope="module", autouse=True)
def demo(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The demo, once for all tests of this module."""
    with django_db_blocker.unblock():
        load(timezone.now())


@pytest.mark.push
@pytest.mark.both_databases
def test_tables_and_letters_of_the_demo_have_names_beside_the_ids(superuser: User) -> None:
    client, store = signed_in(superuser), MemoryStore.objects.get(name=SERVICE)
    memory = Memory.objects.at("/refund_policies.xml").get(store=store)
    found = client.post("/erase", {"terms": "Luis", "store": store.pk}).content.decode()
    letter = client.post("/erase", fields(found, "erase") | {"confirm": "Luis"}).content.decode()
    assert not bare_ids("erased", letter)
    tables = {
        "export_audit": {"q": ""}, "export_trash": {"store_id": store.pk},
        "export_versions": {"store_id": store.pk, "memory_id": memory.pk}, "export_agents": {},
        "export_search": {"q": "path:/"},
    }  # fmt: skip
    for table, parts in tables.items():
        address = reverse(table, kwargs={name: part for name, part in parts.items() if name != "q"})
        given = {name: part for name, part in parts.items() if name == "q"}
        rows = list(
            csv.DictReader(io.StringIO(client.post(address, {"format": "csv", **given}).getvalue().decode("utf-8-sig")))
        )
        assert rows, table
        for row in rows:
            names = NAMES_OF | ({"version": "number", "agent": "name"} if table != "export_audit" else {})
            for column in row.keys() & names.keys():
                assert bool(row[names[column]]) >= bool(BARE.search(row[column] or "")), (table, column, row)


@pytest.mark.both_databases
def test_the_demo_has_a_memory_whose_review_is_assigned() -> None:
    mina = User.objects.get(email="mina@example.com")
    assert "/customers/northwind.md" in signed_in(mina).get("/review?q=is:mine").content.decode()


def test_the_person_of_the_demo_has_signed_in_and_may_do_what_they_did() -> None:
    mina = User.objects.get(email="mina@example.com")
    assert mina.last_login and {one.role for one in mina.memberships.all()} == {Role.ADMIN}
    acts = AuditEntry.objects.filter(actor_id=mina.pk).order_by("at")
    assert acts[0].command == "sign_in"
