"""Exports through the page, the API and the command: who may, what is masked, and what is said of it."""

import io
import json
import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import Wanted, rows as exporting_rows
from memoryhub.management.commands.export_store import _opened
from memoryhub.models import Access, AuditEntry, Memory, MemoryStore, MemoryVersion, Role, User
from memoryhub.pure.transfer.archive import write as archive_write
from memoryhub.pure.transfer.bundle import Author, BundledVersion
from memoryhub.pure.transfer.git import write as git_write
from memoryhub.pure.transfer.jsonl import write as jsonl_write
from memoryhub.pure.transfer.jsonl.write import Counts
from memoryhub.pure.transfer.written import About, WrittenVersion
from tests.api.harness import Answer, Hub
from tests.support.fixtures import AT, BY, signed_in
from tests.support.write_guard import tampering
from tests.transfer.exported import Repository, act, archive, export, lines_of, of_type
from tests.web.findings.flagged import CARD, DIGITS, with_card
from tests.web.history.versions import Caller
from tests.web.memories.pages import newest, page, write

pytestmark = pytest.mark.django_db


def posted(user: User, store: MemoryStore, query: str = "", **fields: str) -> bytes:
    answer = signed_in(user).post(reverse("export_store", args=[store.id]) + query, fields)
    assert answer.status_code == 200 and answer.streaming
    return b"".join(answer.streaming_content)


class TestPage:
    def test_it_says_what_each_format_is_and_how_much_there_is(self, store: MemoryStore, bob: User) -> None:
        write(store, "/notes/a.md", "12345")
        before = AuditEntry.objects.count()
        html = page(signed_in(bob), reverse("export_store", args=[store.id]))
        assert "1 memory with 5 B of text" in html and html.count('name="format"') == 3
        assert "As a viewer" in html and "audit entries are included" not in html
        assert "in /notes" in page(signed_in(bob), reverse("export_store", args=[store.id]) + "?path=/notes")
        assert AuditEntry.objects.count() == before

    def test_each_format_is_a_download_with_its_name(self, store: MemoryStore, alice: User) -> None:
        write(store, "/notes/a.md")
        write(store, "/b.md")
        for form, ending in exporting.ENDINGS.items():
            answer = signed_in(alice).post(reverse("export_store", args=[store.id]), {"format": form, "history": "1"})
            assert answer.streaming and answer.headers["Content-Type"] == exporting.TYPES[form]
            kept = answer.headers["Content-Disposition"]
            assert kept.startswith('attachment; filename="support-') and kept.endswith(f'.{ending}"')
            assert (newest(store).command, newest(store).actor_id) == ("export", alice.id)
            assert json.loads(str(newest(store).input))["format"] == form
            assert b"b.md" in b"".join(answer.streaming_content)
        lines = lines_of(posted(alice, store, "?path=/notes", format="jsonl", history="1"))
        assert [line["path"] for line in of_type(lines, "memory")] == ["/notes/a.md"]
        assert of_type(lines_of(posted(alice, store, format="jsonl", history="1")), "entry", "proof")
        assert not of_type(lines_of(posted(alice, store, format="jsonl")), "entry", "proof")

    def test_another_format_is_asked_for_again(self, store: MemoryStore, bob: User) -> None:
        before = AuditEntry.objects.count()
        for given in ({}, {"format": "tar"}):
            answer = signed_in(bob).post(reverse("export_store", args=[store.id]), given)
            assert answer.status_code == 200 and "Choose one of the formats." in answer.content.decode()
        assert AuditEntry.objects.count() == before

    def test_what_is_not_there_is_404(self, store: MemoryStore, bob: User, charlie: User) -> None:
        url = reverse("export_store", args=[store.id])
        for query in ("?path=/nowhere", "?path=/../x", "?path=x", "?path=/a%0Ab"):
            answer = signed_in(bob).post(url + query, {"format": "zip"})
            assert answer.status_code == 404 and "There is no such directory" in answer.content.decode(), query
        assert signed_in(charlie).post(url, {"format": "zip"}).status_code == 404
        assert newest(store).command != "export"

    def test_the_pages_link_to_it(self, store: MemoryStore, bob: User) -> None:
        write(store, "/no tes/a.md")
        url = reverse("export_store", args=[store.id])
        assert f'href="{url}"' in page(signed_in(bob), reverse("store", args=[store.id]))
        assert f'href="{url}?path=%2Fno%20tes"' in page(signed_in(bob), reverse("directory", args=[store.id, "no tes"]))


