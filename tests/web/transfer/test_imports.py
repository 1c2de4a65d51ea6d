"""The pages of imports: what is brought is looked at first, chosen for, started, and shown with what came of it."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.transfer import importing
from memoryhub.models import AuditEntry, Import, ImportItem, ImportState, Memory, MemoryStore, Role, User
from memoryhub.web.transfer.imports import rows
from tests.api.harness import assert_audit_is_right, contents
from tests.support.fixtures import BY, new_person, signed_in
from tests.transfer.hostile import archive
from tests.web.memories.pages import write

ARCHIVE = archive(("a.md", b"new a"), ("b.md", b"<script>alert(1)</script>"), ("c/d.md", b"same"), ("p.png", b"\x89\0"))


@pytest.fixture
def carol(store: MemoryStore) -> User:
    """A curator of the store."""
    user = new_person("Carol")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


def brought(
    browser: Client, store: MemoryStore, data: bytes = ARCHIVE, name: str = "project.zip", **more: str
) -> Import:
    """An upload, and the preview that it makes."""
    upload = SimpleUploadedFile(name, data)
    answer = browser.post(reverse("new_import", args=[store.pk]), {"brought": upload, "place": "", **more})
    assert answer.status_code == 303, re.findall(r"errorlist[^>]*>(.*?)</ul>", answer.content.decode(), re.DOTALL)
    return Import.objects.latest("pk")


def act_on(browser: Client, job: Import, name: str, **data: str) -> int:
    return int(browser.post(reverse(name, args=[job.store_id, job.pk]), data).status_code)


def text_of(browser: Client, job: Import, query: str = "") -> str:
    return browser.get(reverse("import_", args=[job.store_id, job.pk]) + query).content.decode()


def finished(job: Import) -> Import:
    while importing.step(job.pk, timezone.now()):
        pass
    job.refresh_from_db()
    return job


@pytest.mark.both_databases
def test_a_curator_looks_chooses_and_starts(store: MemoryStore, carol: User) -> None:
    write(store, "/a.md", "old a")
    write(store, "/c/d.md", "same")
    browser = signed_in(carol)
    job = brought(browser, store)
    assert "/b.md" not in text_of(browser, job), "what meets another text is shown first, by itself"
    shown = text_of(browser, job, "?show=all")
    for word in ("/a.md", "Different text here", "/b.md", "New", "Already here", "Left out", "not a text"):
        assert word in shown
    assert "<script>alert" not in shown
    difference = browser.get(reverse("import_item", args=[store.pk, job.pk, 0])).content.decode()
    assert "old" in difference and "new" in difference
    assert act_on(browser, job, "choose_import", **{"choice-0": "beside", "choice-1": "nonsense", "x": "y"}) == 303
    assert ImportItem.objects.get(job=job, number=0).choice == "beside"
    assert Memory.objects.filter(store=store).count() == 2
    assert act_on(browser, job, "start_import", **{"choice-0": "take"}) == 303
    assert "of 4 done" in text_of(browser, job)
    state = browser.get(reverse("import_", args=[store.pk, job.pk]) + "?part=state", headers={"HX-Request": "true"})
    assert "hx-get" in state.content.decode() and "HX-Refresh" not in state.headers
    finished(job)
    assert Memory.objects.at("/a.md").get(store=store).text.content == "new a"
    shown = text_of(browser, job)
    assert "Replaced" in shown and "Imported" in shown and reverse("undo_import", args=[store.pk, job.pk]) in shown
    state = browser.get(reverse("import_", args=[store.pk, job.pk]) + "?part=state", headers={"HX-Request": "true"})
    assert state.headers["HX-Refresh"] == "true"
    entries = AuditEntry.objects.of_chain(store.pk).filter(group=job.group).order_by("seq")
    assert [entry.command for entry in entries] == ["start_import", "import", "import"]
    assert {entry.actor_id for entry in entries} == {carol.pk}


@pytest.mark.both_databases
@pytest.mark.both_databases
def test_an_import_is_undone_as_a_whole(store: MemoryStore, carol: User) -> None:
    write(store, "/a.md", "old a")
    browser = signed_in(carol)
    job = brought(browser, store)
    act_on(browser, job, "start_import", **{"choice-0": "take"})
    finished(job)
    address = reverse("undo_import", args=[store.pk, job.pk])
    page = browser.get(address).content.decode()
    digest = re.search(r'name="digest" value="([^"]+)"', page)
    assert digest is not None and "/a.md" in page
    assert browser.post(address, {"digest": digest[1]}).status_code == 303
    assert Memory.objects.at("/a.md").get(store=store).text.content == "old a"
    assert not Memory.objects.at("/b.md").filter(store=store).exists()
    entry = AuditEntry.objects.of_chain(store.pk).filter(command="undo").get()
    shown = text_of(browser, job)
    assert "This import was undone" in shown and reverse("entry", args=[store.pk, entry.seq]) in shown
    assert "undid the import project.zip" in browser.get(reverse("store_audit", args=[store.pk])).content.decode()
    again = reverse("undo_entry", args=[store.pk, entry.seq])
    digest = re.search(r'name="digest" value="([^"]+)"', browser.get(again).content.decode())
    assert digest is not None and browser.post(again, {"digest": digest[1]}).status_code == 303
    assert Memory.objects.at("/b.md").filter(store=store).exists() and "was undone" not in text_of(browser, job)
    assert "was undone" not in text_of(browser, brought(browser, store))


@pytest.mark.both_databases
@pytest.mark.parametrize("place", ["", "/old"])
def test_the_folder_that_was_packed_is_left_out(store: MemoryStore, carol: User, place: str) -> None:
    write(store, f"{place}/n3.md", "three")
    write(store, f"{place}/n1.md", "one, here")
    browser = signed_in(carol)
    packed = [("my (é) folder/n1.md", b"one"), ("my (é) folder/n3.md", b"three"), ("my (é) folder/sub/n4.md", b"four")]
    job = brought(browser, store, archive(*packed, ("my (é) folder/p.png", b"\x89\0")), place=place)
    shown = text_of(browser, job)
    assert "All files are in the folder “my (é) folder”" in shown and f"{place}/my (é) folder/n3.md" in shown
    assert act_on(browser, job, "leave_folder_out", folder="My (é) folder") == 303
    assert "All files are in the folder" in text_of(browser, job), "another folder than was shown is not left out"
    assert act_on(browser, job, "leave_folder_out", folder="my (é) folder") == 303
    items = ImportItem.objects.filter(job=job).order_by("number").values_list("path", "found", "choice")
    assert list(items) == [
        (f"{place}/n1.md", "conflict", "skip"),
        (f"{place}/n3.md", "same", "skip"),
        (f"{place}/sub/n4.md", "new", "take"),
        (f"{place}/p.png", "refused", "skip"),
    ]
    shown = text_of(browser, job)
    assert "is left out of the paths" in shown and "All files are in the folder" not in shown
    act_on(browser, job, "start_import", **{"choice-0": "take"})
    assert act_on(browser, job, "leave_folder_out", folder="sub") == 303 and finished(job).state == ImportState.DONE
    texts = {"n1.md": "one", "n3.md": "three", "sub/n4.md": "four"}
    assert contents(store) == {f"/memories{place}/{name}": text for name, text in texts.items()}
    assert_audit_is_right(store)


@pytest.mark.both_databases
def test_no_folder_is_named_where_files_are_beside_it_or_have_a_history(store: MemoryStore, carol: User) -> None:
    browser = signed_in(carol)
    for beside in ("x.md", "Folder/x.md", "folder.md"):
        job = brought(browser, store, archive(("folder/a.md", b"a"), (beside, b"x")))
        assert "All files are in the folder" not in text_of(browser, job)
        assert act_on(browser, job, "leave_folder_out", folder="folder") == 303
        assert ImportItem.objects.filter(job=job, path="/folder/a.md").exists()
    write(store, "/folder/a.md", "a")
    exported = browser.post(reverse("export_store", args=[store.pk]), {"format": "zip", "history": "on"})
    job = brought(browser, store, b"".join(exported.streaming_content))
    shown = text_of(browser, job)
    assert ImportItem.objects.filter(job=job, memory__isnull=False).exists()
    assert "/folder/a.md" in shown and "All files are in the folder" not in shown


def test_one_choice_for_all_that_meet_another_text(store: MemoryStore, carol: User) -> None:
    for number in range(3):
        write(store, f"/{number}.md", "here")
    browser = signed_in(carol)
    job = brought(browser, store, archive(*[(f"{number}.md", b"there") for number in range(3)]))
    assert act_on(browser, job, "choose_import", all="beside", next="//evil.example") == 303
    act_on(browser, job, "start_import")
    finished(job)
    assert Memory.objects.at("/0 (imported).md").filter(store=store).exists()
    assert set(ImportItem.objects.filter(job=job).values_list("outcome", flat=True)) == {"beside"}
    assert act_on(browser, job, "choose_import", all="take") == 303
    assert act_on(browser, job, "cancel_import") == 303
    assert act_on(browser, job, "start_import") == 303


def test_the_preview_goes_page_by_page(store: MemoryStore, carol: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SIZE", 10)
    browser = signed_in(carol)
    job = finished(brought(browser, store, archive(*[(f"{number:04}.md", b"x") for number in range(15)])))
    first = text_of(browser, job)
    assert "/0000.md" in first and "/0009.md" in first and "/0010.md" not in first and "after=9" in first
    second = text_of(browser, job, "?after=9&show=new")
    assert "/0010.md" in second and "/0014.md" in second
    assert "/0000.md" in text_of(browser, job, "?after=x&show=nothing")


def test_who_may_and_what_is_refused(
    store: MemoryStore, carol: User, alice: User, bob: User, charlie: User, superuser: User
) -> None:
    job = brought(signed_in(carol), store)
    addresses = [reverse("imports", args=[store.pk]), reverse("new_import", args=[store.pk])]
    addresses += [reverse("import_", args=[store.pk, job.pk]), reverse("import_item", args=[store.pk, job.pk, 0])]
    for address in addresses:
        assert signed_in(alice).get(address).status_code == 200
        assert signed_in(bob).get(address).status_code == 403
        assert signed_in(charlie).get(address).status_code == 404
    for name in ("choose_import", "leave_folder_out", "start_import", "cancel_import"):
        address = reverse(name, args=[store.pk, job.pk])
        assert signed_in(alice).get(address).status_code == 405
        assert signed_in(bob).post(address).status_code == 403
        assert signed_in(charlie).post(address).status_code == 404
        assert signed_in(alice).post(reverse(name, args=[store.pk, "import_x"])).status_code == 404
    new = reverse("new_import", args=[store.pk])
    assert "another memory store" not in signed_in(alice).get(new).content.decode()
    assert "another memory store" in signed_in(superuser).get(new).content.decode()
    job.refresh_from_db()
    assert job.state == "preview"


def test_what_is_too_large_or_misplaced_is_said_beside_the_field(
    store: MemoryStore, carol: User, settings: Any
) -> None:
    settings.MEMORYHUB_IMPORT = settings.MEMORYHUB_IMPORT | {"packed": 10 * 1024 * 1024}
    browser, new = signed_in(carol), reverse("new_import", args=[store.pk])
    for data, said in (
        ({"brought": SimpleUploadedFile("a.zip", bytes(11 * 1024 * 1024)), "place": ""}, "The limit is 10 MB"),
        ({"brought": SimpleUploadedFile("a.md", b"text"), "place": "/../x"}, "lead out of the memory store"),
        ({"place": ""}, "Choose what to import"),
        ({"brought": SimpleUploadedFile("a.md", b""), "place": ""}, "There is nothing in it"),
        ({"source": "store", "other-address": "http://127.0.0.1", "place": ""}, "From your disk"),
    ):
        answer = browser.post(new, data)
        assert answer.status_code == 200
        assert said in answer.content.decode() or "source" in data
    assert not Import.objects.exists()


def test_a_superuser_is_told_why_an_address_is_not_asked(store: MemoryStore, superuser: User) -> None:
    browser, new = signed_in(superuser), reverse("new_import", args=[store.pk])
    for address, said in (
        ("http://example.com", "https://"), ("https://127.0.0.1", "private network"), ("https://u:p@x.y", "password"),
        ("https://[::1]/", "private network"), ("nonsense", "not an address"),
    ):  # fmt: skip
        given = {"source": "store", "other-address": address, "other-store": "memstore_1", "other-key": "KEY-777"}
        answer = browser.post(new, given).content.decode()
        assert said in answer and "KEY-777" not in answer
    assert not Import.objects.exists()


@pytest.mark.parametrize("lost", ["role", "account"])
def test_an_import_ends_when_whoever_started_it_may_no_longer_write(
    store: MemoryStore, carol: User, superuser: User, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MOST_ITEMS", 1)
    browser = signed_in(carol)
    job = brought(browser, store)
    finished(job)
    act_on(browser, job, "start_import")
    assert importing.step(job.pk, timezone.now())
    there = contents(store)
    if lost == "role":
        keys_and_roles.set_role(store, carol, Role.VIEWER, **BY)
    else:
        people.set_active(carol, False, **BY)
    assert finished(job).state == ImportState.FAILED and len(there) == 1 and contents(store) == there
    assert "The person who started the import may no longer change memories here." in text_of(signed_in(superuser), job)
    assert_audit_is_right(store)


def test_import_leads_to_the_form_and_the_form_to_earlier_imports(store: MemoryStore, carol: User) -> None:
    browser, new = signed_in(carol), reverse("new_import", args=[store.pk])
    assert f'href="{new}"' in browser.get(reverse("store", args=[store.pk])).content.decode()
    assert "Earlier imports" not in browser.get(new).content.decode()
    brought(browser, store)
    assert "Earlier imports" in browser.get(new).content.decode()
