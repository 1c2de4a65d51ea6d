"""The export of what is on legal hold: exactly the held memories with every version, a certificate, and two entries."""

import hashlib
import hmac
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from memoryhub.actions.core.audit import documents
from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import curation
from memoryhub.actions.transfer import importing
from memoryhub.models import AuditEntry, Hold, HoldKind, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure.transfer.jsonl import read as jsonl_read
from tests.support.fixtures import AT, signed_in
from tests.web.memories.pages import act, new_curator, newest, page, write
from tests.web.retention.pages import url

EXPORTED = "exported what is on legal hold, 1 memory: /deal.md"
SIGNED = "signed the export of what is on legal hold: /deal.md"


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


def hold(store: MemoryStore, *, memory: Memory | None = None, path: str | None = None, **more: Any) -> Hold:
    terms = {"kind": HoldKind.HOLD, "reason": "Dispute with Ada"} | more
    return holds.place(store.pk, act(), memory=memory.pk if memory else None, path=path, **terms)


def exported(client: Client, one: Hold, **fields: str) -> dict[str, bytes]:
    answer = client.post(url("export_held", one.store_id, one.pk), fields)
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def lines(files: dict[str, bytes], kind: str) -> list[dict[str, Any]]:
    rows = map(json.loads, files["history.jsonl"].splitlines())
    return [row for row in rows if row["type"] == kind]


@pytest.mark.both_databases
def test_all_of_a_case_is_exported_once_with_every_version_and_nothing_else(client: Client, store: MemoryStore) -> None:
    deal, both, alone = (write(store, path, "first\n") for path in ("/a/deal.md", "/a/b/both.md", "/alone.md"))
    trashed, at_path = write(store, "/trashed.md", "in the trash\n"), write(store, "/a.md", "beside\n")
    curation.edit(store.pk, deal.pk, "second\n", deal.sha256, act())
    curation.delete(store.pk, "/trashed.md", act())
    write(store, "/a/gone.md", "deleted there\n")
    curation.delete(store.pk, "/a/gone.md", act())
    write(store, "/ab.md", "a stranger\n")
    case: Any = {"case_number": "2291"}
    one = hold(store, path="/a", **case)
    for more in ({"path": "/a/b"}, {"memory": both}, {"memory": trashed}, {"path": "/alone.md"}):
        hold(store, **more, **case)
    hold(store, memory=at_path, case_number="2292")
    files = exported(client, one, together="1")
    wanted = {"/a/deal.md": 2, "/a/b/both.md": 1, "/alone.md": 1, "/trashed.md": 2, "/a/gone.md": 2}
    versions = lines(files, "version")
    assert sorted(row["path"] for row in lines(files, "memory")) == sorted(wanted)
    assert {row["id"] for row in versions} == set(
        MemoryVersion.objects.filter(store=store, memory__path__in=wanted).values_list("pk", flat=True)
    )
    assert len(versions) == sum(wanted.values())
    assert files["texts/a/deal.md"] == b"second\n" and "texts/trashed.md" not in files
    assert {name for name in files if name.startswith("texts/")} == {
        "texts/a/deal.md", "texts/a/b/both.md", "texts/alone.md",
    }  # fmt: skip
    assert b"a stranger" not in b"".join(files.values()) and b"beside" not in b"".join(files.values())
    read = jsonl_read.read(files["history.jsonl"], importing.bounds()).bundle
    assert {memory.path: len(memory.versions) for memory in read.memories} == wanted
    alone_files = exported(client, Hold.objects.get(memory=trashed.pk))
    assert [row["path"] for row in lines(alone_files, "memory")] == ["/trashed.md"] and not lines(alone_files, "entry")
    assert len(exported(client, Hold.objects.get(path="/alone.md"))) == 3, alone.pk


def test_the_certificate_and_the_entries_name_the_hold_and_what_was_exported(
    client: Client, store: MemoryStore
) -> None:
    memory = write(store, "/deal.md", "first\n")
    one = hold(store, memory=memory, case_number="2291", freezes=True)
    files = exported(client, one)
    text = files["certificate.json"].decode()
    told = json.loads(text)["certificate"]
    assert documents.check(text) is documents.Verdict.RIGHT
    assert documents.check(text.replace("2291", "2292")) is documents.Verdict.WRONG
    assert told["files"]["history.jsonl"] == hashlib.sha256(files["history.jsonl"]).hexdigest()
    assert (told["memories"], told["versions"]) == (1, 1)
    (held,) = told["holds"]
    assert (held["id"], held["case_number"], held["reason"], held["freezes"], held["entry"]) == (
        one.pk, "2291", "Dispute with Ada", True, one.seq,
    )  # fmt: skip
    signed, noted = AuditEntry.objects.of_chain(store.pk).newest()[:2]
    assert (signed.command, signed.seq, signed.hash) == ("certify", told["entry"], told["entry_hash"])
    assert (noted.command, noted.seq, noted.memory) == ("export", told["export_entry"], memory.pk)
    assert json.loads(noted.input or "")["holds"] == [one.pk]
    (version,) = lines(files, "version")
    proof, row = version["proof"], MemoryVersion.objects.get(memory=memory)
    committed = [1, row.pk, memory.pk, 1, "created", "/deal.md", version["sha256"], version["created_at"]]
    written = json.dumps(committed, separators=(",", ":")).encode()
    assert hmac.new(bytes.fromhex(proof["salt"]), written, hashlib.sha256).hexdigest() == proof["commitment"]
    for seq, words in ((noted.seq, EXPORTED), (signed.seq, SIGNED)):
        assert words in page(client, url("entry", store.pk, seq)), seq


def test_the_page_says_what_is_exported_and_what_is_not(client: Client, store: MemoryStore, bob: User) -> None:
    write(store, "/a/deal.md")
    first, empty = hold(store, path="/a", case_number="7"), hold(store, path="/nothing", case_number="7")
    pin = holds.place(store.pk, act(), kind=HoldKind.PIN, reason="x", path="/a")
    address = url("export_held", store.pk, first.pk)
    assert address in page(client, url("holds", store.pk))
    html = page(client, address)
    assert "1 memory is held" in html and "Export all 2 holds of case 7" in html and ">Cancel<" in html
    assert "Export all 2 holds of case 7" in page(client, url("export_held", store.pk, empty.pk))
    seq = newest(store).seq
    assert (
        "This hold covers no memory yet" not in html
        and client.post(url("export_held", store.pk, empty.pk)).status_code == 200
    )
    assert newest(store).seq == seq, "nothing was exported"
    holds.release(store.pk, first.pk, act())
    assert (
        "has ended: nothing is exported" in page(client, address)
        and "has ended: nothing is exported" in client.post(address).content.decode()
    )
    assert "This hold covers no memory yet" in page(client, url("export_held", store.pk, empty.pk))
    assert client.get(url("export_held", store.pk, pin.pk)).status_code == 404
    for person in (signed_in(bob), signed_in(new_curator(store))):
        assert person.post(address).status_code == 403 and address not in page(person, url("holds", store.pk))
    over = hold(store, path="/a", ends_at=AT + timedelta(days=1))
    assert "has ended: nothing is exported" in page(client, url("export_held", store.pk, over.pk))
