"""An access request, an erasure over three memory stores, a legal hold and a certificate of retention, done by an
administrator with the forms of the pages. What they say agrees with searches that use no code of the hub."""

import hashlib
import io
import json
import zipfile
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from memoryhub.actions.core.audit import documents
from memoryhub.actions.retention import runs
from memoryhub.actions.stores.stores import StoreSettings, create_store
from memoryhub.models import Hold, Memory, MemoryStore, Receipt, RunState, User
from tests.actions.gardens import to_the_end
from tests.api.harness import BY
from tests.redaction import looking
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with, sent
from tests.web.erasure.erasing import WHERE, erase, fields, find
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, page, write
from tests.web.retention.pages import url
from tests.web.retention.test_policies import saved

pytestmark = pytest.mark.django_db(transaction=True)

NAME, HELD = "Zacharias Quellenberg", "ZACHARIAS QUELLENBERG"
TYPED = "zacharias quellenberg"
POLICY = {"name": "All", "pattern": "", "use_expire_older_days": "on", "expire_older_days": "30", "grace_days": "30"}


def rows(sql: str, *values: object) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def with_name(store: MemoryStore) -> Counter[str]:
    """How many texts, and how many values of audit entries, of a memory store have the name in any case."""
    like = f"%{TYPED}%"
    texts = "SELECT count(*) FROM memoryhub_memorytext WHERE store_id = %s AND lower(content) LIKE %s"
    entries = "SELECT count(*) FROM memoryhub_auditentry WHERE chain = %s AND lower(cast({} AS text)) LIKE %s"
    found = {"text": rows(texts, store.pk, like)[0][0]}
    found["entry"] = sum(rows(entries.format(column), store.pk, like)[0][0] for column in ("input", "message", "note"))
    return Counter(found)


