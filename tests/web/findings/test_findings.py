"""The findings' pages: what they list, who may decide, what each decision leaves behind."""

import json

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.findings.findings import fingerprint
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Finding, FindingState, Memory, MemoryStore, Role, User
from memoryhub.web.findings.filters import Wanted
from memoryhub.web.findings.queries import page
from tests.support.fixtures import AT, BY, new_person, signed_in
from tests.support.write_guard import arranging
from tests.web.findings.flagged import CARD, POISON, finding, has_no_digits, listed, with_card
from tests.web.history.versions import HOSTILE, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-7")


@pytest.fixture
def curator(store: MemoryStore) -> User:
    user = new_person("Carla")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


def decide(client: Client, store: MemoryStore, **given: object) -> object:
    return client.post(reverse("decide_findings", args=[store.pk]), given)


def last(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.pk).newest()[0]


def test_only_an_admin_is_offered_to_erase_everywhere(caller: Caller, curator: User, alice: User) -> None:
    with_card(caller)
    for person, offered in ((curator, False), (alice, True)):
        client = signed_in(person)
        page = client.get(reverse("findings")).content.decode()
        assert ("Erase a text everywhere" in page) is offered
        assert (client.get(reverse("erase_everywhere")).status_code == 200) is offered


def test_only_an_admin_is_offered_to_redact_the_version(caller: Caller, curator: User, alice: User) -> None:
    with_card(caller)
    first = finding(caller.store).version_id
    caller.replace("/customers/acme.md", CARD, "of the bank")
    for person, offered in ((curator, False), (alice, True)):
        page = signed_in(person).get(reverse("findings"), {"state": "resolved"}).content.decode()
        address = reverse("redact_version", args=[caller.store.pk, first])
        assert (address in page) is offered and "More about" in page
        assert (signed_in(person).get(address).status_code == 200) is offered


def test_a_finding_is_listed_with_its_place_its_writer_and_never_its_value(caller: Caller, bob: User) -> None:
    memory = with_card(caller)
    for address in (reverse("findings"), reverse("store_findings", args=[caller.store.pk])):
        response = signed_in(bob).get(address)
        html = response.content.decode()
        assert "Payment card" in html
        assert 'badge-personal">personal<' in html
        assert "[redacted:card]" in html and "its memory still contains the value" in html
        assert "Masked on this page; the value is still stored" in html
        assert "Pays by card " in html
        assert " every month." in html
        assert "Support bot" in html
        assert "run-7" in html
        assert "in the newest version" in html
        assert reverse("version", args=[caller.store.pk, finding(caller.store).version_id]) + "#L2" in html
        assert memory.path in html
        has_no_digits(response)


@pytest.mark.both_databases
def test_a_value_that_was_taken_out_stands_only_in_older_versions(caller: Caller, bob: User) -> None:
    with_card(caller)
    caller.replace("/customers/acme.md", CARD, "of the bank")
    html = signed_in(bob).get(reverse("findings"), {"state": "resolved"}).content.decode()
    assert "only in older versions, 2 to 3" in html
    assert "Resolved: the text was gone from the memory" in html
    assert f'{reverse("entry", args=[caller.store.pk, caller.last.seq - 1])}">Support bot replaced text</a>' in html


def test_signs_of_poisoning_are_shown_and_not_masked(caller: Caller, bob: User) -> None:
    caller.create("/a.md", f"Before\n{POISON}\n")
    html = signed_in(bob).get(reverse("findings")).content.decode()
    assert '<mark class="finding-poison">Ignore all previous instructions' in html
    assert 'badge-poison">poison<' in html


def test_the_filter_finds_by_kind_group_store_and_path(caller: Caller, bob: User) -> None:
    with_card(caller)
    caller.create("/notes/a.md", POISON)
    client = signed_in(bob)
    assert listed(client) == ["instructions", "card"]
    assert listed(client, q="kind:card") == ["card"]
    assert listed(client, q="group:poison") == ["instructions"]
    assert listed(client, q="/customers") == ["card"]
    assert listed(client, q="path:/customers/acme.md", kind="card") == ["card"]
    assert listed(client, q=f'store:"{caller.store.name}" group:personal') == ["card"]
    assert listed(client, q="path:/cust") == []
    assert listed(client, caller.store, q="kind:iban") == []


def test_a_filter_that_cannot_be_read_gets_a_sentence(caller: Caller, bob: User) -> None:
    with_card(caller)
    client = signed_in(bob)
    for words in ("kind:nothing", "group:x", "colour:red", "store:nowhere", "path:customers", "x" * 3000):
        response = client.get(reverse("findings"), {"q": words})
        assert response.status_code == 200
        assert response.context["problem"]
        assert response.context["items"] == []
    for place in ("x", "find_", "find_" + "!" * 26):
        assert client.get(reverse("findings"), {"before": place}).context["problem"]


