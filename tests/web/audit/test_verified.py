"""The pages of the audit say when it was last verified and whether something was wrong, as the hub recorded it."""

import io
import json
import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from memoryhub.actions.core import audit
from memoryhub.actions.verification import checkpoints, runs
from memoryhub.models import HUB, AuditEntry, MemoryStore, User
from tests.support.fixtures import AT, signed_in
from tests.support.write_guard import tampering
from tests.web.audit.test_sentences_once import visible_text
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def verify(*options: str) -> str:
    said = io.StringIO()
    call_command("verify_audit", *options, stdout=said)
    return said.getvalue()


def entries_of_runs() -> int:
    return AuditEntry.objects.of_chain(HUB).of_command("verify_audit").count()


def test_the_audit_of_a_store_says_when_it_was_verified(
    store: MemoryStore, bob: User, superuser: User, own_checkpoints: Path
) -> None:
    page = reverse("store_audit", args=[store.pk])
    how = "An administrator of the hub can start a check."
    finds = "A check finds every entry that was changed or removed directly in the database, and not by the hub."
    assert f"The hub has recorded no check of all its entries yet. {finds} {how}" in visible_text(signed_in(bob), page)
    assert f"{finds} Check now" in visible_text(signed_in(superuser), page)
    verify()
    assert "entries, nothing wrong, but checkpoints are missing." in visible_text(signed_in(bob), page)
    checkpoints.append(own_checkpoints, AT)
    verify()
    entry = AuditEntry.objects.of_chain(HUB).of_command("verify_audit").newest()[0]
    address = reverse("entry", args=[HUB, entry.seq])
    count = json.loads(entry.input or "")["entries"]
    assert f"just now , {count} entries, nothing wrong. {how}" in visible_text(signed_in(bob), page)
    assert "manage.py" not in signed_in(bob).get(page).content.decode()
    place, data = (shlex.quote(str(path)) for path in (settings.BASE_DIR, settings.DATA_DIR))
    line = f"cd {place} && MEMORYHUB_DATA_DIR={data} .venv/bin/python manage.py verify_audit"
    assert escape(line) in visible_text(signed_in(superuser), page)
    assert str(settings.DATA_DIR) not in signed_in(bob).get(page).content.decode()
    assert address not in signed_in(bob).get(page).content.decode()
    assert address in signed_in(superuser).get(page).content.decode()
    assert "verified the audit: " in visible_text(signed_in(superuser), address)
    assert "entries are right" in verify()


@pytest.mark.both_databases
def test_tampering_that_was_found_is_said_on_every_audit(
    store: MemoryStore, key: str, bob: User, superuser: User, own_checkpoints: Path
) -> None:
    Caller(store, key).create("/a.md", "one\n")
    with tampering():
        AuditEntry.objects.of_chain(store.pk).filter(command="create").update(path="/b.md")
    for _ in range(2):
        with pytest.raises(CommandError, match="it was changed: its hash does not fit"):
            verify()
    page = reverse("store_audit", args=[store.pk])
    assert "entries, something is wrong ." in visible_text(signed_in(bob), page)
    said = visible_text(signed_in(superuser), reverse("audit") + "?command=verify_audit")
    assert f"could not confirm the audit: something is wrong in {store.name}" in said
    assert "entries are right" not in said


def test_a_run_over_one_chain_says_nothing_about_the_whole(store: MemoryStore, own_checkpoints: Path) -> None:
    verify("--chain", store.pk)
    assert entries_of_runs() == 0


def test_a_database_that_takes_no_writes_is_verified_all_the_same(
    store: MemoryStore, own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(audit, "on_hub", refuse)
    said = verify()
    assert "could not record this run: attempt to write a readonly database" in said
    assert said.splitlines()[-1].endswith("entries are right.")


def test_an_administrator_asks_for_a_check_and_sees_what_it_found(
    store: MemoryStore, alice: User, superuser: User, own_checkpoints: Path
) -> None:
    address, client = reverse("verify_now"), signed_in(superuser)
    assert signed_in(alice).post(address).status_code == 403 and signed_in(alice).get(address).status_code == 403
    assert "Check now" in visible_text(client, reverse("audit"))
    checkpoints.append(own_checkpoints, AT)
    for _ in range(2):
        assert client.post(address).headers["Location"] == reverse("audit")
    assert AuditEntry.objects.of_chain(HUB).of_command("ask_verify_audit").count() == 1, "it is asked for once"
    page = client.get(reverse("store_audit", args=[store.pk])).content.decode()
    assert f"All entries are being checked: {superuser.name} asked" in page and "Check now" not in page
    assert 'hx-trigger="every 2s"' in page
    for _ in range(2):
        runs.run_asked(timezone.now())
    assert entries_of_runs() == 1
    found = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "nothing wrong." in found and "Check now" in found and "hx-trigger" not in found


def test_a_check_that_was_asked_for_names_the_wrong_chain_and_an_old_request_is_given_up(
    store: MemoryStore, superuser: User
) -> None:
    signed_in(superuser).post(reverse("verify_now"))
    later = timezone.now() + runs.WAITS + timedelta(minutes=1)
    assert runs.asked(later) is None
    with tampering():
        AuditEntry.objects.of_chain(store.pk).update(command="view")
    runs.run_asked(timezone.now())
    entry = AuditEntry.objects.of_chain(HUB).of_command("verify_audit").newest()[0]
    assert not entry.ok and store.pk in (entry.input or "")
    assert "something is wrong . What to do now" in visible_text(signed_in(superuser), reverse("audit"))


def test_every_audit_leads_to_a_proof_for_an_auditor(store: MemoryStore, alice: User, bob: User) -> None:
    page, proof = reverse("store_audit", args=[store.pk]), reverse("export_store", args=[store.pk]) + "?format=signed"
    assert proof in signed_in(alice).get(page).content.decode()
    check = f'<a href="{reverse("public_key")}">Check a signed export</a>'
    for user, address in ((bob, page), (alice, reverse("audit"))):  # a viewer exports no proofs
        html = signed_in(user).get(address).content.decode()
        assert '<a href="#proof">Proof for an auditor</a>' in html and check in html
        form = html[html.index('id="proof"') :]
        assert 'name="signed"' in form[: form.index("</form>")] and proof not in html
    export = signed_in(alice).get(proof).content.decode()
    assert 'value="signed" checked' in export and reverse("public_key") in export


@pytest.mark.parametrize("words", ["proof", "auditor", "signed", "proof for an auditor"])
def test_the_palette_leads_an_auditor_to_the_proof(store: MemoryStore, bob: User, words: str) -> None:
    html = signed_in(bob).get(reverse("palette"), {"q": words, "store": store.pk}).content.decode()
    assert f"{reverse('store_audit', args=[store.pk])}#proof" in html and f"{reverse('audit')}#proof" in html
