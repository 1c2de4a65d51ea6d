"""Everything in a memory store is deleted, and what the hub keeps is told."""

import pytest

from memoryhub.client import HubError
from tests.client.remote import Place, Remote

ROOT = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
PATHS = ["/memories/a.md", "/memories/.hidden", "/memories/notes/b.md", "/memories/notes/deep/c.md",
         "/memories/node_modules/x/y.md", "/memories/100%25 & ü?#.md"]  # fmt: skip
MARKER = "/memories/.anthropic-memory-store"
NO_MARKER = ("/.anthropic-memory-store", False, True)


def deletes(place: Place, store: str) -> list[tuple[object, ...]]:
    """(path, ok, has a session) of the deletes in a store's audit."""
    return [(entry["path"], entry["ok"], bool(entry["session"])) for entry in place.entries(store, "delete")]


def test_all_is_deleted_and_audited_once(remote: Remote, place: Place) -> None:
    assert remote.clear() == ["ok", "All memory cleared"]
    for path in PATHS:
        assert remote.call(command="create", path=path, file_text="x")[0] == "ok"
    assert remote.clear() == ["ok", "All memory cleared"]
    assert remote.call(command="view", path="/memories") == ["ok", f"{ROOT}0B\t/memories"]
    at_root = ("/.hidden", "/100%25 & ü?#.md", "/a.md", "/node_modules", "/notes")
    assert deletes(place, remote.store) == [NO_MARKER, *((path, True, True) for path in at_root), NO_MARKER]


@pytest.mark.parametrize("path", [MARKER, f"{MARKER}/a.md"])
def test_what_the_api_does_not_list_is_deleted(remote: Remote, path: str) -> None:
    for made in ("/memories/a.md", path):
        assert remote.call(command="create", path=made, file_text="x")[0] == "ok"
    assert remote.clear() == ["ok", "All memory cleared"]
    assert remote.call(command="view", path=path)[0] == "err"
    assert remote.clear() == ["ok", "All memory cleared"]


def test_more_than_one_request_holds_is_deleted(remote: Remote) -> None:
    for number in range(101):
        assert remote.call(command="create", path=f"/memories/{number:03}.md", file_text="x")[0] == "ok"
    assert remote.clear() == ["ok", "All memory cleared"]
    assert remote.call(command="view", path="/memories") == ["ok", f"{ROOT}0B\t/memories"]


HOLD = """
from django.utils import timezone
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.models import Door, HoldKind
act = Act(Actor.system("tests"), Door.COMMAND, timezone.now())
holds.place(STORE, act, kind=HoldKind.HOLD, reason="A lawsuit.", path=PLACE)
"""


def test_what_is_under_a_legal_hold_stays_and_is_told(remote: Remote, place: Place) -> None:
    for path in ("/memories/a.md", "/memories/held/b.md", "/memories/z.md"):
        assert remote.call(command="create", path=path, file_text="x")[0] == "ok"
    place.server.command("shell", "-c", HOLD.replace("STORE", repr(remote.store)).replace("PLACE", repr("/held")))
    state, sentence = remote.clear()
    assert (state, "legal hold" in sentence, "/memories/held" in sentence) == ("err", True, True)
    left = f"{ROOT}1B\t/memories\n1B\t/memories/held/\n1B\t/memories/held/b.md"
    assert remote.call(command="view", path="/memories") == ["ok", left]
    assert [ok for _, ok, _ in deletes(place, remote.store)] == [True, False, True]


def test_a_hold_on_what_the_api_does_not_list_is_told(remote: Remote, place: Place) -> None:
    assert remote.call(command="create", path=MARKER, file_text="x")[0] == "ok"
    held = HOLD.replace("STORE", repr(remote.store)).replace("PLACE", repr("/.anthropic-memory-store"))
    place.server.command("shell", "-c", held)
    state, sentence = remote.clear()
    assert (state, "legal hold" in sentence) == ("err", True)


def test_a_key_that_may_not_write_is_told_what_the_hub_says(remote: Remote, place: Place) -> None:
    assert remote.call(command="create", path="/memories/a.md", file_text="x")[0] == "ok"
    reader = type(remote.tool)(place.url, place.reader, remote.store)
    weak = Remote(reader, remote.run, remote.store)
    assert weak.clear() == ["err", "Error: this key may not write to this memory store"]
    wrong = Remote(type(remote.tool)(place.url, "mh_wrong", remote.store), remote.run, remote.store)
    with pytest.raises(HubError, match="HTTP 401"):
        wrong.clear()
    assert remote.call(command="view", path="/memories/a.md")[0] == "ok"


PROPOSING = """
from dataclasses import replace
from django.utils import timezone
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.stores import path_rules, stores
from memoryhub.models import Door, MemoryStore
from memoryhub.pure.path_rules import Effect, PathRule
store = MemoryStore.objects.get(pk=STORE)
by = dict(actor=Actor.system("tests"), door=Door.COMMAND, at=timezone.now())
stores.edit_store(store, replace(stores.StoreSettings.of(store), proposes_without_error=True), **by)
path_rules.save(store.pk, [PathRule(Effect.PROPOSE, "/kept/")], path_rules.digest(()), Act(*by.values()))
"""


def test_a_delete_that_became_a_proposal_without_an_error_is_told_and_not_sent_for_ever(
    remote: Remote, place: Place
) -> None:
    for path in ("/memories/a.md", "/memories/kept/b.md"):
        assert remote.call(command="create", path=path, file_text="x")[0] == "ok"
    place.server.command("shell", "-c", PROPOSING.replace("STORE", repr(remote.store)))
    state, sentence = remote.clear()
    assert state == "err" and sentence.startswith("Not written: this change is now part of proposal #")
    assert [path for path, _, _ in deletes(place, remote.store)] == ["/a.md", "/kept"]


LIMIT = """
from dataclasses import replace
from django.utils import timezone
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import Door, MemoryStore
store = MemoryStore.objects.get(pk=STORE)
by = dict(actor=Actor.system("tests"), door=Door.COMMAND, at=timezone.now())
for number in range(5):
    curation.create(store.pk, f"/{number}.md", "x", Act(*by.values()))
limits = stores.StoreSettings.of(store).limits | {"limit_calls": 4}
stores.edit_store(store, replace(stores.StoreSettings.of(store), limits=limits), **by)
"""


def test_a_message_has_no_more_deletes_than_the_limit_of_calls(remote: Remote, place: Place) -> None:
    """The rest has to wait for a minute, which a client without retries does not."""
    place.server.command("shell", "-c", LIMIT.replace("STORE", repr(remote.store)))
    hasty = Remote(type(remote.tool)(place.url, place.key, remote.store, max_retries=0), remote.run, remote.store)
    with pytest.raises(HubError, match="HTTP 429"):
        hasty.clear()
    assert [path for path, _, _ in deletes(place, remote.store)] == ["/0.md", "/1.md"]
    hasty.wait(hasty.tool.close())
