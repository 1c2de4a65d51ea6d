"""Acts that need a second person: one asks, another one allows, and exactly that is done, once."""

import ast
import html
import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import people, second_person
from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.core.rules import holds
from memoryhub.actions.verification import verify
from memoryhub.background import letters
from memoryhub.doctor import inside
from memoryhub.models import (
    HUB,
    Access,
    ActRequest,
    AuditEntry,
    HoldKind,
    HubSettings,
    Mail,
    Memory,
    MemoryStore,
    Receipt,
    Role,
    User,
)
from tests.api.harness import Hub, new_secret
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.write_guard import tampering
from tests.web.common.test_fresh import _BY_SOMEBODY_ELSE, _DIRECT, _release, stale
from tests.web.erasure.erasing import WHERE, everywhere, fields, find, write
from tests.web.memories.pages import act as an_act

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

CASES = [
    *_DIRECT, *_BY_SOMEBODY_ELSE[:2], *(pytest.param(act, marks=pytest.mark.long) for act in _BY_SOMEBODY_ELSE[2:]),
]  # fmt: skip
NEEDED = "A second person is needed"
TURN = "/acts/second-person"


@pytest.fixture
def other(superuser: User) -> User:
    """Another administrator of the hub."""
    return new_person("Olga", is_superuser=True)


@pytest.fixture
def needed(superuser: User, other: User) -> None:
    """The hub wants a second person."""
    signed_in(superuser).post(TURN, {"on": "1"})
    assert HubSettings.current().second_person


def text_of(response: Any) -> str:
    return response.content.decode()  # type: ignore[no-any-return]


def ask(client: Client, address: str, form: dict[str, Any], why: str = "Ticket 8: <b>asked for</b>") -> ActRequest:
    """Send a form, and ask a second person as its answer says."""
    shown = text_of(client.post(address, form))
    assert NEEDED in shown and "Ask a second person" in shown
    kept = hidden(shown, 'class="form"')
    made = client.post(address, kept | {"second_reason": why})
    assert made.status_code in (302, 303), text_of(made)
    return ActRequest.objects.newest()[0]


def allow(user: User, request: ActRequest) -> None:
    assert "You allowed it." in text_of(signed_in(user).post(f"/acts/{request.pk}/allow", follow=True))
    request.refresh_from_db()
    assert request.state == "allowed" and request.decided_by == user


def do(client: Client, request: ActRequest) -> Any:
    """Press the button of a request that was allowed."""
    shown = text_of(client.get(f"/acts/{request.pk}"))
    assert f'action="{request.path}"' in shown
    return client.post(request.path, hidden(shown, f'action="{request.path}"'))


def hidden(page: str, sign: str) -> dict[str, Any]:
    part = page[page.index(sign) :].partition("</form>")[0]
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', part):
        if name != "csrfmiddlewaretoken":
            found.setdefault(html.unescape(name), []).append(html.unescape(value))
    return dict(found)


def newest(count: int) -> list[str | None]:
    return [entry.command for entry in AuditEntry.objects.of_chain(HUB).newest()[:count]]


def is_whole(*chains: str) -> bool:
    return all(verify.verify(name)[1] is None for name in (HUB, *chains))


# ------------------------------------------------------------------------------------------------ every act


@pytest.mark.parametrize("act", CASES)
def test_each_of_these_waits_for_a_second_person(
    store: MemoryStore, agent: Any, superuser: User, act: Any, other: User, needed: None
) -> None:
    if act is _release:
        holds.place(store.pk, an_act(), kind=HoldKind.HOLD, reason="The court asks for it", path="/a")
    address, form, is_done = act(store, agent)
    client = signed_in(superuser)
    request = ask(client, address, form)
    assert not is_done()
    assert client.post(address, form).status_code == 200 and not is_done(), "it was not allowed yet"
    page = text_of(signed_in(other).get(f"/acts/{request.pk}"))
    assert ("The first person who opens the link" in page) == (request.act in ("invite_administrator", "password_link"))
    allow(other, request)
    assert not is_done()
    do(client, request)
    assert is_done()
    assert ActRequest.objects.get(pk=request.pk).state == "used"
    assert "allowed, and done" in text_of(client.get("/acts"))


def test_an_admin_of_the_store_does_not_allow_what_only_administrators_may(
    store: MemoryStore, superuser: User, alice: User, other: User, needed: None
) -> None:
    page = text_of(signed_in(superuser).get(f"/stores/{store.pk}/delete"))
    assert "Nothing is done before they allow it" in page.partition("Type the name")[2]
    request = ask(signed_in(superuser), f"/stores/{store.pk}/delete", {"name": store.name, "note": ""})
    assert signed_in(alice).post(f"/acts/{request.pk}/allow").status_code == 404
    assert f"{store.name} ({store.pk})" in text_of(signed_in(other).get("/"))
    allow(other, request)


