"""What the tests of redaction and erasure share: a memory of several versions, and what stands anywhere."""

import re
from collections.abc import Iterator
from html import unescape

from django.apps import apps
from django.db import models
from django.test import Client

from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, MemoryVersion
from tests.web.memories.pages import act, text_of, write

SUBJECT = "Zacharias Quellenberg"
WHERE = "/erase"


def of_two_versions(store: MemoryStore, path: str = "/people/zq.md", *, first: str = f"{SUBJECT} called\n") -> Memory:
    """A memory whose first version has what must go, and whose newest has not."""
    memory = write(store, path, first)
    curation.edit(store.id, memory.pk, "nothing any more\n", memory.sha256, act())
    return Memory.objects.get(pk=memory.pk)


def version(memory: Memory, number: int = 1) -> MemoryVersion:
    return MemoryVersion.objects.get(memory_id=memory.pk, number=number)


def everywhere(text: str) -> list[str]:
    """The columns of the database in which a text stands, plain or as ASCII-escaped JSON has it."""
    return sorted({place for place, value in _values() if text in value})


def _values() -> Iterator[tuple[str, str]]:
    for model in (*apps.get_app_config("memoryhub").get_models(), *apps.get_app_config("sessions").get_models()):
        columns = [
            field.attname
            for field in model._meta.concrete_fields
            if isinstance(field, models.TextField | models.CharField)
        ]
        for row in model._default_manager.values_list(*columns) if columns else ():
            for column, value in zip(columns, row, strict=True):
                yield f"{model.__name__}.{column}", str(value)


def fields(html: str, step: str) -> dict[str, object]:
    """The fields of the form with this step, with what is ticked."""
    at = html.index(f'name="step" value="{step}"')
    part = html[html.rindex("<form", 0, at) : html.index("</form>", at)]
    found: dict[str, list[str]] = {"step": [step]}
    for tag in re.findall(r"<input [^>]*>", part):
        if 'type="checkbox"' in tag and " checked" not in tag:
            continue
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and name[1] != "csrfmiddlewaretoken":
            found.setdefault(name[1], []).append(unescape(value[1]) if value else "")
    return dict(found)


__all__ = ["SUBJECT", "WHERE", "everywhere", "fields", "of_two_versions", "text_of", "version", "write"]


def find(client: Client, *texts: str) -> str:
    answer = client.post(WHERE, {"terms": "\r\n".join(texts)})
    assert answer.status_code == 200 and "no-store" in answer.headers["Cache-Control"]
    return answer.content.decode()


def erase(client: Client, html: str, **more: object) -> str:
    return client.post(WHERE, fields(html, "erase") | {"confirm": "quellenberg"} | more).content.decode()
