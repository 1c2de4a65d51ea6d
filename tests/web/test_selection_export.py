"""Exports of memories and tables: what leaves the hub, whole, audited, and harmless to what it is put on."""

import csv
import hashlib
import io
import json
import zipfile

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions import access, curation
from memoryhub.models import HUB, AuditEntry, Directory, Memory, MemoryStore, User
from memoryhub.web import selection_export
from memoryhub.web.selection_names import Names, safe_name
from tests.fixtures import BY, signed_in
from tests.web.memory_pages import HOSTILE, TEXTS, act, newest, write
from tests.write_guard import tampering

pytestmark = pytest.mark.django_db


def export(user: User, store: MemoryStore, **fields: object) -> bytes:
    answer = signed_in(user).post(reverse("selection", args=[store.id]), fields)
    assert answer.status_code == 200 and answer.streaming
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="memories-')
    return b"".join(answer.streaming_content)


def archive(body: bytes) -> tuple[dict[str, str], dict[str, object]]:
    """The texts by their names, and the manifest."""
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        assert len(names) == len(set(names)) and names[-1] == "manifest.json"
        return {name: opened.read(name).decode() for name in names[:-1]}, json.loads(opened.read("manifest.json"))


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
        texts, manifest = archive(export(bob, store, format="zip", everything="1", **{"in": "/a"}))
        assert texts == {f"memories/a/{number}/x.md": text for number, text in enumerate(TEXTS)}
        assert (manifest["store"], manifest["entry"]) == (store.id, newest(store).seq)
        for told in manifest["memories"]:  # type: ignore[attr-defined]
            encoded = texts[told["file"]].encode()
            assert (told["size"], told["sha256"]) == (len(encoded), hashlib.sha256(encoded).hexdigest())
            assert "memories" + told["path"] == told["file"]

    def test_lines_of_json_hold_the_same(self, store: MemoryStore, bob: User) -> None:
        one, two = write(store, "/a.md", HOSTILE), write(store, "/b/c.md", "日本語\r\n")
        write(store, "/no.md")
        body = export(bob, store, format="jsonl", id=[one.id, Directory.objects.get(store=store, path="/b").pk])
        lines = [json.loads(line) for line in body.decode("ascii").splitlines()]
        assert {line["path"]: line["text"] for line in lines} == {"/a.md": HOSTILE, "/b/c.md": "日本語\r\n"}
        assert {line["memory"] for line in lines} == {one.id, two.id}

    def test_it_is_audited_before_the_first_byte(self, store: MemoryStore, bob: User) -> None:
        write(store, "/a.md")
        answer = signed_in(bob).post(
            reverse("selection", args=[store.id]), {"format": "zip", "everything": "1", "in": ""}
        )
        entry = newest(store)
        assert (entry.command, entry.actor_id, entry.path) == ("export", bob.id, None)
        assert json.loads(str(entry.input))["memories"] == 1
        assert answer.streaming

    def test_it_is_as_of_its_entry_whatever_is_written_meanwhile(
        self, store: MemoryStore, bob: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(selection_export, "_PART", 2)
        made = [write(store, f"/{number}.md", str(number)) for number in range(7)]
        answer = signed_in(bob).post(reverse("selection", args=[store.id]), {
            "format": "jsonl", "everything": "1", "in": ""
        })  # fmt: skip
        body = iter(answer.streaming_content)
        lines = [next(body)]
        curation.edit(store.id, made[5].id, "changed", made[5].sha256, act())
        curation.delete(store.id, "/6.md", act())
        curation.rename(store.id, "/4.md", "/moved.md", act())
        write(store, "/99.md")
        lines += list(body)
        found = {told["path"]: told["text"] for told in map(json.loads, lines)}
        assert found == {f"/{number}.md": str(number) for number in range(7)}

    def test_a_redacted_text_is_not_in_it(self, store: MemoryStore, bob: User) -> None:
        one = write(store, "/a.md", "secret")
        write(store, "/b.md")
        with tampering():
            Memory.objects.filter(pk=one.pk).update(text=None)
            type(one.head).objects.filter(pk=one.head_id).update(text=None)
        texts, manifest = archive(export(bob, store, format="zip", everything="1", **{"in": ""}))
        assert list(texts) == ["memories/b.md"]
        assert [told["file"] for told in manifest["memories"]] == [None, "memories/b.md"]  # type: ignore[attr-defined]

    def test_names_that_a_file_system_cannot_hold_are_escaped(self, store: MemoryStore, bob: User) -> None:
        paths = ["/CON", "/con.md", "/a:b?.md", "/ends.", "/x", "/X", "/dir/y", "/DIR", "/100%41", "/1\u00e9" * 2]
        for path in paths:
            write(store, path, path)
        texts, manifest = archive(export(bob, store, format="zip", everything="1", **{"in": ""}))
        assert sorted(texts.values()) == sorted(paths)
        assert {told["path"]: texts[told["file"]] for told in manifest["memories"]} == {path: path for path in paths}  # type: ignore[attr-defined]
        folded = [name.casefold() for name in texts]
        assert len(set(folded)) == len(folded)
        for name in texts:
            assert not set('<>:"\\|?*') & set(name)

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
        assert "Nothing of it is left" in answer.content.decode()


class TestNames:
    @pytest.mark.parametrize(
        ("name", "safe"),
        [
            ("plain name.md", "plain name.md"), ("nul", "%6Eul"), ("COM1.txt", "%43OM1.txt"), ("a<b", "a%3Cb"),
            ("a%3Cb", "a%253Cb"), ("dot.", "dot%2E"), ("\u202ex", "%E2%80%AEx"), ("console", "console"),
            ("日本.md", "日本.md"), (".hidden", ".hidden"), ("aux.d.ts", "%61ux.d.ts"),
        ],
    )  # fmt: skip
    def test_a_name_is_escaped_where_it_must_be(self, name: str, safe: str) -> None:
        assert safe_name(name) == safe

    def test_long_names_are_cut_and_stay_different(self) -> None:
        names = {safe_name("日" * 80 + f"{number}.md") for number in range(20)}
        assert len(names) == 20 and all(len(name.encode()) <= 200 and name.endswith(".md") for name in names)

    def test_no_two_paths_meet_on_a_file_system_that_folds(self) -> None:
        names = Names()
        paths = ["/a", "/A/b", "/A/B", "/b/c", "/B", "/e\u0301", "/\u00e9", "/ﬁ", "/fi", "/FI/x", "/ß", "/ss"]
        given = [names.of(path) for path in paths]
        folded = {name.casefold() for name in given}
        assert len(folded) == len(paths)
        assert not any(other.startswith(name + "/") for name in folded for other in folded)


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
        assert {row["deleted_by"] for row in rows} == {"Alice"} and rows[0]["kept_until"] == ""
        assert json.loads(str(newest(store).input))["filter"] == "path:/a/"
        assert signed_in(bob).post(url, {"q": "door:web"}).status_code == 400

    def test_the_agents_that_one_sees(self, superuser: User, charlie: User, key: str) -> None:
        access.create_agent('=HYPERLINK("x")', **BY)
        url = reverse("export_agents")
        rows, objects = table(superuser, url)
        assert {row["name"] for row in objects} == {'=HYPERLINK("x")', "Support bot"}
        assert '\'=HYPERLINK("x")' in {row["name"] for row in rows}
        assert AuditEntry.objects.of_chain(HUB).newest()[0].command == "export_table"
        assert [row["name"] for row in table(superuser, url, q="SUPPORT")[1]] == ["Support bot"]
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
            access.create_agent(f"Agent {name}", **BY)
            html = signed_in(person).get(reverse(name, args=args)).content.decode()
            assert f'action="{reverse("export_" + name, args=args)}"' in html
