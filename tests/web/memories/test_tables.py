"""Exports of memories and tables: what leaves the hub, whole, audited, and harmless to what it is put on."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import curation
from memoryhub.models import HUB, AuditEntry, Directory, HoldKind, Memory, MemoryStore, User
from memoryhub.pure.chain import moment
from tests.support.fixtures import BY, signed_in
from tests.transfer.exported import archive, lines_of, of_type
from tests.web.memories.pages import HOSTILE, TEXTS, act, newest, write
from tests.web.retention.pages import policy

pytestmark = pytest.mark.django_db


def export(user: User, store: MemoryStore, **fields: object) -> bytes:
    answer = signed_in(user).post(reverse("selection", args=[store.id]), fields)
    assert answer.status_code == 200 and answer.streaming
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="support-')
    return b"".join(answer.streaming_content)


def table(user: User, url: str, **fields: str) -> tuple[list[dict[str, str]], list[dict[str, object]]]:
    """The rows as CSV and as JSON have them."""
    answers = [signed_in(user).post(url, {"format": form, **fields}) for form in ("csv", "json")]
    assert [answer.status_code for answer in answers] == [200, 200]
    bodies = [b"".join(answer.streaming_content).decode("utf-8-sig") for answer in answers]
    return list(csv.DictReader(io.StringIO(bodies[0], newline=""))), json.loads(bodies[1])


class TestMemories:
    def test_an_archive_holds_the_texts_at_their_paths_and_a_manifest(self, store: MemoryStore, bob: User) -> None:
        for number, text in enumerate(TEXTS):
            write(store, f"/a/{number}/x.md", text)
        write(store, "/not/this.md")
        texts, manifest, history = archive(export(bob, store, format="zip", everything="1", **{"in": "/a"}))
        assert texts == {f"a/{number}/x.md": text for number, text in enumerate(TEXTS)} and history is None
        assert (manifest[0]["source"]["store"], manifest[0]["seq"]) == (store.id, newest(store).seq)

    def test_the_others_hold_the_history_of_what_was_ticked(self, store: MemoryStore, bob: User) -> None:
        one, two = write(store, "/a.md", HOSTILE), write(store, "/b/c.md", "日本語\r\n")
        write(store, "/no.md")
        curation.edit(store.id, one.id, "new", one.sha256, act())
        ticked = {"id": [one.id, Directory.objects.get(store=store, path="/b").pk]}
        lines = of_type(lines_of(export(bob, store, format="jsonl", **ticked)), "version")
        assert [line["content"] for line in lines if line["memory"] == one.id] == [HOSTILE, "new"]
        assert [line["content"] for line in lines if line["memory"] == two.id] == ["日本語\r\n"]
        assert {line["memory"] for line in lines} == {one.id, two.id}
        stream = export(bob, store, format="git", **ticked)
        assert stream.count(b"\nMemoryhub-Version: ") == 3 and b"no.md" not in stream

    def test_it_is_audited_before_the_first_byte(self, store: MemoryStore, bob: User) -> None:
        write(store, "/a.md")
        answer = signed_in(bob).post(
            reverse("selection", args=[store.id]), {"format": "zip", "everything": "1", "in": ""}
        )
        entry = newest(store)
        assert (entry.command, entry.actor_id, entry.path) == ("export", bob.id, None)
        assert json.loads(str(entry.input))["memories"] == 1
        assert answer.streaming

    @pytest.mark.parametrize("form", ["", "tar", "ZIP"])
    def test_another_form_is_refused(self, store: MemoryStore, bob: User, form: str) -> None:
        write(store, "/a.md")
        before = AuditEntry.objects.count()
        given = {"act": "export", "format": form, "everything": "1", "in": ""}
        assert signed_in(bob).post(reverse("selection", args=[store.id]), given).status_code == 400
        assert AuditEntry.objects.count() == before

    def test_what_is_gone_is_not_exported(self, store: MemoryStore, bob: User) -> None:
        answer = signed_in(bob).post(
            reverse("selection", args=[store.id]), {"format": "zip", "everything": "1", "in": "/nowhere"}
        )
        assert "The selected items no longer exist" in answer.content.decode()


class TestTables:
    def test_the_versions_of_a_memory(self, store: MemoryStore, bob: User) -> None:
        one = write(store, "/=1+1.md", "1")
        curation.edit(store.id, one.id, "22", one.sha256, act())
        url = reverse("export_versions", args=[store.id, one.id])
        rows, objects = table(bob, url)
        assert [row["number"] for row in rows] == ["2", "1"] and [row["size"] for row in objects] == [2, 1]
        assert rows[0]["path"] == "/=1+1.md" and rows[0]["by"] == "tests"
        assert newest(store).command == "export_table"
        told = json.loads(str(newest(store).input))
        assert (told["table"], told["memory"]) == ("versions", one.id)

    def test_the_trash_with_the_filter_of_its_page(self, store: MemoryStore, bob: User, alice: User) -> None:
        for path in ("/a/1.md", "/a/2.md", "/b.md"):
            write(store, path)
        curation.delete(store.id, "/a", act(alice))
        curation.delete(store.id, "/b.md", act())
        url = reverse("export_trash", args=[store.id])
        rows, objects = table(bob, url, path="/a/")
        assert {row["path"] for row in rows} == {row["path"] for row in objects} == {"/a/1.md", "/a/2.md"}
        assert {row["deleted_by"] for row in rows} == {"Alice"}
        assert json.loads(str(newest(store).input))["filter"] == "path:/a/"
        assert signed_in(bob).post(url, {"q": "door:web"}).status_code == 400

    def test_the_trash_says_until_when_each_is_kept(self, store: MemoryStore, bob: User) -> None:
        policy(store, trash_days=30)
        for path in ("/due.md", "/pinned.md"):
            write(store, path)
            curation.delete(store.id, path, act())
        holds.place(store.id, act(), kind=HoldKind.PIN, reason="needed", path="/pinned.md")
        rows, objects = table(bob, reverse("export_trash", args=[store.id]))
        deleted = Memory.objects.get(path="/due.md").deleted_at
        assert deleted is not None
        until = {"/due.md": moment(deleted + timedelta(days=30)), "/pinned.md": None}
        assert {row["path"]: row["kept_until"] for row in objects} == until
        assert {row["path"]: row["kept_until"] or None for row in rows} == until

    def test_the_agents_that_one_sees(self, superuser: User, charlie: User, key: str) -> None:
        keys_and_roles.create_agent('=HYPERLINK("x")', **BY)
        url = reverse("export_agents")
        rows, objects = table(superuser, url)
        assert {row["name"] for row in objects} == {'=HYPERLINK("x")', "Support bot"}
        assert '\'=HYPERLINK("x")' in {row["name"] for row in rows}
        assert AuditEntry.objects.of_chain(HUB).newest()[0].command == "export_table"
        for query in ("SUPPORT", key[-4:]):
            assert [row["name"] for row in table(superuser, url, q=query)[1]] == ["Support bot"]
        assert table(charlie, url) == ([], [])

    def test_who_may_not_see_may_not_export(self, store: MemoryStore, charlie: User, bob: User) -> None:
        one = write(store, "/a.md")
        for name, args in (("export_trash", [store.id]), ("export_versions", [store.id, one.id])):
            url = reverse(name, args=args)
            assert signed_in(charlie).post(url, {"format": "csv"}).status_code == 404
            assert Client().post(url).status_code == 302
            assert signed_in(bob).get(url).status_code == 405
            assert signed_in(bob).post(url, {"format": "xml"}).status_code == 400
        missing = reverse("export_versions", args=[store.id, "mem_" + "0" * 26])
        assert signed_in(bob).post(missing, {"format": "csv"}).status_code == 404

    def test_the_pages_offer_them(self, store: MemoryStore, bob: User, superuser: User) -> None:
        one = write(store, "/a.md")
        for name, args, person in (
            ("trash", [store.id], bob), ("versions", [store.id, one.id], bob), ("agents", [], superuser)
        ):  # fmt: skip
            keys_and_roles.create_agent(f"Agent {name}", **BY)
            html = signed_in(person).get(reverse(name, args=args)).content.decode()
            assert f'action="{reverse("export_" + name, args=args)}"' in html
