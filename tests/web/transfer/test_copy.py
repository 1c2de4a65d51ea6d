"""Copying a memory store within the hub: who may, what the copy has, and what the audits say."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.findings import findings
from memoryhub.actions.transfer import importing
from memoryhub.actions.verification import verify
from memoryhub.models import Agent, AuditEntry, Finding, FindingState, Import, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure.transfer.bundle import Refused
from tests.support.fixtures import signed_in
from tests.support.write_guard import arranging
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key)
    caller.create("/notes/a.md", "one\n")
    caller.replace("/notes/a.md", "one", "two")
    caller.create("/gone.md", "x\n")
    caller.delete("/gone.md")
    return caller


def copy(person: User, store: MemoryStore, **given: str) -> MemoryStore:
    client, address = signed_in(person), reverse("copy_store", args=[store.pk])
    fields = form_with(client.get(address).content.decode(), "name")
    fields.pop("history", None)
    answer = client.post(address, fields | given)
    assert answer.status_code == 303
    job = Import.objects.get()
    assert answer.headers["Location"] == reverse("import_", args=[job.store_id, job.pk])
    while importing.step(job.pk, timezone.now()):
        pass
    return job.store


@pytest.mark.both_databases
def test_one_press_copies_the_memories_with_their_history_and_both_audits_say_so(
    caller: Caller, store: MemoryStore, superuser: User
) -> None:
    store.description = "What we know"
    made = copy(superuser, store, history="on")
    assert made.name == f"Copy of {store.name}" and made.pk != store.pk
    live = Memory.objects.filter(store=made, deleted_at=None)
    assert [(memory.path, memory.text and memory.text.content) for memory in live] == [("/notes/a.md", "two\n")]
    assert MemoryVersion.objects.filter(store=made).count() == MemoryVersion.objects.filter(store=store).count() == 4
    assert AuditEntry.objects.filter(chain=store.pk, command="export").count() == 1
    assert AuditEntry.objects.filter(chain=made.pk, command="import").exists()
    assert not made.keystore_set.exists()
    page = " ".join(
        signed_in(superuser).get(reverse("import_", args=[made.pk, Import.objects.get().pk])).content.decode().split()
    )
    assert "2 memories with 6 B were imported. 1 of them is in the trash, as in the source." in page
    for name, of in (("store", made), ("trash", made), ("store", store)):
        assert f'href="{reverse(name, args=[of.pk])}"' in page
    assert f"Copy of {store.name}" in page and "uploaded" not in page and ".jsonl" not in page


@pytest.mark.both_databases
@pytest.mark.parametrize("history", ["on", ""])
def test_what_was_dismissed_stays_dismissed_in_the_copy_and_the_rest_is_open(
    store: MemoryStore, key: str, alice: User, superuser: User, history: str
) -> None:
    caller = Caller(store, key)
    for name, number in (("a", "4111 1111 1111 1111"), ("b", "5500 0000 0000 0004")):
        caller.create(f"/{name}.md", f"Card {number}\n")
    of_a = Finding.objects.get(store=store, memory__path="/a.md")
    findings.decide(store.pk, [of_a.pk], FindingState.DISMISSED, "a test number", act(alice))
    made = copy(superuser, store, **({"history": history} if history else {}))
    told = Finding.objects.filter(store=made).order_by("memory__path").values_list("state", "note", "decided_by")
    assert list(told) == [("dismissed", "a test number", alice.pk), ("open", "", None)]
    assert verify.verify(made.pk)[1] is None


def test_the_pages_of_a_copy_name_who_wrote_its_memories(
    caller: Caller, store: MemoryStore, agent: Agent, superuser: User
) -> None:
    caller.create("/notes/b.md", "Card 4111 1111 1111 1111\n")
    made = copy(superuser, store, history="on")
    written = f"{agent.name} (imported)"
    memory = Memory.objects.get(store=made, path="/notes/b.md")
    for address in (
        reverse("directory", args=[made.pk, "notes"]),
        reverse("memory", args=[made.pk, memory.pk]),
        reverse("store_findings", args=[made.pk]),
        reverse("today"),
    ):
        page = signed_in(superuser).get(address).content.decode()
        assert written in page, address
    page = signed_in(superuser).get(reverse("memory", args=[made.pk, memory.pk])).content.decode()
    assert f" by {written}" in page.partition('class="page-lead"')[2].partition("</div>")[0]


def test_without_history_the_copy_has_the_newest_versions_alone(
    caller: Caller, store: MemoryStore, superuser: User
) -> None:
    made = copy(superuser, store, name="Trial")
    assert made.name == "Trial" and MemoryVersion.objects.filter(store=made).count() == 1


def test_only_administrators_of_the_hub_may(caller: Caller, store: MemoryStore, alice: User, charlie: User) -> None:
    address = reverse("copy_store", args=[store.pk])
    for person in (alice, charlie):
        assert signed_in(person).get(address).status_code in (403, 404)
        assert signed_in(person).post(address, {"name": "x"}).status_code in (403, 404)
    assert address not in signed_in(alice).get(f"/stores/{store.pk}/settings").content.decode()
    assert MemoryStore.objects.count() == 1


def test_an_empty_store_is_not_copied_and_the_form_says_why(store: MemoryStore, superuser: User) -> None:
    answer = signed_in(superuser).post(reverse("copy_store", args=[store.pk]), {"name": "x"})
    assert (
        "This memory store cannot be copied. There is no memory in it." in answer.content.decode()
        and MemoryStore.objects.count() == 1
    )


@pytest.mark.both_databases
def test_a_copy_that_fails_late_leaves_no_empty_store(
    caller: Caller, store: MemoryStore, superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*what: object) -> None:
        raise Refused("It was cancelled while it was being read.")

    monkeypatch.setattr(importing, "_arrived", refuse)
    answer = signed_in(superuser).post(reverse("copy_store", args=[store.pk]), {"name": "x"})
    assert "This memory store cannot be copied. It was cancelled while it was being read." in answer.content.decode()
    assert list(MemoryStore.objects.all()) == [store] and not Import.objects.exists()
    assert AuditEntry.objects.exclude(chain__in=(store.pk, "hub")).filter(command="delete_store").exists()


def test_a_second_press_copies_nothing_and_records_no_export(
    caller: Caller, store: MemoryStore, superuser: User
) -> None:
    client, address = signed_in(superuser), reverse("copy_store", args=[store.pk])
    fields = form_with(client.get(address).content.decode(), "name")
    for _ in range(2):
        assert client.post(address, fields).status_code == 303
    assert AuditEntry.objects.filter(chain=store.pk, command="export").count() == 1
    assert MemoryStore.objects.count() == 2


def test_the_page_says_that_rules_for_sensitive_text_are_not_copied(
    caller: Caller, store: MemoryStore, superuser: User
) -> None:
    with arranging():
        MemoryStore.objects.filter(pk=store.pk).update(rules={"card": "block"})
    page = signed_in(superuser).get(reverse("copy_store", args=[store.pk])).content.decode()
    assert copy(superuser, store).rules == {} and "rules for sensitive text" in page