def unpacked(body: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def lines(files: dict[str, bytes], ending: str) -> list[dict[str, Any]]:
    return [json.loads(row) for name in sorted(files) if name.endswith(ending) for row in files[name].splitlines()]


@pytest.fixture
def stores(store: MemoryStore) -> list[MemoryStore]:
    """Three memory stores from which a person is erased, and one whose memories are held."""
    return [store, *(create_store(StoreSettings(name=name), **BY) for name in ("Sales", "Billing", "Court"))]


def edited(client: Client, memory: Memory, text: str) -> str:
    """What a person sees who has changed the text in the editor."""
    address = url("edit_memory", memory.store_id, memory.pk)
    form = sent(form_with(page(client, address), "text"), text=text)
    return str(client.post(address, form, follow=True).content.decode())


def hold(client: Client, court: MemoryStore) -> Hold:
    form = {"place": "/case/deal.md", "kind": "hold", "reason": "Dispute", "case_number": "2291", "freezes": "on"}
    html = client.post(url("holds", court.pk), form, follow=True).content.decode()
    assert "its text is frozen" in html and "<b>2291</b>" in html
    memory = Memory.objects.get(store=court, path="/case/deal.md")
    assert "is under a legal hold and cannot be changed" in edited(client, memory, "changed\n")
    return Hold.objects.get(store=court)


def archive(client: Client, html: str, stores: list[MemoryStore]) -> None:
    """The archive for the access request has what the database has, each text, each entry and each read."""
    answer = client.post(WHERE, fields(html, "collect"))
    files = unpacked(answer.getvalue())
    places = lines(files, "/places.jsonl")
    assert Counter(row["kind"] for row in places) == sum(map(with_name, stores), Counter())
    texts = {content for (content,) in rows("SELECT content FROM memoryhub_memorytext") if TYPED in content.lower()}
    assert {row["text"] for row in places if row["kind"] == "text"} == texts
    now = {
        content.encode()
        for (content,) in rows(
            "SELECT t.content FROM memoryhub_memory m JOIN memoryhub_memorytext t ON t.id = m.text_id"
            " WHERE m.deleted_at IS NULL"
        )
        if TYPED in content.lower()
    }
    assert {body for name, body in files.items() if "/memories/" in name} == now
    views = "SELECT chain, seq FROM memoryhub_auditentry WHERE command = 'view' AND path = '/visit.md'"
    assert Counter(seq for _chain, seq in rows(views)) == Counter(
        row["entry"] for row in lines(files, "/reads.jsonl") if row["command"] == "view"
    )


def held_export(client: Client, held: Hold) -> dict[str, bytes]:
    """The file for the custodian: the versions that the database has, with a certificate that says so."""
    files = unpacked(client.post(url("export_held", held.store_id, held.pk)).getvalue())
    told = json.loads(files["certificate.json"])["certificate"]
    there = rows(
        "SELECT v.number, t.content FROM memoryhub_memoryversion v JOIN memoryhub_memorytext t ON t.id = v.text_id"
        " WHERE v.store_id = %s AND v.memory_id = %s",
        held.store_id,
        held.memory,
    )
    history = [row for row in lines(files, "history.jsonl") if row["type"] == "version"]
    assert sorted((row["number"], row["content"]) for row in history) == sorted(there) and len(there) == 2
    assert (told["memories"], told["versions"]) == (1, len(there)) and told["holds"][0]["case_number"] == "2291"
    assert told["files"] == {"history.jsonl": hashlib.sha256(files["history.jsonl"]).hexdigest()}
    return files


def certificate(client: Client, court: MemoryStore) -> dict[str, Any]:
    text = client.post(url("retention_certificate", court.pk)).getvalue().decode()
    assert documents.check(text) is documents.Verdict.RIGHT
    return dict(json.loads(text)["certificate"])


def everything(client: Client, stores: list[MemoryStore]) -> bytes:
    """The bytes of the database, of the files beside it, and of an export of each memory store with its audit."""
    form = {"format": "jsonl", "history": "1", "governance": "1"}
    exports = [client.post(url("export_store", one.pk), form).getvalue() for one in stores]
    files = looking.on_disk().values() if connection.vendor == "sqlite" else ()
    return b"\n".join([*exports, *files, looking.dump(), *looking.other_files().values()])


def test_an_administrator_does_all_four_and_independent_searches_agree(
    stores: list[MemoryStore], key: str, superuser: User
) -> None:
    client, (support, _sales, _billing, court) = signed_in(superuser), stores
    for one in stores[:3]:
        write(one, "/visit.md", f"{NAME} came\nhe paid\n")
    agent = Caller(support, key)
    agent.create("/call.md", f"{NAME} called\n")
    agent.call("view", path="/memories/visit.md")
    deal = write(court, "/case/deal.md", f"{HELD} signed\n")
    edited(client, deal, f"{HELD} signed twice\n")
    write(court, "/old.md", "nobody\n")
    before = everything(client, stores)
    assert NAME.encode() in before and HELD.encode() in before

    held = hold(client, court)
    html = find(client, TYPED)
    archive(client, html, stores)
    found = {one.pk: sum(with_name(one).values()) for one in stores}
    letter = erase(client, html, confirm=TYPED, note="request 8")
    assert "Erased from 3 memory stores" in letter and "a legal hold protects it" in letter
    assert f"<code>{NAME}</code>" in letter and "Court" in letter
    receipts = {one.store: one.content for one in Receipt.objects.all()}
    assert set(receipts) == {one.pk for one in stores[:3]}
    assert {pk: sum(told["places"].values()) for pk, told in receipts.items()} == {pk: found[pk] for pk in receipts}

    files = held_export(client, held)
    after = everything(client, stores)
    assert NAME.encode() not in after and HELD.encode() in after
    assert {one.name: bool(sum(with_name(one).values())) for one in stores} == {
        "Support": False, "Sales": False, "Billing": False, "Court": True,
    }  # fmt: skip
    assert HELD.encode() in files["texts/case/deal.md"] and NAME.encode() not in b"".join(files.values())

    saved(client, url("new_policy", court.pk), **POLICY)
    now = timezone.now()
    told = certificate(client, court)
    assert (told["overdue"], told["kept"]["by_holds_and_pins"]) == (1, 1)
    run = runs.start(court.pk, act(superuser)._replace(at=now), now)
    if run.state == RunState.WAITING:
        client.post(url("allow_run", run.pk))
    to_the_end(run, now)
    told = certificate(client, court)
    live = rows("SELECT path FROM memoryhub_memory WHERE store_id = %s AND deleted_at IS NULL", court.pk)
    assert told["overdue"] == 0 and told["policies"][0]["memories"] == len(live) == 1
    assert live == [("/case/deal.md",)] and held_export(client, held)["history.jsonl"]
    assert "Nothing is overdue." in page(client, url("retention_certificate", court.pk))
