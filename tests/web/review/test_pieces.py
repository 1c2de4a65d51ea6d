"""Approving more versions than one act takes: in pieces, with progress, and undone as one."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Agent, AuditEntry, Memory, MemoryStore, Role, User
from memoryhub.pure import ids
from memoryhub.web.review import bulk, decided, pieces
from tests.support.durations import is_within
from tests.support.fixtures import BY, signed_in
from tests.web.browser_forms import form_with
from tests.web.findings.flagged import POISON
from tests.web.history.versions import Caller
from tests.web.review.reviewing import state

pytestmark = pytest.mark.django_db

ADDRESS = "/review/decide"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST", 2)
    monkeypatch.setattr(pieces, "PIECE", 2)


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.fixture
def made(caller: Caller, agent: Agent, alice: User) -> list[Memory]:
    """Five memories in two stores, one of them poisoned."""
    other = stores.create_store(stores.StoreSettings(name="Other"), admin=alice, **BY)
    beside = Caller(other, keys_and_roles.issue_key(agent, stores=[other], access=Access.WRITE, **BY)[1])
    own = [caller.create(f"/notes/{number}.md", f"{number}\n") for number in range(3)]
    return [*own, beside.create("/notes/poisoned.md", POISON), beside.create("/notes/fine.md", "fine\n")]


def states(made: list[Memory]) -> list[str | None]:
    return [state(memory.head) for memory in made]


def press(client: Client, html: str, **more: Any) -> Any:
    """Sends the form of the page as it is, and more."""
    return client.post(ADDRESS, form_with(html, "confirmed") | {"next": "/review"} | more)


def asked(client: Client, **more: Any) -> str:
    return str(client.post(ADDRESS, {"all": "approve", "q": "", "next": "/review", **more}).content.decode())


def finished(client: Client, page: Any) -> str:
    """Goes on until the work is done; what is said then."""
    while page.status_code == 200:
        page = press(client, page.content.decode())
    assert page.url == "/review"
    return str(client.get("/review").content.decode())


def test_thousands_are_approved_in_pieces_that_say_how_far_they_are(
    made: list[Memory], caller: Caller, alice: User
) -> None:
    client = signed_in(alice)
    question = asked(client)
    assert "Approve 5 versions?" in question and "There is 1 open finding in these memories." in question
    assert states(made) == ["unreviewed"] * 5
    caller.at = timezone.now() + timedelta(minutes=1)
    late = caller.create("/notes/late.md", "late\n")

    first = press(client, question, note="Read them")
    assert "Approved 2 of 5 versions." in first.content.decode() and 'value="40"' in first.content.decode()
    assert states(made).count("approved") == 2
    assert "Approved 5 versions." in finished(client, first)
    assert states(made) == ["approved"] * 5 and state(late.head) == "unreviewed"
    entries = AuditEntry.objects.filter(chain__in={memory.store_id for memory in made}, command="approve")
    assert len({entry.group for entry in entries}) == 1 and {entry.note for entry in entries} == {"Read them"}


def test_they_are_taken_back_as_one(made: list[Memory], alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(alice)
    finished(client, press(client, asked(client)))
    (row,) = client.get(reverse("decided")).context["decided"]
    monkeypatch.setattr(decided, "SECONDS", 0.0)
    page = client.post(reverse("undo_decisions"), {"entries": row.entries})
    assert f"Undid 1 of {len(row.rows)} entries." in page.content.decode()
    while page.status_code == 200:
        page = client.post(reverse("undo_decisions"), form_with(page.content.decode(), "undone"))
    assert "were undone" in client.get("/review").content.decode()
    assert states(made) == ["unreviewed"] * 5


def test_nobody_adds_pieces_to_a_group_that_the_hub_did_not_give(made: list[Memory], alice: User) -> None:
    client, foreign = signed_in(alice), ids.new_id(ids.GROUP, timezone.now())
    finished(client, press(client, asked(client), group=foreign))
    groups = set(AuditEntry.objects.filter(command="approve").values_list("group", flat=True))
    assert groups and foreign not in groups


def test_it_can_be_stopped_and_a_filter_limits_it(made: list[Memory], caller: Caller, alice: User) -> None:
    client = signed_in(alice)
    elsewhere = caller.create("/elsewhere.md", "x\n")
    first = press(client, asked(client, q="path:/notes"))
    stopped = press(client, first.content.decode(), stop="1")
    said = client.get(stopped.url).content.decode()
    assert "Approved 2 versions." in said and "You stopped it here." in said
    assert states(made).count("approved") == 2
    finished(client, press(client, asked(client, q="path:/notes")))
    assert states(made) == ["approved"] * 5 and state(elsewhere.head) == "unreviewed"


def test_stores_in_which_a_person_only_looks_are_left_out(
    made: list[Memory], store: MemoryStore, bob: User, charlie: User
) -> None:
    viewer = signed_in(bob)
    assert viewer.post(ADDRESS, {"all": "approve", "confirmed": "1"}).status_code == 403
    keys_and_roles.set_role(MemoryStore.objects.get(name="Other"), bob, Role.CURATOR, **BY)
    finished(viewer, viewer.post(ADDRESS, {"all": "approve", "confirmed": "1", "until": "9" * 14, "done": "x"}))
    assert states(made) == ["unreviewed"] * 3 + ["approved"] * 2
    assert signed_in(charlie).post(ADDRESS, {"all": "approve", "confirmed": "1"}).status_code == 403
    strange = {"all": "approve", "confirmed": "1", "from": "nowhere"}
    assert "out of date" in viewer.post(ADDRESS, strange, follow=True).content.decode()


@pytest.mark.both_databases
def test_earlier_versions_that_do_not_match_are_said_before_they_are_approved_too(
    store: MemoryStore, agent: Agent, caller: Caller, alice: User
) -> None:
    other = keys_and_roles.create_agent("Other", **BY)
    secret = keys_and_roles.issue_key(other, stores=[store], access=Access.WRITE, **BY)[1]
    made = [Caller(store, secret).create(f"/notes/{number}.md", f"{number}\n") for number in range(3)]
    for number in range(3):
        caller.replace(f"/notes/{number}.md", str(number), f"{number}, later")
    client = signed_in(alice)
    question = asked(client, q=f"agent:{agent.pk}")
    assert "Approve 6 versions?" in question
    assert "including 3 earlier versions of the same memories, which you did not choose" in question
    said = finished(client, press(client, question))
    assert "Approved 6 versions" in said and states(made) == ["approved"] * 3


def test_a_form_with_thousands_of_entries_is_read_once(made: list[Memory], alice: User) -> None:
    client, store = signed_in(alice), made[0].store_id
    many = ",".join(f"{store}:{number}" for number in range(8_000))
    form = {"all": "approve", "confirmed": "1", "q": "", "stop": "1", "next": "/review", "entries": many}
    assert is_within(3, lambda: client.post(ADDRESS, form))
    (link,) = {
        message.message
        for message in get_messages(client.post(ADDRESS, form).wsgi_request)
        if "Undo all" in message.message
    }
    assert link.count("%3A") + link.count(":") <= pieces.MOST_ENTRIES + 10
    assert client.post(ADDRESS, form | {"entries": f"{many},wrong"}).status_code == 303
