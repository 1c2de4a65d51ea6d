"""The archive for a person who asks what is stored about them: complete, read by whom, and nothing of others."""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.retention import removal
from memoryhub.actions.verification import verify
from memoryhub.models import AuditChain, AuditEntry, Door, MemoryStore, Role, User
from tests.api.harness import BY
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import WHERE, everywhere, fields, find, write

pytestmark = pytest.mark.django_db


def archive(client: Client, html: str, **more: object) -> Mapping[str, bytes]:
    answer = client.post(WHERE, fields(html, "collect") | more)
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/zip"
    body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def rows(files: Mapping[str, bytes], name: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in files[name].decode().splitlines()]


def test_it_has_every_place_that_an_erasure_would_change_and_nothing_of_other_stores(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    write(other, "/Quellenberg/deal.md", "another deal\n")
    before = everywhere("uellenberg")
    client = signed_in(alice)
    html = find(client, "quellenberg")
    files = archive(client, html)
    places = [row for name in files if name.endswith("/places.jsonl") for row in rows(files, name)]
    shown = sum(int(row) for row in _counts(html))
    assert len(places) == shown and all("uellenberg" in row["text"].lower() for row in places)
    assert {row["kind"] for row in places} == {"text", "path", "entry"}
    texts = {name: text for name, text in files.items() if "/memories/" in name}
    assert set(texts.values()) == {
        b"Quellenberg came\nQUELLENBERG paid\n",
        b"a deal with Quellenberg\n",
        b"another deal\n",
    }
    report = files["report.html"].decode()
    assert "Quellenberg came" in report and "Sales" in report and "Foreign" not in report
    assert everywhere("uellenberg") == before
    for one in (store, other):
        entry = AuditEntry.objects.of_chain(one.id).newest()[0]
        assert (entry.command, entry.author_id, entry.ok) == ("collect", alice.id, True)
        assert "uellenb" not in str(entry.input) and verify.verify(one.id, None)[1] is None  # type: ignore[arg-type]
    page = client.get(f"/stores/{other.id}/audit").content.decode()
    assert "places with a text about a person" in page


def _counts(html: str) -> list[str]:
    return re.findall(r'row-title break-anywhere"[^>]*>[^<]*</label>\s*<span class="small muted">(\d+) place', html)


def test_it_says_who_read_it_and_which_lines(store: MemoryStore, other: MemoryStore, alice: User, key: str) -> None:
    block = {"type": "tool_use", "id": "toolu_read", "name": "memory"}
    call = block | {"input": {"command": "view", "path": "/memories/visit.md"}}
    address, headers = f"/v1/memory_stores/{store.id}/tool_calls", {"authorization": f"Bearer {key}"}
    assert Client().post(address, call, "application/json", headers=headers).status_code == 200
    client = signed_in(alice)
    files = archive(client, find(client, "quellenberg"))
    (name,) = (name for name in files if name.endswith("reads.jsonl") and rows(files, name))
    (read,) = (row for row in rows(files, name) if row["command"] == "view")
    assert read["path"] == "/visit.md" and read["number"] == 1 and read["lines"] == [1, 2]


def test_a_changed_tick_shows_the_list_again_and_writes_no_entry(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    answer = client.post(WHERE, fields(html, "collect") | {"near": ["Quellenburg"]})
    assert "Nothing was done, because you changed the ticks." in answer.content.decode()
    assert not AuditEntry.objects.of_command("collect").exists()


def test_without_a_ticked_store_nothing_is_downloaded_nor_written_down(
    store: MemoryStore, other: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    form = {name: value for name, value in fields(find(client, "quellenberg"), "collect").items() if name != "store"}
    answer = client.post(WHERE, form)
    assert "Nothing was downloaded, because no memory store was ticked." in answer.content.decode()
    assert not AuditEntry.objects.of_command("collect").exists()


def test_only_admins_collect(store: MemoryStore, other: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    html = find(client, "quellenberg")
    set_role(other, alice, Role.CURATOR, **BY)
    answer = client.post(WHERE, fields(html, "collect"))
    assert answer.headers["Content-Type"].startswith("text/html")
    assert not AuditEntry.objects.of_command("collect").exists()


def test_it_does_not_say_that_nobody_else_read_it_where_nobody_knows(store: MemoryStore, alice: User) -> None:
    write(store, "/a.md", "Benjamin Quellenberg\n")
    client = signed_in(alice)
    report = archive(client, find(client, "Benjamin"))["report.html"].decode()
    assert "Read 0 times<" in report and "there may be reads of these texts" not in report
    again = archive(client, find(client, "Benjamin"))["report.html"].decode()
    assert "Read at least 0 times" in again and "Earlier downloads may also have contained these texts" in again
    last = AuditChain.objects.get(pk=store.id).last_seq
    assert removal.remove_entries(store.id, last - 1, Act(Actor.system("tests"), Door.COMMAND, timezone.now()))
    report = archive(client, find(client, "Benjamin"))["report.html"].decode()
    assert "Read at least 0 times" in report and "there may be reads of these texts" in report