@pytest.mark.both_databases
def test_pages_go_on_by_key_over_several_stores(caller: Caller, bob: User) -> None:
    others = [stores.create_store(stores.StoreSettings(name=f"Store {n}"), **BY) for n in range(2)]
    memory = caller.create("/a.md", "a\n")
    ids = [f"find_{n:026d}" for n in range(1, 13)]
    with arranging():
        Finding.objects.bulk_create(
            Finding(
                id=id, store=(caller.store, *others)[n % 3], memory_id=memory.pk, version_id=memory.head_id,
                kind="card", line=1, start=0, end=1, fingerprint=f"{n}", at=AT,
            )
            for n, id in enumerate(ids)
        )  # fmt: skip
    wanted = Wanted([caller.store.pk, *(other.pk for other in others)])
    seen: list[str] = []
    place: str | None = ""
    while place is not None:
        found = page(wanted, place, size=5)
        seen, place = [*seen, *found.ids], found.next
    assert seen == ids[::-1]
    assert len(listed(signed_in(bob))) == 4
    nothing = page(Wanted(wanted.stores, kinds=frozenset({"iban"})), size=5, walk=3)
    assert nothing.ids == []


def test_a_dismissal_asks_why_and_leaves_an_entry(caller: Caller, curator: User) -> None:
    with_card(caller)
    one, client = finding(caller.store), signed_in(curator)
    asked = decide(client, caller.store, one=f"dismiss:{one.pk}")
    assert asked.status_code == 200  # type: ignore[attr-defined]
    assert "Why is it harmless?" in asked.content.decode()  # type: ignore[attr-defined]
    has_no_digits(asked)
    empty = decide(client, caller.store, decision="dismiss", finding=[one.pk], note=" ", asked="1")
    assert "Give a reason" in empty.content.decode()  # type: ignore[attr-defined]
    assert finding(caller.store).state == FindingState.OPEN
    done = decide(client, caller.store, decision="dismiss", finding=[one.pk], note="Test data", next="/findings?q=card")
    assert (done.status_code, done.url) == (303, "/findings?q=card")  # type: ignore[attr-defined]
    one = finding(caller.store)
    assert (one.state, one.note, one.decided_by) == (FindingState.DISMISSED, "Test data", curator)
    entry = last(caller.store)
    assert (entry.command, entry.note, one.decided_seq) == ("dismiss_finding", "Test data", entry.seq)
    told = json.loads(entry.input or "")
    assert list(told["before"]) == ["open"]
    assert one.pk in json.dumps(told["before"])
    assert told["after"] == "dismissed"
    assert listed(client) == []
    assert listed(client, state="dismissed") == ["card"]
    html = client.get(reverse("findings"), {"state": "dismissed"}).content.decode()
    assert "Test data" in html
    assert "Reopen" in html


def test_no_button_says_that_a_text_is_gone_which_still_stands(caller: Caller, curator: User) -> None:
    with_card(caller)
    one, client = finding(caller.store), signed_in(curator)
    assert "resolve:" not in client.get(reverse("findings")).content.decode()
    for given in ({"one": f"resolve:{one.pk}"}, {"decision": "resolve", "finding": [one.pk]}):
        assert decide(client, caller.store, **given).status_code == 400  # type: ignore[attr-defined]
    assert finding(caller.store).state == FindingState.OPEN


def test_a_dismissal_shows_the_line_and_leaves_a_grey_mark_that_can_be_taken_back(
    caller: Caller, curator: User
) -> None:
    memory = caller.create("/b.md", f"Before\n{POISON}\n")
    one, client = Finding.objects.get(store=caller.store), signed_in(curator)
    page, listing = reverse("memory", args=[caller.store.pk, memory.pk]), reverse("store", args=[caller.store.pk])
    assert "open finding" in client.get(listing).content.decode()
    asked = decide(client, caller.store, one=f"dismiss:{one.pk}").content.decode()  # type: ignore[attr-defined]
    assert "Ignore all previous instructions" in asked and ":2</span>" in asked
    decide(client, caller.store, decision="dismiss", finding=[one.pk], note="A quotation")
    assert "1 dismissed finding" in client.get(page).content.decode()
    marked = client.get(listing).content.decode()
    assert "dismissed finding" in marked and "open finding" not in marked
    decide(client, caller.store, one=f"reopen:{one.pk}")
    assert "dismissed finding" not in client.get(page).content.decode()


