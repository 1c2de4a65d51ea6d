"""A memory that is removed permanently leaves no text behind, whatever wrote it, and the audit still verifies."""

import pytest
from django.db.models import Sum
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.comments import comments
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import redaction, whole
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Door, Growth, HoldKind, Memory, MemoryStore, MemoryVersion, User
from tests.redaction import looking
from tests.support.fixtures import BY, signed_in
from tests.support.long import LONG
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db

WORD = "quellenberg"
ACT = Act(Actor.system("tests"), Door.API, BY["at"])


def standing() -> list[str]:
    """The columns of the database in which the word is, but for the paths."""
    return [column for column, values in looking.columns() if WORD.encode() in values]


@pytest.fixture
def caller(store: MemoryStore, key: str, alice: User) -> Caller:
    """An agent and a person that wrote a memory, under two paths."""
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", f"one {WORD}\n")
    caller.call("view", path="/memories/a.md")
    caller.replace("/a.md", "one", f"{WORD} two")
    caller.call("str_replace", path="/memories/a.md", old_str=f"no {WORD}", new_str="x")
    caller.call("create", path="/memories/a.md", file_text=f"again {WORD}")
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/b.md")
    caller.call("insert", path="/memories/b.md", insert_line=0, insert_text=f"zero {WORD}\n")
    memory = Memory.objects.at("/b.md").get(store=store)
    curation.edit(store.pk, memory.pk, f"{WORD} by a person\n", memory.sha256, act(alice))
    caller.edit("/b.md", f"{WORD} by the API\n")
    caller.create("/other.md", "something else\n")
    return caller


def removed(store: MemoryStore, *memories: Memory) -> int:
    done = whole.remove_memories(
        store.pk, [memory.pk for memory in memories], Act(Actor.system("tests"), Door.API, timezone.now())
    )
    assert verify.verify(store.pk)[1] is None
    return done


@pytest.mark.push
@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("is_live", [True, False])
def test_no_text_of_a_removed_memory_is_left(store: MemoryStore, caller: Caller, is_live: bool) -> None:
    memory = Memory.objects.at("/b.md").get(store=store)
    if not is_live:
        caller.delete("/b.md")
    assert len(standing()) > 2
    assert removed(store, memory) == 1
    assert standing() == []
    assert list(Memory.objects.filter(store=store).values_list("path", flat=True)) == ["/other.md"]
    last = AuditEntry.objects.of_chain(store.pk).newest().first()
    assert last is not None and (last.command, last.path) == ("purge", "/b.md"), "the audit says what was there"
    assert removed(store, memory) == 0


def test_the_figures_do_not_count_it_any_more(store: MemoryStore, caller: Caller) -> None:
    assert figures.catch_up()
    assert removed(store, Memory.objects.at("/b.md").get(store=store)) == 1
    caller.delete("/other.md")
    caller.create("/new.md", "new\n")
    assert removed(store, Memory.objects.in_trash().get(store=store), Memory.objects.at("/new.md").get()) == 2
    assert figures.catch_up()
    grown = Growth.objects.filter(store=store).aggregate(memories=Sum("memories"), bytes=Sum("bytes"))
    assert grown == {"memories": 0, "bytes": 0}


def test_an_admin_removes_it_by_its_name_and_others_do_not(
    store: MemoryStore, caller: Caller, alice: User, bob: User
) -> None:
    memory = Memory.objects.at("/b.md").get(store=store)
    comments.write(store.pk, memory.pk, memory.head_id, (1, 1), f"Is {WORD} right?", act(alice))
    address = reverse("remove_memories", args=[store.pk])
    admin = signed_in(alice)
    assert signed_in(bob).get(address, {"id": memory.pk}).status_code == 403
    assert admin.get(address).status_code == 302 == admin.get(address, {"id": "mem_none"}).status_code
    for page in ("memory", "delete_memory"):
        html = admin.get(reverse(page, args=[store.pk, memory.pk])).content.decode()
        assert (f"{address}?id={memory.pk}" in html) == (page == "delete_memory")
    html = admin.get(address, {"id": memory.pk}).content.decode()
    assert "This cannot be undone." in html and "6 versions" in html
    assert "not the name" in admin.post(address, {"id": memory.pk, "name": "a.md"}).content.decode()
    done = admin.post(address, {"id": memory.pk, "name": "b.md", "note": "GDPR"}, follow=True).content.decode()
    assert "was removed permanently, with its history. The proof is" in done
    last = AuditEntry.objects.of_chain(store.pk).newest()[0]
    entry, export = reverse("entry", args=[store.pk, last.seq]), reverse("export_store", args=[store.pk])
    assert f'<a href="{entry}">entry {last.seq} of the audit</a>' in done and last.command == "purge"
    assert f'<a href="{export}?format=signed">export it for an auditor</a>' in done
    assert standing() == [] and AuditEntry.objects.of_chain(store.pk).newest()[0].note == "GDPR"
    assert "removed permanently" in admin.get(f"/stores/{store.pk}/audit").content.decode()