class TestMasking:
    def test_a_viewer_gets_what_pages_show_and_a_curator_the_texts(
        self, store: MemoryStore, key: str, bob: User, alice: User
    ) -> None:
        with_card(Caller(store, key))
        for form in exporting.FORMATS:
            for history in ({}, {"history": "1"}):
                whole = posted(alice, store, format=form, **history)
                seen = posted(bob, store, format=form, **history)
                if form == "zip":
                    texts, manifest, told = archive(seen)
                    seen = json.dumps([texts, manifest, told]).encode()
                    whole = json.dumps(archive(whole)).encode()
                assert CARD.encode() in whole and not any(digits.encode() in seen for digits in DIGITS), form
        lines = lines_of(posted(bob, store, format="jsonl", history="1"))
        assert lines[0]["masked"] and not lines[0]["audit"] and not of_type(lines, "entry", "proof")
        assert [line["sha256"] for line in of_type(lines, "version")] == [None] * 3
        ticked = {"id": Memory.objects.get(store=store).pk, "format": "git"}
        answer = signed_in(bob).post(reverse("selection", args=[store.id]), ticked)
        assert CARD.encode() not in b"".join(answer.streaming_content)

    def test_a_masked_export_is_never_written_without_a_mask(self, store: MemoryStore) -> None:
        with pytest.raises(ValueError, match="mask"):
            exporting.begin(store.id, Wanted("zip", masked=True), act()).body()


class TestAPI:
    def asked(self, store: MemoryStore, secret: str, body: object, **headers: str) -> tuple[Answer | None, bytes]:
        """An error as an answer, or the bytes."""
        hub = Hub(store, secret)
        response = hub.client.post(
            f"/v1/memory_stores/{store.id}/export", json.dumps(body), "application/json",
            headers={"authorization": f"Bearer {secret}"} | headers,
        )  # fmt: skip
        if response.streaming:
            assert response.status_code == 200 and response.headers["request-id"]
            return None, b"".join(response.streaming_content)
        return Answer(response.status_code, {}, response.content), b""

    def keys(self, store: MemoryStore, agent: Any) -> dict[str, str]:
        return {one.value: keys_and_roles.issue_key(agent, stores=[store], access=one, **BY)[1] for one in Access}

    def test_a_key_exports_what_it_may_read_and_only_manage_the_audit(self, store: MemoryStore, agent: Any) -> None:
        write(store, "/a/b.md", "text")
        write(store, "/c.md", "more")
        keys = self.keys(store, agent)
        for form in exporting.FORMATS:
            body = self.asked(store, keys["read"], {"format": form, "history": False})[1]
            assert b"b.md" in body and b"c.md" in body
        entry = newest(store)
        assert (entry.command, entry.door, entry.ok, entry.actor_kind) == ("export", "api", True, "key")
        lines = lines_of(self.asked(store, keys["manage"], {"format": "jsonl"})[1])
        assert len(of_type(lines, "entry")) == newest(store).seq == lines[0]["seq"]
        before = newest(store).seq
        refused = self.asked(store, keys["write"], {"format": "jsonl"})[0]
        assert refused is not None and refused.status == 403 and "manage" in refused.value["error"]["message"]
        assert newest(store).seq == before and AuditEntry.objects.of_chain("hub").newest()[0].ok is False
        lines = lines_of(self.asked(store, keys["read"], {"format": "jsonl", "path_prefix": "/a/"})[1])
        assert [line["path"] for line in of_type(lines, "memory")] == ["/a/b.md"]

    def test_notes_of_deletions_which_people_wrote_need_manage(self, store: MemoryStore, agent: Any) -> None:
        write(store, "/a/b.md", "text")
        write(store, "/a/c.md", "more")
        curation.delete(store.pk, "/a/b.md", act()._replace(note="Zoe complained"))
        for access, has_note in (("read", False), ("write", False), ("manage", True)):
            secret = keys_and_roles.issue_key(agent, stores=[store], access=Access(access), **BY)[1]
            lines = lines_of(self.asked(store, secret, {"format": "jsonl", "path_prefix": "/a/"})[1])
            assert any("note" in line for line in of_type(lines, "version")) is has_note, access

    def test_bad_requests_are_answered_in_the_envelope(self, store: MemoryStore, key: str) -> None:
        cases = [
            ({}, 400), ({"format": "tar"}, 400), ({"format": 1}, 400), ({"format": "zip", "history": "no"}, 400),
            ({"format": "zip", "path_prefix": "a"}, 400), ({"format": "zip", "path_prefix": "/nowhere"}, 404),
            ({"format": "zip", "path_prefix": "/" * 2000}, 400),
        ]  # fmt: skip
        for body, status in cases:
            answer = self.asked(store, key, body)[0]
            assert answer is not None and answer.status == status, body
            assert answer.value["type"] == "error" and answer.value["error"]["message"]
        assert newest(store).command != "export"

    def test_the_audit_tells_of_it_in_words(self, store: MemoryStore, key: str, bob: User) -> None:
        write(store, "/a.md")
        self.asked(store, key, {"format": "zip"}, **{"Memoryhub-Session": "run-7"})
        assert (newest(store).command, newest(store).session is not None) == ("export", True)
        assert "exported 1 memory as zip: /" in page(
            signed_in(bob), reverse("entry", args=[store.id, newest(store).seq])
        )


