"""Several proposals at once: what would become of each, merging or refusing them, and taking it back together."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.audit import Act
from memoryhub.actions.findings import rules
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, MemoryStore, User
from memoryhub.web.proposals import listing, together
from tests.support.fixtures import BY, signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import (
    begun,
    edit,
    holds_back,
    listed,
    newest,
    proposes,
    refuse,
    replaces,
    state,
    texts,
    url_of,
)  # fmt: skip

pytestmark = pytest.mark.django_db

A, B = "/policies/a.md", "/policies/b.md"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return begun(store, key, A, B)


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def adds(caller: Caller, *names: str, text: str = "new\n") -> None:
    """One proposal for each name, by a session of its own, that adds a memory."""
    for name in names:
        caller.session = f"run-{name}"
        proposes(caller, "create", f"/policies/faq/{name}.md", file_text=text)


def changes(caller: Caller, session: str, path: str, old: str, new: str) -> None:
    caller.session = session
    replaces(caller, path, old, new)


def address(store: MemoryStore, *numbers: int) -> str:
    return reverse("proposals_together", args=[store.pk], query={"n": numbers})


def shown(client: Client, store: MemoryStore, *numbers: int) -> tuple[list[int], dict[int, str]]:
    """The numbers of the proposals that would be merged, and {number: why not} of the others."""
    outlook = client.get(address(store, *numbers)).context["outlook"]
    return [one.number for one in outlook.merged], {row.proposal.number: why for row, why in outlook.left}


def press(client: Client, store: MemoryStore, decision: str, *numbers: int, note: str = "") -> Any:
    """Presses a button of the preview, as a browser would."""
    html = client.get(address(store, *numbers)).content.decode()
    fields = [unescape(value) for value in re.findall(rf'name="{decision}" value="([^"]+)"', html)]
    given = {"decision": decision, decision: fields, "note": note}
    return client.post(address(store, *numbers), given, follow=True)


def take_back(client: Client, page: Any) -> Any:
    """Follows the link of the message after a press, and presses the button there."""
    (link,) = {unescape(link) for link in re.findall(r'href="(/review/decided/undo\?[^"]+)"', page.content.decode())}
    asked = client.get(link)
    fields = dict(re.findall(r'name="(entries|next)" value="([^"]+)"', asked.content.decode()))
    return client.post(reverse("undo_decisions"), fields, follow=True)


def states(store: MemoryStore, *numbers: int) -> list[str]:
    return [state(store, number)[0] for number in numbers]


@pytest.mark.both_databases
def test_several_are_merged_with_an_entry_each_and_taken_back_with_one_press(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    adds(caller, "x", "y")
    changes(caller, "run-a", A, "two", "2")
    before = texts(store)
    html = curator.get(address(store, 1, 2, 3)).content.decode()
    assert "Merge 3 proposals" in html and "/policies/faq/x.md" in html and "+1" in html
    page = press(curator, store, "merge", 1, 2, 3)
    assert "Merged 3 proposals." in page.content.decode()
    assert states(store, 1, 2, 3) == ["merged"] * 3 and "/policies/faq/y.md" in texts(store)
    entries = AuditEntry.objects.of_chain(store.pk).filter(command="merge_proposal").order_by("seq")
    assert len(entries) == 3 and len({entry.group for entry in entries}) == 1 and entries[0].group
    decided = " ".join(curator.get(reverse("decided")).content.decode().split())
    assert "Merged 1 memory of proposal #2 by Support bot" in decided and decided.count('name="entries"') == 1
    take_back(curator, page)
    decided = curator.get(reverse("decided")).content.decode()
    assert "undone" in decided and 'name="entries"' not in decided
    assert texts(store) == before and verify.verify(store.pk)[1] is None
    assert "undone" in curator.get(url_of(store, 1)).content.decode()


def test_what_a_press_has_no_time_for_stays_open(
    caller: Caller, store: MemoryStore, curator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    adds(caller, "x", "y", "z")
    monkeypatch.setattr(together, "SECONDS", -1.0)
    for decision in ("merge", "refuse"):
        page = press(curator, store, decision, 1, 2, 3).content.decode()
        assert "#3: there was no time left for it." in page
    assert states(store, 1, 2, 3) == ["open"] * 3
    monkeypatch.setattr(together, "SECONDS", 60.0)
    press(curator, store, "refuse", 1, 2, 3)
    assert states(store, 1, 2, 3) == ["refused"] * 3


def test_what_later_edits_overlap_is_not_taken_back(
    caller: Caller, store: MemoryStore, curator: Client, alice: User
) -> None:
    adds(caller, "x")
    changes(caller, "run-a", A, "two", "2")
    page = press(curator, store, "merge", 1, 2)
    edit(store, A, "2\n", "zwei\n", alice)
    asked = take_back(curator, page).content.decode()
    assert "was not undone, because later edits overlap it" in asked and "Choose what to keep" in asked
    assert "zwei" in texts(store)[A] and "/policies/faq/x.md" not in texts(store)


@pytest.mark.both_databases
def test_several_are_refused_with_one_reason_and_opened_again_with_one_press(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    adds(caller, "x", "y")
    page = press(curator, store, "refuse", 1, 2, note="Ask finance.")
    assert "Refused 2 proposals." in page.content.decode()
    assert [state(store, number) for number in (1, 2)] == [("refused", "Ask finance.")] * 2
    take_back(curator, page)
    assert states(store, 1, 2) == ["open", "open"] and verify.verify(store.pk)[1] is None
    assert 'name="entries"' not in curator.get(reverse("decided")).content.decode()
    again = take_back(curator, page)
    assert "Nothing was undone" in again.content.decode()


def test_what_a_person_has_to_read_is_left_out_and_named(
    caller: Caller, store: MemoryStore, curator: Client, alice: User
) -> None:
    adds(caller, "x")
    changes(caller, "run-conflict", A, "two", "2")
    changes(caller, "run-first", B, "one", "1")
    changes(caller, "run-same", B, "seven", "7")
    edit(store, A, "two", "zwei", alice)
    adds(caller, "gone")
    refuse(curator, store, 5)
    merged, left = shown(curator, store, 1, 2, 3, 4, 5, 99)
    assert merged == [1, 3] and set(left) == {2, 4}
    assert left[2] == f"{A}: The same lines were changed since the agent saw them." and "#3" in left[4]
    html = curator.get(address(store, 1, 2, 3, 4, 5, 99)).content.decode()
    assert "2 of the proposals that you chose are not open any more." in html and left[4] in unescape(html)
    press(curator, store, "merge", 1, 2, 3, 4)
    assert states(store, 1, 2, 3, 4) == ["merged", "open", "merged", "open"]
    assert shown(curator, store, 4)[0] == [4], "what was left out can be decided about afterwards"


def test_what_the_rules_find_is_left_out(caller: Caller, store: MemoryStore, curator: Client) -> None:
    rules.save_rules(store.pk, {"email": "flag"}, Act(**BY))
    adds(caller, "x", text="Write to ann@example.com\n")
    adds(caller, "y", "z")
    caller.create("/notes/found.md", "Write to bob@example.com\n")
    holds_back(store, "/notes/")
    changes(caller, "run-notes", "/notes/found.md", "Write", "Talk")
    merged, left = shown(curator, store, 1, 2, 3, 4)
    assert merged == [2, 3] and left == {
        1: "E-mail address in line 1 of /policies/faq/x.md.", 4: "/notes/found.md has an open finding.",
    }  # fmt: skip


def test_what_changed_after_the_preview_is_left_as_it_is(caller: Caller, store: MemoryStore, curator: Client) -> None:
    adds(caller, "x", "y", "z")
    html = curator.get(address(store, 1, 2, 3)).content.decode()
    fields = {"decision": "merge", "merge": re.findall(r'name="merge" value="([^"]+)"', html)}
    caller.session = "run-x"
    proposes(caller, "create", "/policies/faq/more.md", file_text="more\n")
    refuse(curator, store, 2)
    page = curator.post(address(store, 1, 2, 3), fields, follow=True).content.decode()
    assert states(store, 1, 2, 3) == ["open", "refused", "merged"] and "Merged 1 proposal." in page
    assert "#1: it, or one of its memories, has changed" in page and "#2: someone has already decided" in page


def test_what_its_agent_withdrew_after_the_preview_says_so(
    caller: Caller, store: MemoryStore, key: str, curator: Client
) -> None:
    adds(caller, "one", "two")
    page, fields = curator.get(address(store, 1, 2)), form_with(curator.get(url_of(store)).content.decode(), "digest")
    chosen = [f"{number}:{seen}" for number, seen in page.context["merge"]]
    withdraw = f"/v1/memory_stores/{store.pk}/proposals/1/withdraw"
    assert (
        Client().post(withdraw, "{}", "application/json", headers={"authorization": f"Bearer {key}"}).status_code == 200
    )
    told = curator.post(address(store, 1, 2), {"decision": "merge", "merge": chosen}, follow=True).content.decode()
    assert "Merged 1 proposal." in told and "#1: its agent withdrew it." in told
    alone = curator.post(url_of(store), fields | {"decision": "merge"}, follow=True).content.decode()
    assert "Nothing was done: the agent has withdrawn this proposal." in alone


def test_the_list_offers_what_only_adds_in_one_place_and_what_is_ticked(
    caller: Caller, store: MemoryStore, curator: Client, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    adds(caller, "x", "y")
    changes(caller, "run-a", A, "two", "2")
    caller.session = "run-deep"
    proposes(caller, "create", "/policies/faq/deep/z.md", file_text="z\n")
    html = curator.get(listed(store)).content.decode()
    assert "Decide about all 3 additions by Support bot under /policies/faq/…" in html
    assert f'href="{address(store, 1, 2, 4)}"' in html.replace("&amp;", "&")
    assert [*re.findall(r'name="n" value="(\d)"', html)] == ["1", "2", "3", "4"]
    monkeypatch.setattr(listing, "PAGE", 2)
    html = curator.get(listed(store)).content.decode()
    assert "Decide about the 2 additions by Support bot under /policies/faq/ that this page lists…" in html
    html = signed_in(bob).get(listed(store)).content.decode()
    assert 'name="n"' not in html and "that only add" not in html


def test_a_rule_that_allows_the_same_is_one_press_away(
    caller: Caller, store: MemoryStore, curator: Client, bob: User
) -> None:
    adds(caller, "x", "y")
    page = press(curator, store, "merge", 1, 2).content.decode()
    (link,) = [unescape(link) for link in re.findall(r'href="([^"]*/path-rules/edit\?[^"]*)"', page)]
    row = curator.get(link).context["form"][0]
    assert (row["effect"].value(), row["pattern"].value(), row["verbs"].value()) == (
        "allow", "/policies/faq/", ["create"],
    )  # fmt: skip


def test_who_may_not_decide_only_looks(
    caller: Caller, store: MemoryStore, curator: Client, bob: User, charlie: User
) -> None:
    adds(caller, "x", "y")
    url = address(store, 1, 2)
    viewer = signed_in(bob)
    assert "Merge 2" not in viewer.get(url).content.decode() and viewer.post(url).status_code == 403
    assert signed_in(charlie).get(url).status_code == 404 == signed_in(charlie).post(url).status_code
    for given in (
        {},
        {"decision": "merge"},
        {"decision": "burn", "burn": "1:x"},
        {"decision": "merge", "merge": "\0:"},
    ):
        assert "does not say whether" in curator.post(url, given).content.decode()
    assert curator.post(url, {"decision": "merge", "merge": "1:wrong"}, follow=True).status_code == 200
    assert "too long" in curator.post(url, {"decision": "refuse", "refuse": "1:x", "note": "x" * 1001}).content.decode()
    stores.set_archived(store, True, **BY)
    assert "Merge 2" not in curator.get(url).content.decode()
    assert states(store, 1, 2) == ["open", "open"] and newest(store).command == "archive_store"
    assert "None of these proposals is open" in curator.get(address(store, 77)).content.decode()
