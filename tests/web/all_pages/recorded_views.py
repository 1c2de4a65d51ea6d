"""The demo with a mark at the end of each line of its memories, in stores that record who reads them."""

from typing import Any

import pytest
from django.test import Client

from memoryhub.actions.memories import viewing
from memoryhub.demo import story
from memoryhub.models import AuditEntry, MemoryStore
from tests.support.write_guard import arranging

MARK = "\u0258\u0259\u0258"
"""Three letters that stand at the end of each line of a memory, and nowhere else."""
TEXTS, WHOLE = ("file_text", "old_str", "new_str", "insert_text"), ("file_text", "insert_text")


def mark_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo write the mark into its memories."""
    runs = story.runs()
    for run in runs:
        for call in run.calls:
            call.update({name: _marked(call[name], is_whole=name in WHOLE) for name in TEXTS if name in call})
    monkeypatch.setattr(story, "runs", lambda: runs)


def _marked(text: Any, *, is_whole: bool) -> Any:
    if not isinstance(text, str):
        return text
    return text.replace("\n", f"{MARK}\n") + (MARK if is_whole and not text.endswith("\n") else "")


def record_everywhere() -> None:
    """Let every store record who reads its memories."""
    with arranging():
        MemoryStore.objects.update(records_views=True)


def views() -> int:
    """How many entries say that somebody read texts on a page."""
    return AuditEntry.objects.filter(command=viewing.COMMAND).count()


def opened(client: Client, address: str) -> Any:
    """Open a page, which has an entry if it shows a text, and only then; return the answer."""
    before = views()
    answer = client.get(address)
    text = "" if answer.streaming else answer.content.decode()
    assert (views() > before) == (MARK in text), address
    return answer