def test_all_acts_of_the_list_are_guarded_in_views_and_no_other_one_is() -> None:
    web = Path(second_person.__file__).parents[2] / "web"
    named = [
        node.args[1].value
        for path in web.rglob("*.py")
        if "guard(" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "guard"
        and isinstance(node.args[1], ast.Constant)
    ]
    assert set(named) == set(second_person.ACTS)


# ------------------------------------------------------------------------------------------------ an erasure


def test_an_erasure_names_both_people_and_what_was_typed_is_readable_nowhere(
    store: MemoryStore, alice: User, needed: None, other: User
) -> None:
    write(store, "/secret.md", "Quellenberg & others\n")
    client = signed_in(alice)
    form = fields(find(client, "quellenberg"), "erase") | {"confirm": "quellenberg", "note": "request 8"}
    request = ask(client, WHERE, form)
    assert not [place for place in everywhere("uellenberg") if place.startswith("ActRequest")]
    page = text_of(signed_in(other).get(f"/acts/{request.pk}"))
    for said in ("Quellenberg", "Support: 1 place", "request 8", "Ticket 8: &lt;b&gt;", "Alice", "Allow"):
        assert said in page, said
    assert "Acts that need a second person" in text_of(signed_in(other).get("/"))
    allow(other, request)
    assert "Acts that need a second person" in text_of(client.get("/"))
    assert "Erased from 1 memory store" in text_of(do(client, request))
    assert everywhere("uellenberg") == [] and is_whole(store.pk)
    assert Receipt.objects.get().content["allowed_by"] == other.pk
    entry = AuditEntry.objects.of_chain(store.pk).of_command("erase").newest()[0]
    assert entry.label == "Alice (allowed by Olga)" and entry.author_id == alice.pk
    assert newest(3) == ["start_act", "allow_act", "propose_act"]
    assert ActRequest.objects.get().content is None
    assert "no longer keeps the details of this act" in text_of(client.get(f"/acts/{request.pk}"))


def test_why_an_erasure_is_needed_or_refused_is_not_left_in_the_audit(
    store: MemoryStore, alice: User, needed: None, other: User
) -> None:
    write(store, "/secret.md", "Quellenberg\n")
    client = signed_in(alice)
    form = fields(find(client, "quellenberg"), "erase") | {"confirm": "quellenberg"}
    refused = ask(client, WHERE, form, "Quellenberg wants it")
    signed_in(other).post(f"/acts/{refused.pk}/refuse", {"answer": "Which Quellenberg?"})
    assert "Which Quellenberg?" in text_of(client.get(f"/acts/{refused.pk}"))
    request = ask(client, WHERE, form, "Quellenberg wants it")
    allow(other, request)
    assert "Erased from 1 memory store" in text_of(do(client, request)) and everywhere("uellenberg") == []


def test_a_permission_is_for_what_was_seen_and_not_for_what_the_form_would_do_by_now(
    store: MemoryStore, alice: User, needed: None, other: User
) -> None:
    write(store, "/secret.md", "Quellenberg\n")
    client = signed_in(alice)
    form = fields(find(client, "quellenberg"), "erase") | {"confirm": "quellenberg"}
    request = ask(client, WHERE, form)
    allow(other, request)
    write(store, "/more.md", "Quellenberg\n")
    done = text_of(do(client, request))
    assert "Erased from" not in done and Memory.objects.filter(text__content__contains="Quellenberg").count() == 2
    memory = Memory.objects.at("/more.md").get()
    where, form = f"/stores/{store.pk}/remove", {"id": [memory.pk, Memory.objects.at("/secret.md").get().pk]}
    request = ask(client, where, form | {"name": store.name, "note": ""})
    allow(other, request)
    holds.place(store.pk, an_act(), kind=HoldKind.HOLD, reason="The court asks for it", path="/more.md")
    assert "The act would now do something other than what was allowed. Ask again." in text_of(do(client, request))
    assert Memory.objects.count() == 2


def test_nobody_looks_as_if_a_second_person_had_allowed_an_act(store: MemoryStore, alice: User, other: User) -> None:
    for name in ("Alice (allowed by Olga)", "Alice ( Allowed  by Olga)", "Alice (allowed (allowed by by Olga)"):
        people.edit_profile(alice, at=timezone.now(), name=name)
        memory = write(store, "/secret.md", "text\n")
        signed_in(alice).post(f"/stores/{store.pk}/remove", {"id": memory.pk, "name": "secret.md", "note": ""})
        entry = AuditEntry.objects.of_chain(store.pk).newest()[0]
        assert entry.command == "purge" and "(allowed by" not in " ".join(str(entry.label).casefold().split())


