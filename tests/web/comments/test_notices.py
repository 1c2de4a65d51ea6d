"""Who is told of a comment, where they find it, and how they put it away."""

import random
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.comments import notices
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.actions.review import assignments
from memoryhub.models import Comment, Door, Memory, MemoryStore, Notice, Role, User
from memoryhub.web.today import for_you
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.long import some
from tests.web.comments.test_comments import answer, begin, caller, carla, memory, newest, page

__all__ = ["caller", "carla", "memory"]

pytestmark = pytest.mark.django_db


def today(user: User) -> str:
    return str(signed_in(user).get(reverse("today")).content.decode())


def put_away(user: User, memory: Memory, thread: str) -> int:
    return signed_in(user).post(reverse("put_away_comment", args=[memory.store_id, thread])).status_code


def test_who_is_named_finds_the_comment_on_today_until_they_put_it_away(
    memory: Memory, carla: User, bob: User, alice: User
) -> None:
    begin(carla, memory, "@bob, is <b>this</b> right?", lines="2")
    comment = newest()
    body = today(bob)
    assert "Carla mentioned you on /a.md" in body
    assert "is &lt;b&gt;this&lt;/b&gt; right?" in body
    assert f"{comment.pk}#{comment.pk}" in body
    assert "notice for you" in body
    assert "For you" not in today(alice)
    assert "For you" not in today(carla)
    conversation = reverse("comment", args=[memory.store_id, comment.pk])
    assert "This conversation is for you." in signed_in(bob).get(conversation).content.decode()
    assert put_away(bob, memory, comment.pk) == 303
    assert "For you" not in today(bob)
    assert "This conversation is for you." not in signed_in(bob).get(conversation).content.decode()


def test_an_answer_is_told_to_all_who_wrote_there_and_answering_puts_it_away(
    memory: Memory, carla: User, alice: User, bob: User
) -> None:
    begin(carla, memory, "Is this right?")
    first = newest()
    answer(alice, first, "reply", "Yes.")
    assert "Alice replied on /a.md" in today(carla)
    answer(carla, first, "reply", "Thank you, @Bob@example.com too.")
    assert "For you" not in today(carla)
    assert "Carla replied on /a.md" in today(alice)
    assert "Carla mentioned you" in today(bob)
    answer(alice, first, "reply", "Indeed.")
    assert "Carla mentioned you" in today(bob), "who did not write there is told of no answers"
    answer(alice, first, "resolve")
    assert "For you" not in today(alice)


def test_an_edit_tells_only_whom_it_names_in_addition(memory: Memory, carla: User, bob: User, alice: User) -> None:
    begin(carla, memory, "@Bob, is this right?")
    put_away(bob, memory, newest().pk)
    answer(carla, newest(), "edit", "@Bob and @Alice, is this right?")
    assert "For you" not in today(bob)
    assert "Carla mentioned you" in today(alice)
    answer(carla, newest(), "delete")
    assert "For you" not in today(alice)


@pytest.mark.both_databases
def test_a_name_counts_although_somebody_else_answers_after_it(memory: Memory, carla: User, alice: User) -> None:
    dora = new_person("Dora", is_superuser=True)
    begin(alice, memory, "Is this right?")
    first = newest()
    answer(carla, first, "reply", "Ask @Alice.")
    answer(dora, first, "reply", "Or somebody else.")
    body = today(alice)
    assert "Carla mentioned you" in body
    assert "Ask @Alice." in body
    assert "Dora" not in body
    carlas = Comment.objects.get(text="Ask @Alice.")
    answer(carla, carlas, "edit", "Ask somebody.")
    assert "mentioned you" not in today(alice)


def test_a_curator_is_offered_all_who_can_see_the_store_also_administrators_of_the_hub(
    memory: Memory, carla: User, bob: User
) -> None:
    root = new_person("Ada Root", is_superuser=True)
    new_person("Stranger")
    body = page(carla, memory)
    assert f'<option value="{bob}">' in body and '<option value="Ada Root">' in body
    assert "Stranger" not in body and f'<option value="{carla}">' not in body
    begin(carla, memory, "@Ada Root is this allowed?")
    assert "Carla mentioned you on /a.md" in today(root)


def test_a_first_name_that_one_member_has_tells_them_and_the_page_says_whom(
    memory: Memory, carla: User, store: MemoryStore
) -> None:
    mina, ann, anna = new_person("Mina Park"), new_person("Ann Lee"), new_person("Ann Rey")
    new_person("Mina Root", is_superuser=True)
    for one in (mina, ann, anna):
        keys_and_roles.set_role(store, one, Role.VIEWER, **BY)
    sent = begin(carla, memory, "@Mina please check this one, or @ann or @Tom (a@b.c)", lines="2")
    assert "Carla mentioned you on /a.md" in today(mina) and "line 2" in today(mina)
    assert "For you" not in today(ann) + today(anna)
    body = " ".join(signed_in(carla).get(sent.headers["Location"]).content.decode().split())
    assert "These people get a notice on their page “Today”: <b>Mina Park</b>" in body
    assert "<b>@ann</b> reached nobody" in body and "<b>@Tom</b> reached nobody" in body
    assert "@b.c</b>" not in body and "Told on" not in page(carla, memory)