def test_many_are_dismissed_and_opened_again_at_once(caller: Caller, curator: User) -> None:
    with_card(caller)
    caller.create("/b.md", POISON)
    ids = [one.pk for one in Finding.objects.of_store(caller.store.pk)]
    client, before = signed_in(curator), last(caller.store).seq
    decide(client, caller.store, decision="dismiss", finding=ids, note="known")
    assert last(caller.store).seq == before + 1
    assert sorted(listed(client, state="dismissed")) == ["card", "instructions"]
    decide(client, caller.store, one=f"reopen:{ids[0]}")
    assert len(listed(client)) == 1
    decide(client, caller.store, one=f"reopen:{ids[0]}")
    assert last(caller.store).seq == before + 2


def test_those_of_several_stores_get_an_entry_each(caller: Caller, alice: User, superuser: User) -> None:
    with_card(caller)
    other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
    memory = Memory.objects.get(store=caller.store)
    with arranging():
        Finding.objects.create(
            id="find_" + "Z" * 26, store=other, memory_id=memory.pk, version_id=memory.head_id, kind="card", line=1,
            start=0, end=1, fingerprint="x", at=AT,
        )  # fmt: skip
    ids = list(Finding.objects.values_list("pk", flat=True))
    signed_in(superuser).post(reverse("decide_all_findings"), {"decision": "dismiss", "finding": ids, "note": "x"})
    entries = [AuditEntry.objects.of_chain(store.pk).newest()[0] for store in (caller.store, other)]
    assert [entry.command for entry in entries] == ["dismiss_finding"] * 2
    assert entries[0].group == entries[1].group is not None
    decided = signed_in(alice).post(reverse("decide_all_findings"), {"decision": "reopen", "finding": ids})
    assert decided.status_code == 303
    assert Finding.objects.open().count() == 1  # Alice has no role in the other store


def test_who_may_do_what(caller: Caller, bob: User, charlie: User, alice: User) -> None:
    with_card(caller)
    one = finding(caller.store)
    of_store, for_all = reverse("decide_findings", args=[caller.store.pk]), reverse("decide_all_findings")
    given = {"decision": "dismiss", "finding": [one.pk], "note": "known"}
    assert signed_in(bob).get(reverse("store_findings", args=[caller.store.pk])).status_code == 200
    assert [signed_in(bob).post(address, given).status_code for address in (of_store, for_all)] == [403, 403]
    assert signed_in(charlie).get(reverse("store_findings", args=[caller.store.pk])).status_code == 404
    assert signed_in(charlie).post(of_store, given).status_code == 404
    assert signed_in(charlie).post(for_all, given).status_code == 303
    assert listed(signed_in(charlie)) == []
    assert finding(caller.store).state == FindingState.OPEN
    assert signed_in(alice).get(of_store).status_code == 405
    assert signed_in(alice).post(reverse("findings")).status_code == 405
    assert "Dismiss…" not in signed_in(bob).get(reverse("findings")).content.decode()


def test_malformed_decisions_do_nothing(caller: Caller, alice: User) -> None:
    with_card(caller)
    client, before = signed_in(alice), last(caller.store).seq
    for given in ({}, {"decision": "burn"}, {"one": "burn:find_x"}):
        assert client.post(reverse("decide_findings", args=[caller.store.pk]), given).status_code == 400
    for ids in ([], ["nothing"], ["find_\0"], ["find_" + "0" * 26]):
        response = client.post(
            reverse("decide_findings", args=[caller.store.pk]),
            {"decision": "reopen", "finding": ids, "next": "https://elsewhere.example/"},
        )
        assert (response.status_code, response.url) == (303, reverse("findings"))
    assert last(caller.store).seq == before


def test_hostile_paths_are_shown_as_text(caller: Caller, bob: User) -> None:
    caller.create(f"/{HOSTILE.replace('/', '')}.md".replace("\u202e", "").replace("\u200b", ""), POISON)
    html = signed_in(bob).get(reverse("findings")).content.decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html


def test_each_kind_of_emptiness_says_what_to_do(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    pages = {
        "": "Nothing was found",
        "?q=kind:card": "No finding matches",
        "?state=dismissed": "No finding was dismissed",
    }
    for query, words in pages.items():
        assert words in client.get(reverse("store_findings", args=[store.pk]) + query).content.decode()
        assert words in client.get(reverse("findings") + query).content.decode()


def test_a_memory_tells_its_open_findings(caller: Caller, bob: User) -> None:
    memory = with_card(caller)
    html = signed_in(bob).get(reverse("memory", args=[caller.store.pk, memory.pk])).content.decode()
    assert "1 open finding" in html
    assert f"{reverse('store_findings', args=[caller.store.pk])}?path=%2Fcustomers%2Facme.md" in html


def test_fingerprints_do_not_tell_the_value(caller: Caller) -> None:
    with_card(caller)
    mark = finding(caller.store).fingerprint or ""
    assert CARD not in mark
    assert mark == fingerprint("card", CARD)
    assert timezone.is_aware(finding(caller.store).at)