def test_several_are_removed_from_the_trash_but_not_what_is_held(
    store: MemoryStore, caller: Caller, alice: User
) -> None:
    for path in ("/b.md", "/other.md"):
        caller.delete(path)
    held, other = Memory.objects.filter(store=store).order_by("path")
    holds.place(store.pk, act(alice), kind=HoldKind.HOLD, memory=held.pk, reason="A case")
    admin, address = signed_in(alice), reverse("remove_memories", args=[store.pk])
    assert f'formaction="{address}"' in admin.get(reverse("trash", args=[store.pk])).content.decode()
    html = admin.post(address, {"id": [held.pk, other.pk]}).content.decode()
    assert (
        "Legal hold: no policy, agent or person can remove it." in html
        and "A case" in html
        and "Remove 1 memory permanently" in html
    )
    done = admin.post(address, {"id": [held.pk, other.pk], "name": store.name}, follow=True).content.decode()
    assert reverse("entry", args=[store.pk, AuditEntry.objects.of_chain(store.pk).newest()[0].seq]) in done
    assert list(Memory.objects.filter(store=store)) == [held] and removed(store, held) == 0


def test_the_answer_to_removing_several_links_their_entries(store: MemoryStore, caller: Caller, alice: User) -> None:
    ids = list(Memory.objects.filter(store=store).values_list("pk", flat=True))
    given = {"id": ids, "name": store.name}
    done = signed_in(alice).post(reverse("remove_memories", args=[store.pk]), given, follow=True).content.decode()
    entries = reverse("store_audit", args=[store.pk]) + "?command=purge"
    assert f'2 memories were removed permanently, with their history. The proof is <a href="{entries}">' in done


@pytest.mark.both_databases
def test_what_other_memories_say_stays_in_the_audit(store: MemoryStore, key: str) -> None:
    """Another memory took the path of one in the trash, and others were written while a redacted version stood."""
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", "one\n")
    first = Memory.objects.at("/a.md").get(store=store)
    caller.create("/other.md", f"{WORD}\n")
    caller.replace("/a.md", "one", "two")
    redaction.redact_version(store.pk, str(first.head_id), ACT)
    caller.delete("/a.md")
    caller.create("/a.md", f"a new {WORD}\n")
    caller.replace("/a.md", "new", f"newer {WORD}")
    caller.call("str_replace", path="/memories/a.md", old_str=f"no {WORD}", new_str="x")

    def said() -> list[tuple[str | None, str | None]]:
        entries = AuditEntry.objects.of_chain(store.pk).filter(input__contains=WORD).oldest()
        return list(entries.values_list("input", "message"))

    before = said()
    assert len(before) == 4
    deletion = MemoryVersion.objects.of_memory(first).get(operation="deleted")
    redaction.redact_version(store.pk, deletion.pk, ACT)
    assert said() == before
    assert removed(store, first) == 1
    assert said() == before


def test_a_memory_that_moved_very_often_is_removed(store: MemoryStore, key: str) -> None:
    caller = Caller(store, key)
    caller.create("/0.md", f"{WORD}\n")
    for number in range(1_000 if LONG else 20):
        caller.call("rename", old_path=f"/memories/{number}.md", new_path=f"/memories/{number + 1}.md")
    assert removed(store, Memory.objects.live().get(store=store)) == 1 and standing() == []