# ------------------------------------------------------------------------------------------------ who decides, and when


@pytest.fixture
def request_of_alice(store: MemoryStore, alice: User, needed: None) -> ActRequest:
    """Her request to remove a memory permanently."""
    memory = write(store, "/secret.md", "text\n")
    form = {"id": memory.pk, "name": "secret.md", "note": ""}
    return ask(signed_in(alice), f"/stores/{store.pk}/remove", form)


def test_nobody_allows_an_own_request_and_nobody_without_the_right(
    store: MemoryStore, request_of_alice: ActRequest, alice: User, bob: User, charlie: User
) -> None:
    where = f"/acts/{request_of_alice.pk}"
    assert signed_in(alice).post(f"{where}/allow").status_code == 403
    assert "Allow" not in text_of(signed_in(alice).get(where))
    for user in (bob, charlie):
        for client in (signed_in(user),):
            assert client.get(where).status_code == 404 and client.post(f"{where}/allow").status_code == 404
            assert "secret.md" not in text_of(client.get("/acts"))
            assert client.post(f"{where}/withdraw").status_code == 404
    admin = new_person("Ada")
    set_role(store, admin, Role.ADMIN, **BY)
    assert "Is it you?" in text_of(stale(admin).post(f"{where}/allow"))
    allow(admin, request_of_alice)


def _expired(request: ActRequest, alice: User, other: User) -> None:
    with tampering():
        ActRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now())


def _deactivated(request: ActRequest, alice: User, other: User) -> None:
    people.set_active(alice, False, **BY)


def _withdrawn(request: ActRequest, alice: User, other: User) -> None:
    signed_in(alice).post(f"/acts/{request.pk}/withdraw")


def _refused(request: ActRequest, alice: User, other: User) -> None:
    assert "This field is required" in text_of(signed_in(other).post(f"/acts/{request.pk}/refuse", {"answer": ""}))
    signed_in(other).post(f"/acts/{request.pk}/refuse", {"answer": "Not this week"})
    assert "Not this week" in text_of(signed_in(alice).get(f"/acts/{request.pk}"))


@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("end", [_expired, _deactivated, _withdrawn, _refused])
def test_an_ended_request_is_not_allowed_any_more(
    request_of_alice: ActRequest, alice: User, other: User, end: Callable[[ActRequest, User, User], None]
) -> None:
    end(request_of_alice, alice, other)
    client = signed_in(other)
    assert 'class="stack-row"' not in text_of(client.get("/acts")).partition("Other requests")[0]
    client.post(f"/acts/{request_of_alice.pk}/allow")
    request_of_alice.refresh_from_db()
    assert request_of_alice.state != "allowed"


def test_a_permission_ends_with_the_right_of_who_gave_it_and_is_used_once(
    store: MemoryStore, request_of_alice: ActRequest, alice: User, other: User, superuser: User
) -> None:
    admin = new_person("Ada")
    set_role(store, admin, Role.ADMIN, **BY)
    allow(admin, request_of_alice)
    set_role(store, admin, Role.VIEWER, **BY)
    client = signed_in(alice)
    assert NEEDED in text_of(do(client, request_of_alice)) and Memory.objects.exists()
    set_role(store, admin, Role.ADMIN, **BY)
    form = hidden(text_of(client.get(f"/acts/{request_of_alice.pk}")), f'action="{request_of_alice.path}"')
    assert NEEDED in text_of(client.post(request_of_alice.path, form | {"note": "another"})) and Memory.objects.exists()
    assert client.post(request_of_alice.path, form).status_code in (302, 303) and not Memory.objects.exists()
    assert second_person.use(
        "remove_memories", request_of_alice.path, second_person.content([], []), alice, an_act()
    ) is None  # fmt: skip


@pytest.mark.parametrize("leaves", ["who asked", "who allowed"])
def test_a_permission_does_not_come_back_with_an_account(
    request_of_alice: ActRequest, alice: User, other: User, leaves: str
) -> None:
    allow(other, request_of_alice)
    form = hidden(text_of(signed_in(alice).get(f"/acts/{request_of_alice.pk}")), f'action="{request_of_alice.path}"')
    user = alice if leaves == "who asked" else other
    for is_active in (False, True):
        people.set_active(user, is_active, **BY)
    client = signed_in(alice)
    assert NEEDED in text_of(client.post(request_of_alice.path, form)) and Memory.objects.exists()
    page = text_of(client.get(f"/acts/{request_of_alice.pk}"))
    assert "lapsed" in page and "Do it now" not in page and is_whole()