class TestCommand:
    def run(self, *words: str) -> str:
        told = io.StringIO()
        call_command("export_store", *words, stderr=told)
        return told.getvalue()

    def test_each_format_is_written_whole(self, store: MemoryStore, tmp_path: Path) -> None:
        write(store, "/a/b.md", "text\n")
        write(store, "/c.md")
        for form in exporting.FORMATS:
            target = tmp_path / f"x.{form}"
            told = self.run(store.id, "--format", form, "--output", str(target))
            assert f"2 versions, {target.stat().st_size} bytes: {target}" in told
            assert target.stat().st_mode & 0o777 == 0o600
            assert (newest(store).command, newest(store).door, newest(store).label) == (
                "export", "command", "export_store",
            )  # fmt: skip
        assert archive((tmp_path / "x.zip").read_bytes())[0] == {"a/b.md": "text\n", "c.md": "text\n"}
        assert Repository.of((tmp_path / "x.git").read_bytes(), tmp_path / "copy").tree()["a/b.md"] == "text\n"
        told = self.run(store.id, "--path", "/a", "--no-history", "--output", str(tmp_path / "y.zip"))
        assert told.startswith("1 memories, 1 versions") and len(list(tmp_path.glob("*.partial"))) == 0

    def test_nothing_is_replaced_without_force(self, store: MemoryStore, tmp_path: Path) -> None:
        target = tmp_path / "there"
        target.write_text("mine")
        with pytest.raises(CommandError, match="--force"):
            self.run(store.id, "--output", str(target))
        assert target.read_text() == "mine" and newest(store).command != "export"
        self.run(store.id, "--output", str(target), "--force")
        assert target.read_bytes().startswith(b"PK")

    def test_two_exports_to_one_file_leave_a_whole_one_and_what_lay_beside_it(
        self, store: MemoryStore, tmp_path: Path
    ) -> None:
        target, beside = tmp_path / "x.zip", tmp_path / "x.zip.partial"
        write(store, "/a.md", "text\n")
        beside.write_text("mine")
        beside.chmod(0o644)
        with _opened(str(target)) as first:
            first.write(b"P" * 1_000_000)
            self.run(store.id, "--output", str(target))
        assert target.read_bytes() == b"P" * 1_000_000, "the export that ended last"
        assert beside.read_text() == "mine" and target.stat().st_mode & 0o777 == 0o600
        assert len(list(tmp_path.iterdir())) == 2

    def test_nothing_that_is_not_a_file_is_replaced(self, store: MemoryStore, tmp_path: Path) -> None:
        target, other = tmp_path / "x.zip", tmp_path / "other"
        other.write_text("mine")
        at = target
        for make in (
            lambda: at.symlink_to(other),
            lambda: at.symlink_to(tmp_path / "nowhere"),
            at.mkdir,
            lambda: os.mkfifo(at),
        ):
            make()
            before = at.lstat()
            for words in ([], ["--force"]):
                with pytest.raises(CommandError, match=f"{at} is not a file"):
                    self.run(store.id, "--output", str(target), *words)
            assert at.lstat() == before and other.read_text() == "mine" and not (tmp_path / "nowhere").exists()
            at.rmdir() if at.is_dir() and not at.is_symlink() else at.unlink()

    def test_a_file_is_on_the_disk_before_it_has_its_name_and_the_name_before_the_command_ends(
        self, store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A power cut after the command leaves a whole export."""
        target, steps, fsync = tmp_path / "x.zip", [], os.fsync

        def noted(descriptor: int) -> None:
            file = Path(f"/proc/self/fd/{descriptor}").readlink()
            steps.append((file.name, file.stat().st_size if file.is_file() else target.exists()))
            fsync(descriptor)

        write(store, "/a.md", "text\n")
        monkeypatch.setattr(os, "fsync", noted)
        self.run(store.id, "--output", str(target))
        (written, size), named = steps
        assert written.startswith("x.zip.") and written.endswith(".partial") and size == target.stat().st_size
        assert named == (tmp_path.name, True)

    def test_it_writes_to_a_pipe(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        pipe = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", pipe)
        self.run(store.id, "--format", "jsonl", "--output", "-")
        assert lines_of(pipe.buffer.getvalue())[-1]["type"] == "end"  # type: ignore[attr-defined]

    def test_what_is_not_there_is_said(self, store: MemoryStore, tmp_path: Path) -> None:
        for words in (["memstore_x"], [store.id, "--path", "/nowhere"], [store.id, "--output", "/nowhere/x.zip"]):
            with pytest.raises(CommandError):
                self.run(*words)


class TestWhileOthersWrite:
    @pytest.mark.both_databases
    def test_it_is_as_of_its_entry(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(exporting_rows, "PART", 2)
        monkeypatch.setattr(exporting_rows, "BRIEF", 3)
        made = [write(store, f"/{number}.md", str(number)) for number in range(7)]
        begun = {form: exporting.begin(store.id, Wanted(form), act()) for form in exporting.FORMATS}
        bodies = {form: export.body() for form, export in begun.items()}
        begins = {form: next(body) for form, body in bodies.items()}
        curation.edit(store.id, made[5].id, "changed", made[5].sha256, act())
        curation.delete(store.id, "/6.md", act())
        curation.rename(store.id, "/4.md", "/moved.md", act())
        write(store, "/99.md")
        whole = {form: begins[form] + b"".join(body) for form, body in bodies.items()}
        expected = {f"/{number}.md": str(number) for number in range(7)}
        lines = lines_of(whole["jsonl"])
        assert {line["path"]: line["content"] for line in of_type(lines, "version")} == expected
        assert not any(line["deleted"] for line in of_type(lines, "memory"))
        assert max(line["seq"] for line in of_type(lines, "entry")) == lines[0]["seq"] and not lines[-1]["changed"]
        assert {"/" + name: text for name, text in archive(whole["zip"])[0].items()} == expected
        tree = Repository.of(whole["git"], tmp_path / "copy").tree()
        assert {"/" + name: text for name, text in tree.items()} == expected

    def test_it_says_when_something_was_redacted_meanwhile(self, store: MemoryStore) -> None:
        memory = write(store, "/a.md", "one")
        curation.edit(store.id, memory.id, "two", memory.sha256, act())
        begun = exporting.begin(store.id, Wanted("jsonl"), act())
        redaction.redact_version(store.id, memory.head_id, act())
        lines = lines_of(b"".join(begun.body()))
        assert lines[-1]["changed"] and [line["content"] for line in of_type(lines, "version")] == [None, "two"]

    def test_memories_that_change_places_in_one_act_do_not_remove_each_other(self, tmp_path: Path) -> None:
        def version(id: str, memory: str, number: int, path: str, old: str | None) -> WrittenVersion:
            told = BundledVersion(id, number, "modified" if old else "created", path, memory, AT, None)
            return WrittenVersion(told, memory, old_path=old)

        moves = [
            version("1", "A", 1, "/a", None), version("2", "B", 1, "/b", None),
            version("3", "A", 2, "/b", "/a"), version("4", "B", 2, "/a", "/b"),
        ]  # fmt: skip
        stream = b"".join(git_write.stream(about(), moves, Counts()))
        assert Repository.of(stream, tmp_path / "copy").tree() == {"a": "B", "b": "A"}


def about() -> About:
    return About("https://hub.example", {"id": "memstore_x", "name": "x"}, AT, 1)


class TestLargeStores:
    def test_the_writers_hold_little_however_much_there_is(self) -> None:
        def versions() -> Iterator[WrittenVersion]:
            who = Author("api_actor", "apikey_1", "bot")
            for number in range(400):
                text = f"{number}\n" * 6000
                told = BundledVersion(f"memver_{number}", 1, "created", f"/d/{number}", text, AT, who)
                yield WrittenVersion(told, f"mem_{number}", memory_path=f"/d/{number}")

        for write_all in (
            lambda: jsonl_write.memories(versions(), Counts()),
            lambda: git_write.stream(about(), versions(), Counts()),
            lambda: archive_write.archive(about(), versions(), None),
        ):
            assert peak(write_all()) < 6_000_000

    @pytest.mark.push
    def test_rows_are_read_a_few_at_a_time(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exporting_rows, "PART", 5)
        memory = write(store, "/0.md", "x")
        for number in range(60):
            text = f"line {number}\n" * 6000
            curation.edit(store.id, memory.id, text, memory.sha256, act())
            memory.refresh_from_db()
        total = sum(MemoryVersion.objects.filter(store=store).values_list("size", flat=True))
        for form in exporting.FORMATS:
            begun = exporting.begin(store.id, Wanted(form), act())
            assert peak(begun.body()) < total / 2, form


def peak(body: Iterator[bytes]) -> int:
    """The most bytes that were held at once while it was read."""
    tracemalloc.start()
    try:
        for _ in body:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_every_role_may_export(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md")
    for role in Role:
        keys_and_roles.set_role(store, bob, role, **BY)
        assert archive(posted(bob, store, format="zip"))[0] == {"a.md": "text\n"}


@pytest.mark.both_databases
def test_a_memory_whose_paths_were_redacted_is_exported_without_them(store: MemoryStore, tmp_path: Path) -> None:
    memory = write(store, "/anna.md", "about Anna")
    curation.delete(store.id, "/anna.md", act())
    with tampering():
        versions = MemoryVersion.objects.filter(memory=memory)
        versions.update(path=None, text=None, sha256=None, redacted_at=AT)
    lines = lines_of(export(store, "jsonl"))
    assert [(line["path"], line["deleted"]) for line in of_type(lines, "memory")] == [("", True)]
    assert [(line["path"], line["redacted"]) for line in of_type(lines, "version")] == [(None, True)] * 2
    repository = Repository.of(export(store, "git"), tmp_path / "copy")
    assert [commit.trailers["Path"] for commit in repository.commits()] == ["null"] * 2 and repository.tree() == {}


def test_a_prefix_names_a_directory_with_or_without_a_slash_at_its_end() -> None:
    given = ("/notes/", "/notes", "/", "")
    assert [exporting.directory_of(prefix) for prefix in given] == ["/notes", "/notes", "", ""]
