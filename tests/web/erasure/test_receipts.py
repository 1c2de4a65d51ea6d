"""Receipts: they say what was done and not to what, can be downloaded, and are held against their signature."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import documents
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.erasure import erasure
from memoryhub.models import AuditEntry, MemoryStore, Receipt, Role, User
from memoryhub.templatetags.look import exactly
from tests.api.harness import new_store
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.erasure.erasing import SUBJECT, of_two_versions
from tests.web.memories.pages import act, newest, page

pytestmark = pytest.mark.django_db


@pytest.fixture
def receipt(store: MemoryStore, alice: User) -> Receipt:
    of_two_versions(store)
    found = erasure.search(store.id, [SUBJECT], act().at)
    return erasure.erase(store.id, [SUBJECT], found.digest, act(alice)._replace(note="Request 2026-117"))


def address(receipt: Receipt, name: str = "receipt") -> str:
    return reverse(name, args=[receipt.store, receipt.pk])


def changed(text: str, **values: object) -> str:
    document = json.loads(text)
    document["receipt"] |= values
    return json.dumps(document)


def test_it_says_how_much_and_never_what(receipt: Receipt, alice: User) -> None:
    html = page(signed_in(alice), address(receipt))
    assert "The texts are erased, and this hub signed the receipt." in html and receipt.pk in html
    for part in (SUBJECT, "Zacharias", "alice@example.com", "zq.md"):
        assert part not in html.partition("<main")[2].partition("</main>")[0], part
    assert receipt.pk in page(signed_in(alice), reverse("receipts", args=[receipt.store]))


@pytest.mark.both_databases
def test_the_lists_and_the_page_say_who_erased_when_and_why(receipt: Receipt, store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    for url in (reverse("receipts", args=[store.pk]), reverse("every_receipt"), address(receipt)):
        main = page(client, url).partition("<main")[2].partition("</main>")[0]
        assert "Request 2026-117" in main and "Alice" in main and exactly(receipt.at) in main, url
        assert "Request" not in document(receipt) and "Alice" not in document(receipt)
    with writing():
        AuditEntry.objects.filter(chain=store.pk, seq=receipt.content["entry"]).delete()
    assert "by Alice" in page(client, reverse("receipts", args=[store.pk]))


@pytest.mark.both_databases
def test_a_later_erasure_takes_its_text_out_of_the_note_that_is_shown(
    receipt: Receipt, store: MemoryStore, alice: User
) -> None:
    found = erasure.search(store.id, ["2026-117"], act().at)
    erasure.erase(store.id, ["2026-117"], found.digest, act(alice))
    for url in (reverse("receipts", args=[store.pk]), address(receipt)):
        html = page(signed_in(alice), url)
        assert "2026-117" not in html and "Request [redacted]" in html


@pytest.mark.both_databases
def test_the_proof_is_found_from_the_audit_the_page_that_erases_and_the_palette(
    receipt: Receipt, store: MemoryStore, alice: User, bob: User, superuser: User
) -> None:
    entry, every = reverse("entry", args=[store.pk, receipt.content["entry"]]), reverse("every_receipt")
    link = f'href="{address(receipt)}"'
    for user in (alice, superuser):
        client = signed_in(user)
        assert link in page(client, entry) and link in page(client, every)
        assert store.name in page(client, every).partition("<main")[2]
        assert f'href="{every}"' in page(client, reverse("erase_everywhere"))
        found = client.get(reverse("palette"), {"q": "receipt"}, headers={"HX-Request": "true"})
        assert f'href="{every}"' in found.content.decode()
    assert link not in page(signed_in(bob), entry) and signed_in(bob).get(every).status_code == 403
    charlie = new_person("Charlie")
    keys_and_roles.set_role(new_store(), charlie, Role.ADMIN, **BY)
    assert receipt.pk not in page(signed_in(charlie), every)
    assert "No older receipts" in page(signed_in(alice), f"{every}?before={receipt.pk}")


def document(receipt: Receipt) -> str:
    return documents.document(documents.RECEIPT, receipt.content, receipt.signature)


def long_one(receipt: Receipt) -> str:
    """Return a certificate of a case of 2,000 legal holds."""
    holds = [{"reason": f"Dispute {number} {'x' * 200}"} for number in range(2000)]
    content = {**receipt.content, "type": "certificate_of_held", "holds": holds}
    return documents.document(documents.CERTIFICATE, content, documents.signature(content))


def test_the_download_is_the_document_and_is_audited(receipt: Receipt, store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    answer = client.post(address(receipt, "download_receipt"))
    body = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert json.loads(body) == {"receipt": receipt.content, "signature": receipt.signature}
    entry = newest(store)
    assert entry.command == "export_table" and receipt.pk in (entry.input or "")
    assert f"exported the receipt {receipt.pk}" in page(client, f"/audit/{store.id}/{entry.seq}")
    assert client.get(address(receipt, "download_receipt")).status_code == 405


def test_the_box_tells_right_from_changed_and_from_nonsense(receipt: Receipt, alice: User) -> None:
    client, url, every = signed_in(alice), reverse("receipts", args=[receipt.store]), reverse("every_receipt")
    assert f'href="{url}#check"' in page(client, address(receipt))
    assert "The document is valid" in client.post(every, {"receipt": document(receipt)}).content.decode()
    whole = document(receipt)
    twice = whole.replace('"signature"', '"signature": "x", "signature"', 1)
    tries = {
        "The document is valid": [whole, f"  {whole}\n\n", changed(whole), long_one(receipt)],
        "this hub did not write it": [
            changed(whole, texts=9),
            changed(whole, extra=1),
            whole.replace(receipt.signature, "é"),
            whole.replace('"receipt"', '"certificate"', 1),
        ],
        "This is no receipt": ["", "{", "[]", "null", '{"receipt": 1}', twice, "[" * 100_000, "x" * 300_000],
    }
    for said, texts in tries.items():
        for text in texts:
            assert said in client.post(url, {"receipt": text}).content.decode(), text[:80]


def test_the_command_says_the_same(receipt: Receipt, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "receipt.json"
    for text in (document(receipt), long_one(receipt)):
        path.write_text(text)
        call_command("verify_receipt", str(path))
        assert "is valid" in capsys.readouterr().out
    for text in (changed(document(receipt), memories=0), "nonsense", "\udcff"):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(CommandError):
            call_command("verify_receipt", str(path))
    with pytest.raises(CommandError):
        call_command("verify_receipt", str(tmp_path / "nowhere"))


def test_one_that_was_changed_in_the_database_is_shown_as_such(receipt: Receipt, alice: User) -> None:
    with writing():
        Receipt.objects.filter(pk=receipt.pk).update(content=receipt.content | {"texts": 99})
    assert "signature does not match" in page(signed_in(alice), address(receipt))


def test_it_belongs_to_its_store_and_its_admins(receipt: Receipt, bob: User, charlie: User, superuser: User) -> None:
    other = reverse("receipt", args=[new_store().id, receipt.pk])
    assert signed_in(superuser).get(other).status_code == 404
    for user, status in ((bob, 403), (charlie, 404)):
        assert signed_in(user).get(address(receipt)).status_code == status
        assert signed_in(user).post(address(receipt, "download_receipt")).status_code == status
    assert Client().get(address(receipt)).status_code == 302
