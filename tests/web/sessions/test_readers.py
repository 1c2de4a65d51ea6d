"""Who has seen a version or a line, against what the answers to the calls really said."""

import random
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import Agent, Door, Memory, MemoryStore, MemoryVersion, Role, Session, User
from memoryhub.web.sessions.readers import query as readers_found
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.in_turn import in_turn
from tests.support.long import tried
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller
from tests.web.sessions.reads import readers, seen, view

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


# ------------------------------------------------------------------------------------------ random calls


@dataclass
class World:
    """Some memories, and for each call that was answered with a text: its entry, its memory, version and lines."""

    caller: Caller
    chance: random.Random
    texts: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    answers: list[tuple[int, str, int, set[str]]] = field(default_factory=list)
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def line(self) -> str:
        return f"line {next(self.numbers):05}."

    def call(self, memory: Memory, command: str, *, id: str | None = None, **input: Any) -> None:
        """A call by one of some sessions, or by none; what its answer shows is read from the answer itself."""
        self.caller.session = self.chance.choice(("one", "two", "three", None))
        result = self.caller.call(command, id=id, **input)
        assert not result.is_error, result.content
        memory.refresh_from_db()
        self.note(memory)
        if command in ("view", "str_replace"):
            shown = {row.partition("\t")[2] for row in result.content.split("\n")[1:] if "\t" in row}
            number = self.replayed[id] if result.replayed and command != "view" else memory.version_count
            self.answers.append((self.caller.last.seq, memory.pk, number, shown))
            self.replayed[id] = number

    replayed: dict[str | None, int] = field(default_factory=dict)

    def note(self, memory: Memory) -> None:
        content = memory.text.content if memory.is_live and memory.text else ""
        self.texts.setdefault(memory.pk, {})[memory.version_count] = content.split("\n")[:-1]

    def step(self, memory: Memory) -> None:
        chance, path, lines = self.chance, f"/memories{memory.path}", self.texts[memory.pk][memory.version_count]
        if not memory.is_live:
            earlier = MemoryVersion.objects.filter(memory=memory, text__isnull=False).order_by("?").first()
            assert earlier is not None
            curation.restore(memory.store_id, earlier.pk, Act(Actor.system("tests"), Door.WEB, self.caller.at))
            memory.refresh_from_db()
            self.note(memory)
            return
        act = chance.choices(
            ("view", "part", "replace", "repeat", "insert", "rename", "delete"), (6, 6, 4, 2, 2, 1, 1)
        )[0]
        id = f"repeated_{next(self.numbers)}"
        if act == "view":
            self.call(memory, "view", path=path)
        elif act == "part" and lines:
            first = chance.randint(1, len(lines))
            self.call(memory, "view", path=path, view_range=[first, chance.randint(first, len(lines))])
        elif act in ("replace", "repeat") and lines:
            old, new = chance.choice(lines), "\n".join(self.line() for _ in range(chance.randint(1, 3)))
            for _ in range(2 if act == "repeat" else 1):
                self.call(memory, "str_replace", id=id, path=path, old_str=old, new_str=new)
        elif act == "insert":
            at = chance.randint(0, len(lines))
            self.call(memory, "insert", path=path, insert_line=at, insert_text=self.line())
        elif act == "rename":
            self.call(memory, "rename", old_path=path, new_path=f"{path}{chance.randrange(10)}")
        elif act == "delete":
            self.call(memory, "delete", path=path)


@pytest.mark.push
@pytest.mark.parametrize("seed", range(tried(15)))
def test_a_line_was_seen_by_whoever_was_answered_with_it(seed: int, store: MemoryStore, key: str, bob: User) -> None:
    chance = random.Random(seed)
    world = World(Caller(store, key), chance)
    memories = []
    for path in ("/a.md", "/d/b.md"):
        memory = world.caller.create(path, "".join(f"{world.line()}\n" for _ in range(12)))
        world.note(memory)
        memories.append(memory)
    for _ in range(60):
        world.step(chance.choice(memories))
    for memory in memories:
        places = [(n, at, line) for n, lines in world.texts[memory.pk].items() for at, line in enumerate(lines, 1)]
        for number, at, line in chance.sample(places, min(8, len(places))):
            expected = {(seq, v) for seq, pk, v, lines in world.answers if pk == memory.pk and line in lines}
            assert seen(bob, memory, version=number, line=at) == expected
        for number in chance.sample(sorted(world.texts[memory.pk]), 3):
            expected = {(seq, v) for seq, pk, v, _ in world.answers if pk == memory.pk and v == number}
            assert seen(bob, memory, version=number) == expected