@pytest.mark.both_databases
def test_viewers_are_told_but_both_sides_read_that_they_cannot_answer(
    memory: Memory, carla: User, bob: User, alice: User
) -> None:
    why = "only curators and admins of the memory store can answer"
    sent = begin(carla, memory, f"@{bob} and @{alice}, is this true?")
    told = " ".join(signed_in(carla).get(sent.headers["Location"]).content.decode().split())
    assert f"<b>{bob}</b> (as a viewer, cannot answer)" in told and f"<b>{alice}</b></span>" in told.replace(
        " </", "</"
    )
    html = page(carla, memory)
    assert re.search(rf"{bob}[^<>]* \(cannot answer\)</option>", html) and html.count("(cannot answer)") == html.count(
        'class="tell"'
    )
    assert why not in html and why in page(bob, memory)
    conversation = reverse("comment", args=[memory.store_id, Comment.objects.get().pk])
    assert why in signed_in(bob).get(conversation).content.decode()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@mina", "1"), ("ask @Mina.", "1"), ("@Mina Park", "1"), ("@mina@other.org", ""), ("@mina.p", ""),
        ("@minas", ""), ("@Bo", "2"), ("@Bo Lee", "3"), ("x@mina", ""),
    ],
)  # fmt: skip
def test_a_first_name_is_a_word_of_its_own_and_yields_to_whole_names(text: str, named: str) -> None:
    names = ["Mina Park", "Bo", "Bo Lee"]
    people = [User(id=str(n), name=name, email=f"{n}@x.org") for n, name in enumerate(names, 1)]
    assert notices.named_in(text, people) == {*named}


def test_what_is_assigned_for_review_is_for_the_person(memory: Memory, carla: User, bob: User, alice: User) -> None:
    act = Act(Actor.person(alice), Door.WEB, timezone.now())
    assignments.assign(memory.store_id, memory.pk, carla.pk, act)
    assert "1 memory is assigned to you for review" in today(carla) and "?is=mine" in today(carla)
    assert "For you" not in today(alice)


def test_of_many_comments_some_are_shown_and_the_others_counted(
    memory: Memory, carla: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(for_you, "SIZE", 1)
    for number in range(3):
        begin(carla, memory, f"@Bob {number}")
    body = today(bob)
    assert body.count("Carla mentioned you") == 1
    assert "2 more appear when you put some of these away." in body


def test_nobody_is_told_who_may_not_see_the_store(memory: Memory, carla: User, bob: User, store: MemoryStore) -> None:
    stranger = new_person("Stranger")
    begin(carla, memory, "@Stranger and @Bob: look")
    assert not Notice.objects.filter(to=stranger).exists()
    keys_and_roles.set_role(store, bob, None, **BY)
    assert "For you" not in today(bob)
    keys_and_roles.set_role(store, stranger, Role.VIEWER, **BY)
    assert "For you" not in today(stranger)


@pytest.mark.both_databases
def test_what_is_told_goes_with_the_memory(memory: Memory, carla: User, bob: User, store: MemoryStore) -> None:
    begin(carla, memory, "@Bob look")
    assert notices.waiting_for(bob, [store.pk]).count() == 1
    act = Act(Actor.person(carla), Door.WEB, timezone.now())
    curation.delete(store.pk, "/a.md", act)
    with tree.locked(store.pk, act) as locked:
        gone = removal.purge(locked, memory.pk)
        tree.commit(locked, Record("purge", path="/a.md", memory=memory.pk, redactions=gone.redactions))
    assert not notices.waiting_for(bob, [store.pk]).exists()


@pytest.mark.parametrize("seed", some(range(200), 5))
def test_names_are_found_as_somebody_would_who_compares_letter_by_letter(seed: int) -> None:
    chance = random.Random(seed)
    people = [
        User(id=str(n), name=name, email=f"{name[0].lower()}{n}@x.org")
        for n, name in enumerate(["Ann", "Ann Lee", "Bo", "Bob", "Ünal Öz", "C. (x)"])
    ]
    words = ["@", " ", "ann", "Ann", " Lee", "Bob", "Bo", "ünal öz", "C. (x)", "b3@x.org", ",", "x", "\n"]
    text = "".join(chance.choice(words) for _ in range(chance.randrange(1, 12)))
    names = {name.casefold(): user.pk for user in people for name in (str(user), user.email)}
    expected, low = set(), text.casefold()
    for at in range(len(low)):
        if low[at] != "@" or (at and (low[at - 1].isalnum() or low[at - 1] == "_")):
            continue
        fits = [
            name
            for name in names
            if low.startswith(name, at + 1)
            and not (low[at + 1 + len(name) :][:1].isalnum() or low[at + 1 + len(name) :][:1] == "_")
        ]
        expected |= {names[max(fits, key=len)]} if fits else set()
    assert notices.named_in(text, people) == expected, text
