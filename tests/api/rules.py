"""What the tests of the rules for sensitive text share: stores with rules, and a look at everything that is stored."""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection

from memoryhub.actions.core.audit import Act
from memoryhub.actions.findings.rules import save_rules
from memoryhub.models import Finding, MemoryStore
from memoryhub.pure.sensitive import KINDS
from tests.api.harness import BY, Hub, new_hub

CARD = "4111 1111 1111 1111"
OTHER_CARD = "5500 0000 0000 0004"


def hub_with(**rules: str) -> Hub:
    """A hub whose store has these rules by kind; nothing else is looked for than what they say."""
    hub = new_hub()
    set_rules(hub.store, **rules)
    return hub


def set_rules(store: MemoryStore, **rules: str) -> None:
    save_rules(store.pk, {**dict.fromkeys(KINDS, "off"), **rules}, Act(**BY))


def stored_texts() -> Iterator[tuple[str, str]]:
    """(table, value) of every text in every row of the hub's tables, as the database has it."""
    for model in apps.get_app_config("memoryhub").get_models():
        with connection.cursor() as cursor:
            cursor.execute(f'select * from "{model._meta.db_table}"')
            for row in cursor.fetchall():
                yield from ((model._meta.db_table, str(value)) for value in row if value is not None)


def where_stored(value: str) -> set[str]:
    """The tables in which a value stands somewhere."""
    return {table for table, text in stored_texts() if value in text}


def findings_of(hub: Hub) -> list[tuple[str, int, str]]:
    """(kind, line, state) of a store's findings, in their order."""
    rows = Finding.objects.filter(store=hub.store).order_by("id")
    return list(rows.values_list("kind", "line", "state"))


def found(*texts: str) -> tuple[Hub, list[Finding]]:
    """Open findings, one memory each."""
    hub = hub_with(card="flag", password="flag")
    for number, text in enumerate(texts):
        hub.call(command="create", path=f"/memories/{number}.md", file_text=text)
    return hub, list(Finding.objects.filter(store=hub.store).order_by("memory__path", "start"))
