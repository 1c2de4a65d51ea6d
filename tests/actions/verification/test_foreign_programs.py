"""Triggers, rules and views in the database: what they show while the audit is verified may not be what the hub reads
at other times, so their presence is a problem by itself."""

import pytest
from django.db import connection, transaction

from memoryhub.actions.verification import verify
from memoryhub.models import HUB, MemoryStore

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

ON_SQLITE = connection.vendor == "sqlite"
DOES = "begin select 1; end" if ON_SQLITE else "for each row execute function suppress_redundant_updates_trigger()"
ADDED = {
    "trigger": [f"create trigger evil before update on memoryhub_trycounter {DOES}"],
    "view": [
        "alter table memoryhub_trycounter rename to hidden",
        "create view memoryhub_trycounter as select * from hidden",
    ],
    "rule": ["create rule evil as on delete to memoryhub_trycounter do instead nothing"],
    "row security": ["alter table memoryhub_trycounter enable row level security"],
}


def test_the_audit_is_not_right_where_the_database_has_programs_of_others(store: MemoryStore) -> None:
    for kind in ("trigger", "view") if ON_SQLITE else ADDED:
        assert verify.verify(store.pk)[1] is None
        with transaction.atomic():
            with connection.cursor() as cursor:
                for statement in ADDED[kind]:
                    cursor.execute(statement)
            for chain in (HUB, store.pk):
                count, problem = verify.verify(chain)
                assert count == 0 and problem is not None and not problem.is_unknown
                assert f"the database has the {kind} " in problem.what and "which is not the hub's" in problem.what
            transaction.set_rollback(True)
