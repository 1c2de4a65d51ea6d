"""Taking a session out again after a person restored a text from before it."""

from random import Random

import pytest

from memoryhub.actions.core.plans import Choice
from memoryhub.actions.history import apply_plan
from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryVersion, Session
from tests.actions.history.histories import PERSON, History

pytestmark = pytest.mark.both_databases

NINE = "".join(f"{number}\n" for number in range(1, 10))


def test_lines_that_a_session_removed_and_a_person_restored_are_not_put_back_a_second_time(db: None) -> None:
    history = History(Random(1))
    session = history.sessions[0]
    history.call({"command": "create", "path": "/memories/a", "file_text": NINE}, None)
    replaces(history, session, "3\n4\n5\n", "")
    replaces(history, None, "1\n2\n6\n7\n8\n9\n", "x\n6\ny\n")
    first = MemoryVersion.objects.get(store=history.store, path="/a", number=1)
    curation.restore(history.store.id, first.pk, history.act(PERSON))
    memory = Memory.objects.get(store=history.store)
    curation.edit(history.store.id, memory.pk, NINE.replace("7", "seven"), memory.sha256, history.act(PERSON))
    versions = apply_plan.session_versions(history.store.id, session.id)
    (change,) = apply_plan.undo_plan(history.store.id, versions).changes
    assert change.then.same(change.now) and change.choices == (Choice.KEEP, Choice.BEFORE)


def replaces(history: History, session: Session | None, old: str, new: str) -> None:
    history.call({"command": "str_replace", "path": "/memories/a", "old_str": old, "new_str": new}, session)
