"""Comments in exports and imports: conversations come back with their memory, as those of people of another hub."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memoryhub.actions.comments import comments
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import erasure
from memoryhub.actions.findings import rules
from memoryhub.actions.memories import curation
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import items as import_items
from memoryhub.models import AuditEntry, Comment, Memory, MemoryStore, Notice, User
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.jsonl import read as jsonl_read, said
from tests.support.fixtures import BY, new_person, signed_in
from tests.transfer import trips
from tests.transfer.exported import archive, export, lines_of, of_type
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def talked(store: MemoryStore, alice: User) -> MemoryStore:
    """A memory with a resolved conversation on two lines, and one as a whole with a deleted and an edited comment."""
    ann, bob = Actor.person(alice), Actor.person(new_person("Bob Builder"))
    made = curation.create(store.pk, "/a.md", "one\ntwo\nthree\n", trips.act(1, ann))
    memory, first = str(made.memory), str(made.version)
    curation.edit(store.pk, memory, "zero\none\ntwo\n", Memory.objects.get(pk=memory).sha256, trips.act(2, ann))
    lines = comments.write(store.pk, memory, first, (1, 2), "Is this right?", trips.act(3, ann)).comment
    comments.reply(store.pk, lines, "Yes, ask ann@example.com", trips.act(4, bob))
    comments.resolve(store.pk, lines, trips.act(5, bob))
    whole = comments.write(store.pk, memory, first, None, "All of it", trips.act(6, bob)).comment
    gone = comments.reply(store.pk, whole, "Oh", trips.act(7, ann)).comment
    comments.delete(store.pk, gone, trips.act(8, ann), of_others=False)
    comments.edit(store.pk, whole, "Almost all of it", trips.act(9, bob))
    return store


def threads_of(data: bytes) -> list[dict[str, Any]]:
    return [{**one, "memory": None} for one in of_type(lines_of(data), "thread")]


def written(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.both_databases
@pytest.mark.parametrize("form", ["jsonl", "zip"])
def test_they_come_back_as_they_were(form: str, talked: MemoryStore, superuser: User, own_checkpoints: Path) -> None:
    data = export(talked, form, governance=True)
    told = threads_of(written(archive(data)[2] or []) if form == "zip" else data)
    assert [len(one["comments"]) for one in told] == [2, 2] and told[0]["resolved_at"] and not told[1]["resolved_at"]
    assert [(one["first"], one["last"], one["number"]) for one in told] == [(1, 2, 1), (None, None, 1)]
    notices = Notice.objects.count()
    target = trips.new_store("Target")
    job = trips.run(trips.prepared(target, data, minute=9_999_999), minute=9_999_999)
    assert trips.outcomes(job) == {"/a.md": "taken"}
    again = export(target, "jsonl", governance=True)
    assert threads_of(again) == told
    brought = Comment.objects.of_store(target.pk)
    assert brought.filter(by=None, tells=False, agent=None).count() == 4 and Notice.objects.count() == notices
    entry = AuditEntry.objects.of_chain(target.pk).get(command="import")
    assert '"comments": 4' in str(entry.input) or '"comments":4' in str(entry.input)
    trips.require_verified(target, own_checkpoints)
    memory, client = Memory.objects.get(store=target), signed_in(superuser)
    html = client.get(reverse("memory", args=[target.pk, memory.pk])).content.decode()
    assert "Bob Builder (imported)" in html and "Almost all of it" in html and "This comment was deleted." in html
    first = brought.order_by("pk").first_ones().first()
    assert first is not None
    html = client.get(reverse("comment", args=[target.pk, first.pk])).content.decode()
    assert "On lines 2 to 3" in html, "its lines are followed through the versions"
    comments.reply(target.pk, first.pk, "And here?", act(superuser))
    second = trips.run(trips.prepared(target, data, minute=9_999_999), minute=9_999_999)
    assert trips.outcomes(second) == {"/a.md": "same"} and brought.count() == 5, "nothing comes twice"


def test_they_are_only_carried_if_asked_for_and_never_for_viewers(
    talked: MemoryStore, alice: User, bob: User, tmp_path: Path
) -> None:
    for more in ({}, {"governance": True, "history": False}):
        assert not threads_of(export(talked, "jsonl", **more))
    url, asked = reverse("export_store", args=[talked.pk]), {"format": "jsonl", "history": "1", "governance": "1"}
    for person, may in ((alice, True), (bob, False)):
        client = signed_in(person)
        assert ("With proposals, comments and path rules" in client.get(url).content.decode()) == may
        assert (b'"type": "thread"' in b"".join(client.post(url, asked).streaming_content)) == may  # type: ignore[attr-defined]
    out = tmp_path / "out.jsonl"
    call_command("export_store", talked.pk, format="jsonl", governance=True, output=str(out), stderr=io.StringIO())
    assert b'"type": "thread"' in out.read_bytes()
    with pytest.raises(CommandError, match="--governance needs --format jsonl, or zip"):
        call_command("export_store", talked.pk, format="git", governance=True)


OF_A_CONVERSATION: list[dict[str, Any]] = [
    {"comments": []}, {"comments": "x"}, {"comments": [1]}, {"number": 0}, {"number": True}, {"number": 99},
    {"first": 2, "last": 1}, {"first": None}, {"first": "1"}, {"last": 2**70}, {"memory": "mem_other"},
    {"resolved_at": "yesterday"}, {"resolved_at": 5},
]  # fmt: skip
OF_A_COMMENT: list[dict[str, Any]] = [
    {"text": "x" * 4001}, {"text": "\0"}, {"text": "\ud800"}, {"text": None}, {"author": "x" * 1001}, {"author": 1},
    {"author": "\0"}, {"at": None}, {"at": "2026"}, {"edited_at": 1}, {"removed_at": "2026-01-01T00:00:00Z"},
]  # fmt: skip


def test_what_cannot_be_is_refused(talked: MemoryStore) -> None:
    data = export(talked, "jsonl", governance=True)
    assert trips.read(data).bundle.memories[0].threads
    for damage in (*OF_A_CONVERSATION, *OF_A_COMMENT):
        lines = lines_of(data)
        thread = of_type(lines, "thread")[0]
        (thread if damage in OF_A_CONVERSATION else thread["comments"][0]).update(damage)
        with pytest.raises(Refused):
            trips.read(written(lines))


def test_they_are_bounded(talked: MemoryStore) -> None:
    assert (said.MOST_COMMENTS, said.LONGEST_COMMENT) == (comments.MOST, comments.LONGEST)
    lines = lines_of(export(talked, "jsonl", governance=True))
    thread = of_type(lines, "thread")[0]
    thread["comments"] *= 250
    with pytest.raises(Refused, match="A memory has more than 500 comments"):
        trips.read(written(lines))
    thread["comments"] = thread["comments"][:400]
    data = written(lines)
    with pytest.raises(Refused, match="more than 300 comments"):
        jsonl_read.read(data, importing.bounds()._replace(versions=300))
    item = next(iter(import_items.items_of(trips.read(data), "")))
    assert import_items.weight(item) > 400 * 100 and item.comment_count == 402, "an upload is written in pieces"


def test_the_preview_counts_them_and_few_are_taken_up_at_once(talked: MemoryStore, superuser: User) -> None:
    lines = lines_of(export(talked, "jsonl", governance=True))
    of_type(lines, "thread")[0]["comments"] *= 75
    end = next(at for at, one in enumerate(lines) if one["type"] == "end")
    again = [{**one} for one in of_type(lines, "memory", "version", "thread")]
    for one in again:
        one.update({name: f"{one[name]}X" for name in ("id", "memory") if name in one})
        one.update({"path": "/b.md"} if "path" in one else {})
    lines[end:] = [*again, {**lines[end], "memories": 2, "versions": 4}]
    target = trips.new_store("Target")
    job = trips.prepared(target, written(lines))
    assert [item.comment_count for item in job.items.order_by("number")] == [152, 152]
    html = signed_in(superuser).get(reverse("import_", args=[target.pk, job.pk])).content.decode()
    assert html.count("152 comments") == 2
    importing.start(job.pk, trips.act(41))
    importing.step(job.pk, trips.act(41).at)
    assert Comment.objects.of_store(target.pk).count() == 152, "one memory is one transaction"


@pytest.mark.both_databases
def test_what_is_said_obeys_the_rules_and_an_erasure_finds_it(
    talked: MemoryStore, alice: User, own_checkpoints: Path
) -> None:
    lines = lines_of(export(talked, "jsonl", governance=True))
    one, whole = of_type(lines, "thread")
    one["last"], one["comments"][0]["at"] = 1_000, "2999-01-01T00:00:00Z"
    one["comments"][1]["author"], whole["comments"][0]["text"] = "ann@example.com", "Ask Quellenberg"
    whole["comments"][0]["author"] = "Frau Quellenberg"
    target = trips.new_store("Masks")
    rules.save_rules(target.pk, {"email": "mask"}, Act(**BY))
    trips.run(trips.prepared(target, written(lines)))
    brought = Comment.objects.of_store(target.pk)
    assert not [one for one in brought if "ann@" in one.text + one.author_name]
    assert not brought.filter(first__isnull=False).exists(), "a version without these lines: the memory as a whole"
    assert not brought.filter(at__gt=trips.act(41).at).exists()
    found = erasure.search(target.pk, ["Quellenberg"], at=trips.act(50).at)
    erasure.erase(target.pk, ["Quellenberg"], found.digest, trips.act(51, Actor.person(alice)))
    assert not [one for one in brought.all() if "Quellenberg" in one.text + one.author_name]
    trips.require_verified(target, own_checkpoints)
