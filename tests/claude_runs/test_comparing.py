"""The page that compares two Claude runs side by side."""

from dataclasses import replace
from typing import Any

import pytest

from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, User
from memoryhub.pure.conversation.options import Options
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import started, worked
from tests.support.fixtures import BY, signed_in
from tests.web.memories.pages import page, write

pytestmark = pytest.mark.django_db

LOOK = call("t1", command="view", path="/memories")
EDIT = call("t2", command="str_replace", path="/memories/a.md", old_str="text", new_str="words")
MOVE = call("t3", command="rename", old_path="/memories/a.md", new_path="/memories/b.md")
NEW = call("t4", command="create", path="/memories/new.md", file_text="new\n")


@pytest.mark.both_databases
def test_two_runs_are_compared(store: MemoryStore, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)
    write(store, "/a.md")
    client, home = signed_in(alice), f"/stores/{store.id}/claude"
    with claude_api(Turn([LOOK, EDIT, NEW]), Turn([say("I **edited** it.")], 300, 9)) as api:
        first = worked(api, started(store, alice, copies=True))
    assert "There is no other run" in page(client, f"{home}/{first.pk}/compare")
    with claude_api(Turn([LOOK, EDIT, MOVE, NEW]), Turn([say("I moved it.")])) as api:
        second = worked(api, started(store, alice, system="Be tidy.", options=Options(keep=9)))
    shown = client.get(f"{home}/{first.pk}/compare").context
    differing = {fact.name: (fact.first, fact.second) for fact in shown["facts"] if fact.differs}
    assert differing.pop("Works on") == (f"a copy, as it was at entry {first.base}", "the memory store itself")
    differing.pop("It took", None)  # they differ on a busy machine
    assert differing == {
        "System prompt": ("–", "Be tidy."), "Newest calls to keep": ("3", "9"), "Calls": ("3", "4"),
        "Tokens in": ("400", "200"), "Tokens out": ("29", "40"),
    }  # fmt: skip
    assert [(bool(one), bool(two)) for one, two in shown["calls"]] == [(True, True)] * 2 + [(False, True), (True, True)]
    made = {one.path: ([diff is not None for diff in one.diffs], one.is_same) for one in shown["made"]}
    assert made == {
        "/a.md": ([True, True], False), "/b.md": ([False, True], False), "/new.md": ([True, True], True),
    }  # fmt: skip
    html = page(client, f"{home}/{second.pk}/compare?with={first.pk}")
    assert "<strong>edited</strong>" in html and "I moved it." in html and "the same result" in html
    assert client.get(f"{home}/{first.pk}/compare?with={first.pk}").status_code == 404
    assert client.get(f"{home}/{first.pk}/compare?with=clrun_0").status_code == 404


@pytest.mark.both_databases
def test_the_texts_before_and_after_the_runs_are_recorded_as_shown_and_no_others(
    store: MemoryStore, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)
    stores.edit_store(store, replace(StoreSettings.of(store), records_views=True), **BY)
    write(store, "/a.md")
    write(store, "/read.md")
    read = call("t1", command="view", path="/memories/read.md")
    with claude_api(Turn([read, EDIT]), Turn([say("Done.")])) as api:
        first = worked(api, started(store, alice))
    with claude_api(Turn([read]), Turn([say("Done.")])) as api:
        second = worked(api, started(store, alice))
    edited = MemoryVersion.objects.filter(store=store, memory__path="/a.md").order_by("number")
    assert edited.count() == 2
    html = page(signed_in(alice), f"/stores/{store.id}/claude/{first.pk}/compare?with={second.pk}")
    assert "<del" in html and "/read.md" in html
    [entry] = AuditEntry.objects.of_chain(store.pk).of_command("view_text")
    assert entry.path == "/a.md"
    assert [version.pk in (entry.input or "") for version in edited] == [True, True]
