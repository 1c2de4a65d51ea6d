"""A decision about a version that tells the agent its note."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.review import decisions
from memoryhub.models import Agent, MemoryStore, Review, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.review.reviewing import decide, inbox, state, versions

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


def test_the_note_of_a_decision_says_that_the_agent_does_not_see_it_and_is_told_with_a_press(
    caller: Caller, alice: User
) -> None:
    memory = caller.create("/a.md", "one\n")
    caller.replace("/a.md", "one", "two")
    client, wrong = signed_in(alice), versions(memory)[1]
    line = decide(client, wrong, "revert", htmx=True, note="One is right").content.decode()
    assert "The agent does not see the note." in line and "Tell Support bot" in line
    told = {"version": wrong.pk, "text": "One is right", "tell": Agent.objects.get().pk}
    url = reverse("comments", args=[caller.store.pk, memory.pk])
    answer = client.post(url, told, headers={"HX-Request": "true"}).content.decode()
    assert "Support bot reads this when it next views the memory." in answer and "<html" not in answer
    assert "One is right" in caller.call("view", path="/memories/a.md").content
    refused = client.post(url, told | {"text": "x" * 501}, headers={"HX-Request": "true"}).content.decode()
    assert "one line of at most 500 visible characters" in refused and "Comment on this memory" in refused


def test_a_decision_offers_to_tell_the_agent_only_where_it_can_read_a_note(caller: Caller, alice: User) -> None:
    client = signed_in(alice)
    assert (
        "Tell Support bot"
        not in decide(client, caller.create("/a.md", "a\n").head, "approve", htmx=True).content.decode()
    )
    gone = decide(client, caller.create("/b.md", "b\n").head, "revert", htmx=True, note="Not here")
    assert "Not here" in gone.content.decode() and "Tell Support bot" not in gone.content.decode()


@pytest.mark.both_databases
@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_the_note_of_a_decision_tells_the_agent_where_that_is_ticked(
    caller: Caller, alice: User, htmx: bool, first: bool
) -> None:
    memory = caller.create("/a.md", "one\n")
    if not first:
        caller.replace("/a.md", "one", "two")
    client, wrong = signed_in(alice), versions(memory)[-1]
    ticks = f'name="tell" value="{Agent.objects.get().pk}"'
    version_page = client.get(reverse("version", args=[caller.store.pk, wrong.pk])).content.decode()
    assert ticks in inbox(client).content.decode() and ticks in version_page
    tell = {"htmx": htmx, "tell": Agent.objects.get().pk}
    for note, why in (("", "Write in the note"), ("x" * 501, "one line of at most 500 visible characters")):
        refused = decide(client, wrong, "revert", note=note, **tell).content.decode()
        assert why in refused and f"{ticks} checked" in refused and state(wrong) == "unreviewed"
    done = decide(client, wrong, "revert", note="One is right", **tell)
    said = done.content.decode() if htmx else client.get(done.url).content.decode()
    assert "The agent does not see the note." not in said
    assert ("reads the note when it next views the memory." in said) != first
    assert ("reads the note only if it views the memory after the memory is restored." in said) == first
    if first:
        seq = Review.objects.get().seq
        client.post(reverse("undo_decision", args=[caller.store.pk, seq]))
    assert "One is right" in caller.call("view", path="/memories/a.md").content


def test_what_is_approved_anyway_still_tells_the_agent(caller: Caller, alice: User, bob: User) -> None:
    memory = caller.create("/a.md", "one\n")
    decisions.claim(caller.store.pk, memory.pk, bob, timezone.now())
    client, agent = signed_in(alice), Agent.objects.get().pk
    refused = decide(client, versions(memory)[0], "approve", htmx=True, note="Good", tell=agent).content.decode()
    assert f'name="tell" value="{agent}"><input type="hidden" name="next"' in refused


@pytest.mark.both_databases
@pytest.mark.parametrize("htmx", [False, True])
def test_nothing_filled_in_is_lost_where_a_revert_asks_what_to_keep(caller: Caller, alice: User, htmx: bool) -> None:
    memory = caller.create("/a.md", "one\n")
    caller.replace("/a.md", "one", "two")
    caller.replace("/a.md", "two", "three")
    client, wrong, agent = signed_in(alice), versions(memory)[1], Agent.objects.get().pk
    given = {"note": "One is right", "tell": agent, "next": "/review?order=oldest"}
    answer = decide(client, wrong, "revert", htmx=htmx, **given)
    page = client.get(answer.headers["HX-Redirect"] if htmx else answer.url)
    html = page.content.decode()
    assert 'value="One is right"' in html and f'name="tell" value="{agent}" checked' in html
    assert 'name="next" value="/review?order=oldest"' in html
    sent = given | {"digest": page.context["plan"].digest, f"choice-{memory.pk}": "before"}
    for note, why in (("", "Write in the note"), ("x" * 501, "one line of at most 500 visible characters")):
        refused = client.post(page.request["PATH_INFO"], sent | {"note": note}).content.decode()
        assert why in refused and f'name="tell" value="{agent}" checked' in refused and state(wrong) == "unreviewed"
    done = client.post(page.request["PATH_INFO"], sent, follow=True).content.decode()
    assert "reads the note when it next views the memory." in done
    assert "One is right" in caller.call("view", path="/memories/a.md").content


def test_the_note_of_a_decision_says_for_whom_it_is(caller: Caller, alice: User) -> None:
    caller.create("/a.md", "one\n")
    html = inbox(signed_in(alice)).content.decode()
    assert 'placeholder="Note (optional)" ' in html and 'data-for-agent="Note for colleagues and the agent"' in html
