"""What `verify_audit` does not see is what docs/architecture.md lists, column by column."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

from memoryhub.actions.core.audit import Act, Actor, seals
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.review import decisions
from memoryhub.actions.verification import verify
from memoryhub.models import HUB, Door, Memory, MemoryStore, MemoryVersion, Review, User
from tests.support.fixtures import AT
from tests.support.tampering import cells, edited, undone
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

DERIVED = {("memorystore", "memory_count"), ("memorystore", "total_bytes")}
"""Outside of the seals, and counted again."""


def outside() -> set[tuple[str, str]]:
    """(model, field) of what the document lists: a table's name stands for all of its fields."""
    text = Path("docs/architecture.md").read_text(encoding="utf-8")
    table = text[text.index("What `verify_audit` does not see:") :].split("\n\n")[1]
    found: set[tuple[str, str]] = set()
    for row in table.splitlines()[2:]:
        model = ""
        for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0]):
            last = name if name[0].isupper() else f"{model}.{name}"
            model, _, field = last.partition(".")
            found |= {(model.lower(), one) for one in ([field] if field else _fields(model))}
    return found


def _fields(model: str) -> list[str]:
    return [field.name for field in apps.get_model("memoryhub", model)._meta.concrete_fields]


def _unsealed() -> list[type[models.Model]]:
    found = apps.get_app_config("memoryhub").get_models()
    return [model for model in found if not issubclass(model, tuple(seals.kinds().values()))]


def test_the_document_lists_the_columns_that_no_seal_covers() -> None:
    listed = outside()
    unsealed = {(kind, name) for kind, model in seals.kinds().items() for name in model.OUTSIDE} - DERIVED
    assert unsealed <= listed
    assert {name for name in listed if name[0] in seals.kinds()} == unsealed


@pytest.fixture
def history(store: MemoryStore, key: str, alice: User) -> MemoryStore:
    """A store with a row of every table that is verified without a seal."""
    caller = Caller(store, key, session="run-1")
    caller.create("/notes/a.md", "one\n")
    version = caller.replace("/notes/a.md", "one", "two hunter2")
    caller.replace("/notes/a.md", "two", "three")
    caller.call("view", path="/memories/notes/a.md")
    caller.create("/notes/b.md", "gone\n")
    caller.delete("/notes/b.md")
    by_alice = Act(Actor.person(alice), Door.WEB, AT + timedelta(days=1))
    waiting = MemoryVersion.objects.filter(store=store).unreviewed().values_list("pk", flat=True)
    decisions.approve_many(store.pk, list(waiting), by_alice)
    redaction.redact_version(store.pk, version.pk, by_alice)
    found = erasure.search(store.pk, ["hunter2"], AT + timedelta(days=2))
    erasure.erase(store.pk, ["hunter2"], found.digest, by_alice)
    assert Memory.objects.exists() and Review.objects.exists()
    return store


@pytest.mark.push
def test_an_edit_of_any_other_column_is_named(history: MemoryStore) -> None:
    listed, unnoticed, seen = outside(), set(), set()
    for model in _unsealed():
        kind = str(model._meta.model_name)
        names = {field.column: field.name for field in model._meta.concrete_fields}
        if all((kind, name) in listed for name in names.values()):
            continue
        assert model._base_manager.exists(), f"the history has no row of {kind}"
        for cell in _cells(model):
            place = (kind, names[cell.column])
            seen.add(place)
            if place not in listed and _passes(history, model, cell):
                unnoticed.add(place)
    assert not unnoticed
    assert {name for name in listed if name[0] not in seals.kinds()} - seen <= {
        place for place in listed if all((place[0], name) in listed for name in _fields(place[0]))
    }


def _cells(model: type[models.Model]) -> Iterator[object]:
    row = model._base_manager.order_by("pk").last()
    assert row is not None
    key = {field.attname: getattr(row, field.attname) for field in model._meta.pk_fields}
    yield from cells(model, **key)


def _passes(store: MemoryStore, model: type[models.Model], cell: object) -> bool:
    """Whether a column can be read as something else and nobody says so."""
    before = _as_read(model)
    with undone(), tampering():
        return edited(cell, 3, 1) and _as_read(model) != before and not _is_named(store)  # type: ignore[arg-type]


def _as_read(model: type[models.Model]) -> object:
    try:
        return list(model._base_manager.order_by("pk").values())
    except Exception as error:
        return type(error)


def _is_named(store: MemoryStore) -> bool:
    return any(verify.verify(name)[1] for name in (store.pk, HUB))
