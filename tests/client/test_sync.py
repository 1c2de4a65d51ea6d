"""A directory and a memory store in step, by the command `hub-memory-sync` of the client's package."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

from memoryhub.actions.core.audit import Act
from memoryhub.actions.findings.rules import save_rules
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.stores.stores import StoreSettings, edit_store
from memoryhub.client import folder as files, sync as syncing
from memoryhub.client.folder import Busy
from memoryhub.client.sync import Ended, Sync
from memoryhub.models import AuditEntry, MemoryStore, Proposal, User
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import BY, new_secret
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.claude_runs.running import by
from tests.support.sdk import sdk

pytestmark = pytest.mark.django_db
ACE = "The card is 4111 1111 1111 1111.\n"


class Place:
    """A directory, the store with which it is kept in step, and what the command said since the last look."""

    def __init__(self, store: MemoryStore, root: Path, path: str = "/") -> None:
        root.mkdir(exist_ok=True)
        self.store, self.root, self.path, self.secret = store, root, path, new_secret(store)
        self.said: list[str] = []
        self.others = sdk(new_secret(store)).beta.memory_stores.memories
        self.start()

    def start(self) -> None:
        """The command as it is after a start: what it knows is in the directory."""
        self.sync = Sync(sdk(self.secret), self.store.pk, self.path, self.root, self.said.append)

    def look(self) -> list[str]:
        self.said.clear()
        self.sync.look()
        return list(self.said)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    @property
    def here(self) -> dict[str, str]:
        found = (file for file in self.root.rglob("*") if file.is_file() and files.OWN not in file.parts)
        return {f"/{file.relative_to(self.root).as_posix()}": file.read_text() for file in found}

    @property
    def aside(self) -> list[str]:
        """The texts that the hub did not take."""
        refused = self.root / files.OWN / "refused"
        return sorted(file.read_text() for file in refused.rglob("*") if file.is_file())

    @property
    def there(self) -> dict[str, str]:
        return texts(self.store)

    def change(self, path: str, text: str | None) -> None:
        """Another agent creates, changes or deletes a memory."""
        found: Any = {item.path: item.id for item in self.others.list(self.store.pk) if item.type == "memory"}
        if text is None:
            self.others.delete(found[path], memory_store_id=self.store.pk)
        elif path in found:
            self.others.update(found[path], memory_store_id=self.store.pk, content=text)
        else:
            self.others.create(self.store.pk, path=path, content=text)


@pytest.fixture
def place(store: MemoryStore, tmp_path: Path) -> Place:
    """With two memories, in step."""
    made = Place(store, tmp_path / "memory")
    made.write("MEMORY.md", "- [Tests](topics/tests.md)\n")
    made.change("/topics/tests.md", "Run them.\n")
    made.look()
    return made


def test_a_name_that_is_not_utf8_ends_nothing(place: Place) -> None:
    for name in (b"caf\xe9.md", b"d\xe9p\xf4t/a.md", b"other.md"):
        place.write(os.fsdecode(name), "x\n")
    assert place.look() == ["sent      other.md"] and place.look() == []


@pytest.mark.both_databases
def test_both_sides_follow_each_other(place: Place) -> None:
    assert (
        place.here == place.there == {"/MEMORY.md": "- [Tests](topics/tests.md)\n", "/topics/tests.md": "Run them.\n"}
    )
    assert place.look() == [], "nothing to do"
    place.write("topics/tests.md", "Run them twice.\n")
    place.write("topics/new/é.md", "")
    place.change("/MEMORY.md", "Changed.\r\n")
    place.start()
    assert place.look() == ["brought   MEMORY.md", "sent      topics/new/é.md", "sent      topics/tests.md"]
    assert (place.root / "MEMORY.md").read_bytes() == b"Changed.\r\n"
    assert place.there == {
        "/MEMORY.md": "Changed.\r\n",
        "/topics/tests.md": "Run them twice.\n",
        "/topics/new/é.md": "",
    }
    (place.root / "MEMORY.md").unlink()
    place.change("/topics/new/é.md", None)
    place.start()
    assert place.look() == ["deleted   MEMORY.md: on the hub", "deleted   topics/new/é.md"]
    assert place.here == place.there == {"/topics/tests.md": "Run them twice.\n"}
    assert not (place.root / "topics/new").exists() and place.look() == []
    newest = AuditEntry.objects.of_chain(place.store.pk).filter(command="delete").order_by("seq").first()
    assert newest is not None and newest.door == "api"


def test_a_directory_of_a_store_is_kept_in_step_with_nothing_else(store: MemoryStore, tmp_path: Path) -> None:
    place = Place(store, tmp_path / "one", "/projects/one/")
    place.write("MEMORY.md", "mine\n")
    place.change("/MEMORY.md", "of all\n")
    place.change("/projects/one/a.md", "a\n")
    place.look()
    assert place.there == {"/MEMORY.md": "of all\n", "/projects/one/a.md": "a\n", "/projects/one/MEMORY.md": "mine\n"}
    assert place.here == {"/MEMORY.md": "mine\n", "/a.md": "a\n"}
    with pytest.raises(Ended, match="another directory"):
        Place(store, tmp_path / "one")


def test_a_conflict_loses_nothing(place: Place) -> None:
    place.write("topics/tests.md", "Mine.\n")
    place.change("/topics/tests.md", "Theirs.\n")
    (line,) = place.look()
    assert "changed on both sides" in line and "topics/tests.conflict-" in line
    place.look()
    assert place.here == place.there and place.there["/topics/tests.md"] == "Theirs.\n"
    beside = next(path for path in place.there if "conflict" in path)
    assert re.fullmatch(r"/topics/tests\.conflict-[0-9a-f]{8}\.md", beside) and place.there[beside] == "Mine.\n"


def test_what_was_changed_wins_over_a_deletion(place: Place) -> None:
    (place.root / "MEMORY.md").unlink()
    place.change("/MEMORY.md", "Still needed.\n")
    place.write("topics/tests.md", "Still needed here.\n")
    place.change("/topics/tests.md", None)
    place.look()
    assert place.here == place.there == {"/MEMORY.md": "Still needed.\n", "/topics/tests.md": "Still needed here.\n"}


def test_a_directory_that_is_emptied_is_filled_again(place: Place) -> None:
    before = place.there
    for path in before:
        (place.root / path[1:]).unlink()
    assert "come back" in place.look()[0]
    assert place.here == place.there == before


def test_what_a_rule_refuses_is_not_kept_in_the_file(place: Place) -> None:
    set_rules(place.store, PathRule(Effect.REFUSE, "/topics/", reason="Ask in #support."))
    before = place.there
    place.write("topics/tests.md", "Never run them.\n")
    place.write("topics/new.md", "New.\n")
    told = place.look()
    assert place.here == place.there == before
    assert place.aside == ["Never run them.\n", "New.\n"]
    assert "put back  topics/new.md" in told[0] and "Ask in #support." in told[0] and files.OWN in told[0]
    assert not any(path.name.endswith(".md") for path in (place.root / files.OWN).rglob("*"))
    (place.root / "topics/tests.md").unlink()
    place.look()
    assert place.here == place.there == before and place.look() == []


@pytest.mark.parametrize("is_merged", [True, False])
def test_a_proposal_waits_for_a_person(place: Place, alice: User, is_merged: bool, monkeypatch: Any) -> None:
    set_rules(place.store, PathRule(Effect.PROPOSE))
    monkeypatch.setattr(syncing, "PROPOSALS_EVERY", 0)
    before = place.there
    place.write("topics/tests.md", "Run them twice.\n")
    (place.root / "MEMORY.md").unlink()
    assert [line.partition(":")[0] for line in place.look()] == ["proposed  MEMORY.md", "proposed  topics/tests.md"]
    place.start()
    assert place.look() == [] and place.here == {"/topics/tests.md": "Run them twice.\n"} and place.there == before
    proposal = Proposal.objects.get()
    if is_merged:
        decide.merge(place.store.pk, 1, {}, proposal_plan(proposal).digest, by(alice))
        set_rules(place.store)
        place.change("/topics/tests.md", "Run them thrice.\n")
    else:
        decide.refuse(place.store.pk, 1, by(alice), seen=decide.seen_of(proposal))
    told = place.look()
    assert place.here == place.there == ({"/topics/tests.md": "Run them thrice.\n"} if is_merged else before)
    assert place.aside == ([] if is_merged else ["Run them twice.\n"])
    assert any("refused" in line for line in told) is not is_merged
    assert place.look() == []


def test_what_the_hub_cannot_keep_stays_as_it_is_and_is_sent_once(place: Place, tmp_path: Path) -> None:
    (place.root / "link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "outside.md").write_text("secret\n")
    (place.root / "picture.png").write_bytes(b"\x89PNG\xff")
    place.write(".hidden/a.md", "a\n")
    place.change("/.hidden/b.md", "b\n")
    place.write("large.md", "x" * 102_401)
    place.write("topics/nested.md", "fine\n")
    told = place.look()
    assert [line.partition(":")[0] for line in told] == [
        "not sent  large.md", "left out  picture.png", "sent      topics/nested.md",
    ]  # fmt: skip
    assert place.look() == [] and "/.hidden/a.md" not in place.there and "/link.md" not in place.there
    place.write("large.md", "Small enough.\n")
    assert place.look() == ["sent      large.md"]
    (place.root / "out").symlink_to(tmp_path)
    place.change("/out/x.md", "x\n")
    assert "outside" in place.look()[0] and place.look() == [] and not (tmp_path / "x.md").exists()
    place.write("topics/.hidden", "a directory, and nothing in it for the hub\n")
    for path in ("tests.md", "nested.md"):
        (place.root / "topics" / path).unlink()
    place.look()
    place.change("/topics", "A memory now.\n")
    place.change("/large.md", None)
    place.change("/large.md/deep.md", "Beneath.\n")
    place.write("large.md", "A file here.\n")
    told = [line.partition(":")[0] for line in place.look()]
    assert told == ["not sent  large.md", "not here  large.md/deep.md", "not here  topics"] and place.look() == []


@pytest.mark.both_databases
def test_what_a_limit_refused_is_sent_again_after_a_while_though_it_is_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_store(place.store, StoreSettings("Support", limits={"limit_memory_bytes": 10}), **BY)
    place.write("large.md", "More than ten bytes.\n")
    (told,) = place.look()
    assert "It is sent again when it changes, or in 10 minutes." in told
    calls = AuditEntry.objects.of_chain(place.store.pk).filter(command="create")
    before = calls.count()
    place.start()
    assert place.look() == [] and calls.count() == before, "not yet, not even after a start"
    monkeypatch.setattr(syncing, "REFUSED_EVERY", 0)
    assert "not sent  large.md" in place.look()[0] and place.look() == [] and calls.count() == before + 2
    edit_store(place.store, StoreSettings("Support"), **BY)
    assert place.look() == ["sent      large.md"] and place.look() == []


@pytest.mark.parametrize("status", [429, 503, 529, 0])
def test_what_the_hub_cannot_take_now_is_sent_with_the_next_look(
    place: Place, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    def refuse(*_given: object, **_more: object) -> None:
        request = httpx.Request("POST", "http://hub")
        if not status:
            raise anthropic.APITimeoutError(request)
        raise place.sync.client._make_status_error_from_response(httpx.Response(status, request=request))

    place.write("new.md", "New\n")
    monkeypatch.setattr(place.sync.memories, "create", refuse)
    with pytest.raises(anthropic.APIError):
        place.sync.look()
    assert not place.sync.state.refused
    monkeypatch.undo()
    assert place.look() == ["sent      new.md"]


def test_what_the_hub_masks_is_masked_in_the_file(place: Place) -> None:
    save_rules(place.store.pk, {"card": "mask"}, Act(**BY))
    place.write("card.md", ACE)
    assert "masked" in place.look()[1]
    assert place.here == place.there and "4111" not in place.there["/card.md"] and place.aside == [ACE]


@pytest.mark.both_databases
def test_what_an_agent_writes_meanwhile_is_not_overwritten(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    retrieve = place.sync.memories.retrieve

    def slow(*arguments: Any, **options: Any) -> Any:
        place.write("MEMORY.md", "Mine, just now.\n")
        return retrieve(*arguments, **options)

    place.change("/MEMORY.md", "Theirs.\n")
    monkeypatch.setattr(place.sync.memories, "retrieve", slow)
    place.look()
    assert place.here["/MEMORY.md"] == "Mine, just now.\n"
    monkeypatch.undo()
    place.look()
    place.look()
    assert place.here == place.there and set(place.there.values()) > {"Theirs.\n", "Mine, just now.\n"}
    with pytest.raises(Busy):
        place.sync.folder.put("MEMORY.md", b"x", "another digest")


def test_memories_are_listed_again_only_if_there_is_reason(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.look() == []
    asked: list[str] = []
    original = place.sync.memories.list
    monkeypatch.setattr(place.sync.memories, "list", lambda *a, **o: asked.append("list") or original(*a, **o))
    place.look()
    assert asked == [], "one cheap question, and no list"
    monkeypatch.setattr(syncing, "LISTED_EVERY", 0)
    place.look()
    assert asked == ["list"]


class Slept(Exception):
    """The command would sleep."""


def watched(place: Place, looks: list[Exception | None], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let the command look as often as told, each time with this error; return how long it pauses after each."""
    pauses: list[float] = []

    def look() -> None:
        if (error := looks.pop(0)) is not None:
            raise error

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if not looks:
            raise KeyboardInterrupt

    monkeypatch.setattr(place.sync, "look", look)
    monkeypatch.setattr(syncing.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        syncing._watch(place.sync, 5)
    return pauses


def test_a_hub_that_is_down_is_said_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    down: Callable[[], Exception] = lambda: anthropic.APIConnectionError(request=None)  # type: ignore[arg-type] # noqa: E731
    place.said.clear()
    assert watched(place, [down(), down(), None, down(), OSError("disk full")], monkeypatch) == [10, 20, 5, 10, 20]
    assert [line.partition(" ")[0] for line in place.said] == ["The", "Going", "The", "The"]
    assert "does not answer. Trying again." in place.said[0] and "disk full" in place.said[3]


def test_a_key_that_is_refused_ends_the_command(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.secret = "mh_wrong"
    place.start()
    with pytest.raises(Ended, match="refused"):
        syncing._watch(place.sync, 5)
    monkeypatch.delenv("MEMORYHUB_KEY", raising=False)
    assert syncing.main(["--once", "somewhere"]) == 1
    with pytest.raises(Ended, match="for that alone"):
        syncing._directory(Path("~"))
    assert syncing._prefix("notes/deep") == "/notes/deep/" and syncing._prefix("/") == "/"