def test_who_has_the_database_alone_allows_nothing_unnoticed(
    request_of_alice: ActRequest, alice: User, other: User
) -> None:
    with tampering():
        ActRequest.objects.filter(pk=request_of_alice.pk).update(state="allowed", decided_by=other)
    problem = verify.verify(HUB)[1]
    assert problem is not None and "actrequest" in problem.what


def test_contents_go_when_requests_have_lapsed(request_of_alice: ActRequest) -> None:
    second_person.forget(timezone.now())
    assert second_person.content_of(ActRequest.objects.get()) is not None
    second_person.forget(timezone.now() + timedelta(days=8))
    assert ActRequest.objects.get().content is None and is_whole()


def test_who_may_decide_gets_an_e_mail_and_then_who_asked(
    store: MemoryStore, alice: User, needed: None, other: User, superuser: User, settings: Any
) -> None:
    settings.MEMORYHUB_SENDS_MAIL = True
    form = {"id": write(store, "/secret.md", "text\n").pk, "name": "secret.md", "note": ""}
    request = ask(signed_in(alice), f"/stores/{store.pk}/remove", form)
    waiting = {mail.to: letters.letter_of(mail, timezone.now()) for mail in Mail.objects.select_related("to")}
    assert waiting.keys() == {other, superuser}
    letter = waiting[other]
    assert letter is not None and letter.url.endswith(f"/acts/{request.pk}")
    assert letter.lead == ["Alice asks a second person to allow: Remove memories permanently"]
    allow(other, request)
    letter = letters.letter_of(Mail.objects.select_related("to").get(to=alice), timezone.now())
    assert letter is not None and letter.lead == ["Olga allowed what you asked for: Remove memories permanently"]
    late = Mail.objects.select_related("to").get(to=superuser)
    assert letters.letter_of(late, timezone.now()) is None, "it was decided"


# ------------------------------------------------------------------------------------------------ the setting and keys


def test_it_needs_two_administrators_and_a_second_person_to_switch_it_off(superuser: User) -> None:
    assert "Is it you?" in text_of(stale(superuser).post(TURN, {"on": "1"}))
    client = signed_in(superuser)
    client.post(TURN, {"on": "1"})
    assert 'href="/acts"' in text_of(client.get("/settings/limits"))
    shown = text_of(client.get("/acts"))
    assert ">Invite an administrator</a>" in shown and 'href="/guide/identity#a-second-person"' in shown
    assert not HubSettings.current().second_person
    other = new_person("Olga", is_superuser=True)
    assert "need a second person from now on" in text_of(client.post(TURN, {"on": "1"}, follow=True))
    assert HubSettings.current().second_person and newest(1) == ["set_second_person"]
    request = ask(client, TURN, {"on": "0"})
    assert HubSettings.current().second_person
    allow(other, request)
    do(client, request)
    assert not HubSettings.current().second_person and newest(2) == ["unset_second_person", "start_act"]
    assert is_whole()


def test_who_runs_the_server_switches_it_off_where_one_administrator_is_left(
    needed: None, other: User, superuser: User
) -> None:
    client, invited = signed_in(superuser), {"email": "nora@example.com", "is_superuser": "on"}
    assert "nobody can allow acts" in text_of(client.get(f"/people/{other.pk}/deactivate"))
    assert "No one can allow this act" not in text_of(client.post("/people/invite", invited))
    people.set_active(other, False, **BY)
    page = text_of(client.post("/people/invite", invited))
    assert NEEDED in page and "No one can allow this act now, because" in page
    assert "unset_second_person" in text_of(client.get("/acts"))
    assert "only one administrator can sign in" in " ".join(found.says for found in inside.people(timezone.now()))
    call_command("unset_second_person", stdout=StringIO())
    assert not HubSettings.current().second_person and newest(1) == ["unset_second_person"]


def test_a_key_deletes_no_store_and_redacts_no_version_while_it_is_on(store: MemoryStore, needed: None) -> None:
    hub = Hub(store, new_secret(store, Access.MANAGE, all_stores=True))
    path = f"/v1/memory_stores/{store.pk}"
    for method, url in (("DELETE", path), ("POST", f"{path}/memory_versions/memver_1/redact")):
        answer = hub.send(b"", method=method, url=url)
        assert answer.status == 403 and b"wants a second person" in answer.body
    call_command("unset_second_person", stdout=StringIO())
    assert hub.send(b"", method="DELETE", url=path).status == 200
