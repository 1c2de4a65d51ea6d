"""Which requests to the memory_stores API the audit tells, in which chain, and what it tells of each."""

import json

import pytest
from django.test import Client

from memoryhub.models import HUB, AuditEntry
from tests.doors.table import Step, delete, get, post, send
from tests.doors.world import make

STORES = "/v1/memory_stores"
MAIN = f"{STORES}/<main>"
MEMORIES = f"{MAIN}/memories"
SECRET_TEXT = "a text that no entry repeats"
ABSENT_SHA = "0" * 64

Told = tuple[str, bool, str | None, str | None]
"""An entry's command, whether it was done, path and new path."""

IN_THE_STORE: tuple[tuple[Step, list[Told]], ...] = (
    (post(MEMORIES, {"path": "/new.md", "content": SECRET_TEXT}), [("create", True, "/new.md", None)]),
    (post(MEMORIES, {"path": "/a.md", "content": SECRET_TEXT}, status=409), [("create", False, "/a.md", None)]),
    (post(f"{MEMORIES}/<a>", {"content": SECRET_TEXT}), [("edit", True, "/a.md", None)]),
    (post(f"{MEMORIES}/<a>", {"content": SECRET_TEXT}), [("edit", True, "/a.md", None)]),
    (post(f"{MEMORIES}/<a>", {"path": "/b.md"}), [("rename", True, "/a.md", "/b.md")]),
    (post(f"{MEMORIES}/<a>", {"path": "/c.md", "content": ""}), [("edit", True, "/b.md", "/c.md")]),
    (post(f"{MEMORIES}/<a>", {"path": "/notes/todo.md"}, status=409), [("rename", False, "/c.md", "/notes/todo.md")]),
    (post(f"{MEMORIES}/<a>", {"content": "n", "precondition": {"type": "content_sha256", "content_sha256": ABSENT_SHA}},
          status=409), [("edit", False, "/c.md", None)]),
    (delete(f"{MEMORIES}/<a>?expected_content_sha256={ABSENT_SHA}", status=409), [("delete", False, "/c.md", None)]),
    (post(MEMORIES, {"path": "/large.md", "content": "x" * 102_401}, status=400),
     [("create", False, "/large.md", None)]),
    (get(f"{MEMORIES}/<todo>"), [("view", True, "/notes/todo.md", None)]),
    (get(f"{MEMORIES}/<todo>?view=basic"), []),
    (get(MEMORIES), []),
    (get(f"{MEMORIES}?view=full&path_prefix=/notes/deep/"),
     [("view", True, "/notes/deep/er/x.md", None), ("view", True, "/notes/deep/y.md", None)]),
    (get(f"{MAIN}/memory_versions/<todo.1>"), [("view", True, "/notes/todo.md", None)]),
    (get(f"{MAIN}/memory_versions/<todo.1>?view=basic"), []),
    (get(f"{MAIN}/memory_versions"), []),
    (get(f"{MAIN}/memory_versions?view=full&memory_id=<old>"),
     [("view", True, "/moved.md", None), ("view", True, "/before.md", None)]),
    (get(MAIN), []),
    (get(STORES), []),
    (get(f"{MEMORIES}/mem_x", status=404), []),
    (post(MEMORIES, {"path": "relative", "content": SECRET_TEXT}, status=400), []),
    (Step("PUT", MAIN, {}, 405), []),
    (post(MEMORIES, {}, status=415, headers={"content-type": "text/plain"}), []),
    (delete(f"{MEMORIES}/<a>"), [("delete", True, "/c.md", None)]),
    (post(f"{MAIN}/memory_versions/<todo.1>/redact"), [("redact", True, None, None)]),
    (post(MAIN, {"name": "Another"}), [("edit_store", True, None, None)]),
    (post(f"{MAIN}/archive"), [("archive_store", True, None, None)]),
    (post(MEMORIES, {"path": "/late.md", "content": SECRET_TEXT}, status=400), [("create", False, "/late.md", None)]),
    (delete(MAIN, key="hub"), [("delete_store", True, None, None)]),
)  # fmt: skip

IN_THE_HUB: tuple[tuple[Step, list[Told]], ...] = (
    (get(f"{STORES}/<other>", status=404), [("refused", False, None, None)]),
    (post(MEMORIES, {"path": "/n.md", "content": ""}, key="read", status=403), [("refused", False, None, None)]),
    (get(MAIN, key="wrong", status=401), []),
    (get(MAIN, key="none", status=401), []),
)


def entries(chain: str, after: int) -> list[AuditEntry]:
    return list(AuditEntry.objects.of_chain(chain).filter(seq__gt=after).oldest())


def last(chain: str) -> int:
    return AuditEntry.objects.of_chain(chain).newest()[0].seq


def told(entry: AuditEntry) -> Told:
    # A redaction's own path is told only as far as it is kept.
    path = None if entry.command == "redact" else entry.path
    return str(entry.command), entry.ok, path, entry.new_path


@pytest.mark.django_db
def test_each_request_leaves_the_entries_that_it_must() -> None:
    names = make()
    client = Client(raise_request_exception=False)
    for chain, table in ((HUB, IN_THE_HUB), (names["main"], IN_THE_STORE)):
        for step, expected in table:
            before = last(chain)
            answer = send(client, step, names)
            assert answer.status == step.status, (step.method, step.path, answer.body)
            made = entries(chain, before)
            assert [told(entry) for entry in made] == expected, (step.method, step.path)
            assert len({entry.group for entry in made}) <= 1
            assert all(entry.group for entry in made) or len(made) == 1
            for entry in made:
                is_told_well(entry)


def is_told_well(entry: AuditEntry) -> None:
    """Through the API, with an input of JSON that holds no text, in one group where several were read."""
    assert entry.door == "api" and entry.actor_kind == "key"
    assert SECRET_TEXT not in (entry.input or "") and SECRET_TEXT not in (entry.message or "")
    assert isinstance(json.loads(entry.input or "{}"), dict)
    if entry.command == "view":
        assert (entry.first_line, entry.cut, entry.message) == (1, False, None)