# ------------------------------------------------------------------------------------------ what the page says


@pytest.mark.both_databases
def test_a_line_is_followed_through_the_versions_in_which_it_stands(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\ntwo\n")
    first = view(caller, "/a.md", "first")
    caller.replace("/a.md", "two", "poison\nthree")
    other = view(caller, "/a.md", "part", view_range=[1, 1])
    second = view(caller, "/a.md", "second", view_range=[2, 3])
    caller.call("insert", path="/memories/a.md", insert_line=0, insert_text="zero")
    third = view(caller, "/a.md", "third")
    caller.replace("/a.md", "poison\n", "")
    fourth = view(caller, "/a.md", "fourth")
    response = readers(bob, memory, version=2, line=2)
    made = MemoryVersion.objects.get(memory=memory, number=2).seq
    assert seen(bob, memory, version=2, line=2) == {(made, 2), (second, 2), (third, 3)}
    assert {first, other, fourth}.isdisjoint(seq for seq, _ in seen(bob, memory, version=2, line=2))
    followed = response.context["followed"]
    assert (followed.origin.number, followed.origin.line, followed.lines) == (2, 2, {2: 2, 3: 3})
    assert (followed.now, followed.gone) == (None, 4)
    body = response.content.decode()
    assert "versions 2 to 3" in body and "The line was removed in version 4." in body
    assert "was shown its own text" in body and "(there it was line 3)" in body
    assert "poison" in body
    assert [group.session.name for group in response.context["groups"]] == ["third", "second", "first"]


def test_a_line_that_is_asked_for_in_a_later_version_is_followed_from_its_origin(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "poison\n")
    read = view(caller, "/a.md", "early")
    caller.call("insert", path="/memories/a.md", insert_line=0, insert_text="zero")
    assert seen(bob, memory, version=2, line=2) == {(read, 1)}
    assert readers(bob, memory, version=2, line=2).context["followed"].now == 2


def test_what_a_session_wrote_afterwards_is_listed_and_nothing_from_before(
    caller: Caller, store: MemoryStore, bob: User
) -> None:
    memory = caller.create("/a.md", "poison\n")
    caller.session = "victim"
    caller.create("/before.md", "x\n")
    view(caller, "/a.md", "victim")
    caller.create("/after.md", "y\n")
    caller.replace("/after.md", "y", "z")
    caller.call("rename", old_path="/memories/after.md", new_path="/memories/moved.md")
    caller.call("str_replace", path="/memories/nothing.md", old_str="a", new_str="b")
    view(caller, "/a.md", "idle")
    assert ">wrote it<" not in readers(bob, memory).content.decode()
    idle, victim = readers(bob, memory).context["groups"]
    assert (idle.session.name, list(idle.written), idle.more) == ("idle", [], False)
    assert [(w.command, w.path, w.number) for w in victim.written] == [
        ("create", "/after.md", 1), ("str_replace", "/after.md", 2), ("rename", "/after.md", 3),
    ]  # fmt: skip
    body = readers(bob, memory).content.decode()
    assert "The session wrote nothing afterwards." in body
    after = Memory.objects.get(store=store, path="/moved.md")
    assert reverse("version", args=[store.pk, after.head_id]) in body
    assert f"{reverse('compare', args=[store.pk, after.pk])}?to=2" in body
    assert reverse("session", args=[victim.session.pk]) in body


def test_what_a_session_wrote_in_other_stores_is_shown_to_those_who_may_see_them(
    caller: Caller, store: MemoryStore, agent: Agent, bob: User, superuser: User
) -> None:
    other = stores.create_store(stores.StoreSettings(name="Elsewhere"), **BY)
    secret = keys_and_roles.issue_key(agent, stores=[other], access=keys_and_roles.Access.WRITE, **BY)[1]
    memory = caller.create("/a.md", "poison\n")
    there = Caller(other, secret, at=caller.at, session="victim")
    there.create("/before.md", "x\n")
    caller.at = there.at
    view(caller, "/a.md", "victim")
    there.at = caller.at
    there.create("/spread.md", "poison\n")
    assert "/spread.md" not in readers(bob, memory).content.decode()
    body = readers(superuser, memory).content.decode()
    assert "/spread.md" in body and "in Elsewhere" in body and "/before.md" not in body
    keys_and_roles.set_role(other, bob, Role.VIEWER, **BY)
    assert "/spread.md" in readers(bob, memory).content.decode()


@pytest.mark.both_databases
def test_each_further_session_costs_one_query_in_every_store_where_it_acted(
    caller: Caller, agent: Agent, superuser: User
) -> None:
    other = stores.create_store(stores.StoreSettings(name="Elsewhere"), **BY)
    secret = keys_and_roles.issue_key(agent, stores=[other], access=keys_and_roles.Access.WRITE, **BY)[1]
    memory, there = caller.create("/a.md", "poison\n"), Caller(other, secret, at=caller.at)
    counts: list[int] = []
    for number in range(6):
        view(caller, "/a.md", f"reader-{number}")
        there.at, there.session = caller.at, f"reader-{number}"
        there.create(f"/{number}.md", "poison\n")
        caller.at = there.at
        with CaptureQueriesContext(connection) as queries:
            assert f"/{number}.md" in readers(superuser, memory).content.decode()
        counts.append(len(queries))
    assert counts[-1] - counts[1] == 2 * 4


def test_calls_without_a_session_are_listed_by_agent(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    view(caller, "/a.md", None)
    view(caller, "/a.md", None)
    (group,) = readers(bob, memory).context["groups"]
    assert (group.session, len(group.seen)) == (None, 2)
    body = readers(bob, memory).content.decode()
    assert "without a session" in body and "Support bot" in body


@pytest.mark.both_databases
def test_repeated_calls_are_said_to_be_ones(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    same = {"path": "/memories/a.md", "old_str": "one", "new_str": "two"}
    caller.call("str_replace", id="toolu_same", **same)
    made = caller.last.seq
    caller.session = "again"
    caller.call("str_replace", id="toolu_same", **same)
    assert seen(bob, memory, version=2) == {(made, 2), (caller.last.seq, 2)}
    body = readers(bob, memory, version=2).content.decode()
    assert f"repeats #{made}" in body and "repeated a call and was shown again" in body
    caller.replace("/a.md", "two", "three")
    caller.call("str_replace", id="toolu_same", **same)
    late = caller.last.seq
    assert (late, 2) in seen(bob, memory, version=2)
    assert late not in {seq for seq, _ in seen(bob, memory, version=3)}


def test_a_cut_answer_showed_no_more_than_it_did(caller: Caller, store: MemoryStore, bob: User) -> None:
    with tampering():
        MemoryStore.objects.filter(pk=store.pk).update(limit_view_characters=100)
    memory = caller.create("/a.md", "".join(f"line {n} of a text that is too long to be shown\n" for n in range(9)))
    read = view(caller, "/a.md", "reader")
    assert seen(bob, memory, version=1, line=1) == {(read, 1)}
    assert seen(bob, memory, version=1, line=9) == set()
    assert "cut at the limit" in readers(bob, memory).content.decode()


def test_a_download_by_a_person_is_told(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    signed_in(alice).post(reverse("download_memory", args=[memory.store_id, memory.pk]))
    (group,) = readers(bob, memory, version=1, line=1).context["groups"]
    assert group.last.label == "Alice"
    assert "downloaded" in readers(bob, memory).content.decode()


def test_a_redacted_version_keeps_who_had_seen_it(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\nsecret\n")
    read = view(caller, "/a.md", "reader")
    with tampering():
        MemoryVersion.objects.filter(memory=memory).update(text=None, redacted_at=BY["at"], redacted_by="u")
    assert seen(bob, memory, version=1) == {(read, 1)}
    assert "The text of this version was redacted later" in readers(bob, memory, version=1).content.decode()
    assert seen(bob, memory, version=1, line=2) == {(read, 1)}


def test_between_versions_with_a_line_a_redacted_one_may_have_had_it(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\nb\n")
    caller.replace("/a.md", "b", "secret")
    read = view(caller, "/a.md", "reader")
    caller.replace("/a.md", "secret", "harmless")
    with tampering():
        MemoryVersion.objects.filter(memory=memory, number=2).update(text=None, redacted_at=BY["at"], redacted_by="u")
    assert (read, 2) in seen(bob, memory, version=3, line=1)
    assert "it may have contained the line" in readers(bob, memory, version=3, line=1).content.decode()
    assert "One of the versions 2 to 3." in readers(bob, memory, version=3, line=2).content.decode()


def test_the_session_that_wrote_a_line_and_saw_it_is_marked(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    caller.session = "writer"
    caller.replace("/a.md", "one", "poison")
    view(caller, "/a.md", "victim")
    for page, words in (
        (readers(bob, memory, line=1), "wrote the line"),
        (readers(bob, memory, version=2), "wrote it"),
    ):
        groups, body = page.content.decode().split('class="row readers-group"')[1:], f">{words}<"
        assert [body in group for group in groups] == [False, True]


@pytest.mark.both_databases
def test_nobody_has_seen_what_nobody_read(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    assert "No agent has seen this memory" in readers(bob, memory).content.decode()
    assert "No agent has seen this version" in readers(bob, memory, version=1).content.decode()
    facts = signed_in(bob).get(reverse("memory", args=[memory.store_id, memory.pk])).content.decode()
    assert "<dt>Reads by agents</dt><dd>0</dd>" in facts
    assert "No session has seen this line" in readers(bob, memory, version=1, line=1).content.decode()
    caller.delete("/a.md")
    assert "This version deleted the memory" in readers(bob, memory, version=2).content.decode()


def test_the_page_says_where_reading_by_people_is_recorded_and_leads_admins_there(
    caller: Caller, alice: User, bob: User
) -> None:
    memory = caller.create("/a.md", "one\n")
    unrecorded, settings = "What people read in the browser is not recorded", "#id_records_views"
    unread = readers(alice, memory).content.decode()
    assert unrecorded in unread and settings in unread
    caller.call("view", path="/memories/a.md")
    read = readers(bob, memory).content.decode()
    assert unrecorded in read and settings not in read
    stores.edit_store(caller.store, replace(StoreSettings.of(caller.store), records_views=True), **BY)
    assert unrecorded not in readers(bob, memory).content.decode()


@pytest.mark.both_databases
def test_pages_go_on_from_the_entry_that_was_looked_at_last(
    caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = caller.create("/a.md", "one\ntwo\n")
    reads = {(view(caller, "/a.md", f"run-{n % 7}", view_range=[1, 1 + n % 2]), 1) for n in range(24)}
    for name, value in (("LOOK", 9), ("CHUNK", 4)):
        monkeypatch.setattr(readers_found, name, value)
    assert seen(bob, memory) == reads
    assert len(seen(bob, memory, version=1, line=2)) == 12
    assert "Earlier calls" in readers(bob, memory).content.decode()


@pytest.mark.push
@in_turn("line", ["x", "0", "-1", "3", "9" * 40, "²", "<b>"])
def test_a_line_that_there_is_not_gets_a_sentence(line: str, caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "one\ntwo\n")
    response = readers(bob, memory, line=line, before="x")
    assert "This version has no line" in response.content.decode()
    assert response.context["followed"] is None
    assert "This memory has no version" in readers(bob, memory, version=line).content.decode() or line in ("1", "2")


def test_hostile_texts_and_names_are_inert(store: MemoryStore, bob: User) -> None:
    agent = keys_and_roles.create_agent(HOSTILE, **BY)
    secret = keys_and_roles.issue_key(agent, stores=[store], access=keys_and_roles.Access.WRITE, **BY)[1]
    caller = Caller(store, secret)
    memory = caller.create("/<b>&quot;.md", HOSTILE)
    view(caller, "/<b>&quot;.md", HOSTILE.encode("ascii", "ignore").decode())
    for body in (readers(bob, memory).content.decode(), readers(bob, memory, version=1, line=1).content.decode()):
        assert "<script>alert" not in body
        assert "\u202e" not in body
        assert "<b>&quot" not in body


def test_who_has_no_role_finds_nothing_and_the_page_only_shows(
    caller: Caller, alice: User, bob: User, charlie: User
) -> None:
    memory = caller.create("/a.md", "a\n")
    address = reverse("readers", args=[memory.store_id, memory.pk])
    assert [signed_in(user).get(address).status_code for user in (alice, bob, charlie)] == [200, 200, 404]
    assert Client().get(address).status_code == 302
    assert signed_in(alice).post(address).status_code == 405
    root = new_person("Root", is_superuser=True)
    assert signed_in(root).get(address.replace(memory.pk, "mem_x")).status_code == 404


def test_a_version_and_a_session_lead_to_each_other(caller: Caller, bob: User) -> None:
    memory = caller.create("/a.md", "a\n")
    page = signed_in(bob).get(reverse("version", args=[memory.store_id, memory.head_id])).content.decode()
    assert f"{reverse('readers', args=[memory.store_id, memory.pk])}?version=1" in page
    versions = signed_in(bob).get(reverse("versions", args=[memory.store_id, memory.pk])).content.decode()
    assert reverse("session", args=[Session.objects.get().pk]) in versions
