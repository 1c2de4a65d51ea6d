"""The pages of retention: which policies there are, in sentences; which applies to a path, and what it means."""

from urllib.parse import quote

import pytest
from django.test import Client

from memoryhub.actions.core.rules import holds
from memoryhub.models import HoldKind, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.memories.pages import act, new_curator, page, write
from tests.web.retention.pages import HOSTILE_NAME, policy, ran, some, url


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


class TestWhoMay:
    def test_see_and_change_policies(
        self, store: MemoryStore, alice: User, bob: User, charlie: User, superuser: User
    ) -> None:
        own, hubs = policy(store, expire_unread_days=90), policy(None, "Hub")
        some(store, 1)
        run = ran(store)
        people = {"alice": alice, "bob": bob, "charlie": charlie, "carol": new_curator(store), "root": superuser}
        clients = {name: signed_in(person) for name, person in people.items()}
        cases = {
            url("retention", store.pk): ("200 403 404 403 200", "405"),
            url("new_policy", store.pk): ("200 403 404 403 200", "200"),
            url("policy", own.pk): ("200 403 404 403 200", "200"),
            url("delete_policy", own.pk): ("200 403 404 403 200", ""),
            url("policy", hubs.pk): ("404 404 404 404 200", "200"),
            url("rehearsal", store.pk): ("200 403 404 403 200", "405"),
            url("export_rehearsal", store.pk): ("405 405 405 405 405", ""),
            url("retention_pattern", store.pk): ("200 403 404 403 200", "405"),
            url("rehearsal_weeks", store.pk): ("200 403 404 403 200", "405"),
            url("explain_path", store.pk): ("200 200 404 200 200", "405"),
            url("runs", store.pk): ("200 200 404 200 200", "405"),
            url("run", run.pk): ("200 200 404 200 200", "405"),
            url("start_run", store.pk): ("405 405 405 405 405", ""),
            url("undo_run", run.pk): ("405 405 405 405 405", ""),
            url("hub_retention"): ("403 403 403 403 200", "405"),
            url("new_hub_policy"): ("403 403 403 403 200", "200"),
            url("policy", "policy_none"): ("404 404 404 404 404", "404"),
        }
        for address, (statuses, posted) in cases.items():
            found = " ".join(str(one.get(address).status_code) for one in clients.values())
            assert found == statuses, address
            if posted:
                assert str(clients["root"].post(address).status_code) == posted, address
        for name, args in (
            ("start_run", store.pk),
            ("cancel_run", run.pk),
            ("allow_run", run.pk),
            ("undo_run", run.pk),
        ):
            for who, status in (("bob", 403), ("carol", 403), ("charlie", 404)):
                assert clients[who].post(url(name, args)).status_code == status, (name, who)
        assert clients["bob"].post(url("delete_policy", own.pk)).status_code == 403


class TestStorePage:
    def test_nothing_expires_and_three_drafts_lead_to_the_form(self, client: Client, store: MemoryStore) -> None:
        html = page(client, url("retention", store.pk))
        assert "Nothing expires" in html and html.count("draft-link") == 3 and "Run now" not in html
        form = page(client, url("new_policy", store.pk) + "?use_expire_unread_days=on&expire_unread_days=90&name=X")
        assert 'value="90"' in form and 'name="use_expire_unread_days" id="id_use_expire_unread_days" checked' in form

    def test_each_policy_says_in_sentences_what_it_does(self, client: Client, store: MemoryStore) -> None:
        policy(store, "Unread", expire_unread_days=90, keep_versions=20)
        policy(store, "Tickets", "/tickets/", expire_older_days=1, paused=True)
        policy(None, "House", keep_entry_days=730, trash_days=10)
        html = page(client, url("retention", store.pk))
        for words in (
            "read for 90 days go to the trash, and are removed permanently after 30 days there.",
            "Keeps the newest 20 versions of each memory.",
            "Memories that were created more than 1 day ago go to the trash",
            "Keeps the audit entries of the last 730 days.",
            "What people and agents put into the trash is removed permanently after 10 days.",
            "or this policy before its change, moved a memory to the trash, the memory is removed permanently after 30",
            "Paused", "Policies of the hub", "Administrators of the hub can change the policies of the hub.",
            "within the hour", "none yet",
        ):  # fmt: skip
            assert words in html, words

    def test_the_last_run_is_told_policy_by_policy(self, client: Client, store: MemoryStore) -> None:
        policy(store, expire_unread_days=90)
        some(store, 2)
        run = ran(store)
        html = page(client, url("retention", store.pk))
        assert "In the last run: 2 memories to the trash" in html and url("run", run.pk) in html
        assert "2 to the trash" in html

    def test_hostile_names_and_patterns_are_inert(self, client: Client, store: MemoryStore) -> None:
        own = policy(store, "<b onmouseover=alert(1)> {{ 7|add:7 }}", "/<img src=x>/", expire_unread_days=9)
        for address in (url("retention", store.pk), url("policy", own.pk), url("delete_policy", own.pk)):
            html = page(client, address)
            assert "<b onmouse" not in html and "<img src=x" not in html and "14" not in html.partition("add:")[0][-5:]

    def test_the_hub_has_its_own(self, store: MemoryStore, superuser: User) -> None:
        root = signed_in(superuser)
        assert "The hub has no policy" in page(root, url("hub_retention"))
        policy(store, expire_unread_days=90)
        html = page(root, url("hub_retention"))
        assert "Nothing expires" not in html and f'href="{url("retention", store.pk)}"' in html
        policy(None, "House", expire_unread_days=365)
        html = page(root, url("hub_retention"))
        assert "House" in html and "no agent has read for 365 days" in html


class TestExplain:
    def test_says_which_policy_wins_why_and_when_what_is_due(self, client: Client, store: MemoryStore) -> None:
        policy(store, "Wide", expire_unread_days=90)
        policy(store, "Close", "/notes/", expire_unread_days=100_00)
        policy(None, "House", expire_older_days=5)
        write(store, "/notes/a.md")
        html = page(client, url("explain_path", store.pk) + "?path=/notes/a.md")
        assert (
            "The policy <b>Close</b> applies." in html and "It is the most specific of the policies that match" in html
        )
        assert (
            "the policy that applies has a longer start without *" in html and "come before policies of the hub" in html
        )
        assert "unless an agent reads it" in html and "never read since it was created or restored on" in html

    def test_of_a_path_without_a_memory_and_without_a_policy(self, client: Client, store: MemoryStore) -> None:
        html = page(client, url("explain_path", store.pk) + "?path=/nothing.md")
        assert "No policy applies" in html and "There is no memory at this path now" in html

    def test_pins_and_holds_over_the_path_are_told(self, client: Client, store: MemoryStore) -> None:
        policy(store, "Wide", expire_unread_days=90)
        write(store, "/notes/a.md")
        holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case <17>", path="/notes")
        html = page(client, url("explain_path", store.pk) + "?path=/notes/a.md")
        assert "Legal hold: no policy, agent or person can remove it." in html and "Case &lt;17&gt;" in html
        assert "Without the pin or hold:" in html and "the next run moves it to the trash" in html

    def test_a_paused_policy_that_wins_is_told(self, client: Client, store: MemoryStore) -> None:
        policy(store, "Rest", "/a/", expire_unread_days=1, paused=True)
        assert "The policy is paused: nothing is removed." in page(
            client, url("explain_path", store.pk) + "?path=/a/b.md"
        )

    def test_malformed_paths_are_answered(self, client: Client, store: MemoryStore) -> None:
        assert "A path begins with a slash" in page(client, url("explain_path", store.pk) + "?path=a.md")
        for path in ("/" + "x" * 5000, "//", "/<script>alert(1)</script>", "/\u202e", "/../.."):
            html = page(client, url("explain_path", store.pk) + "?path=" + quote(path))
            assert "<script>alert" not in html


class TestPattern:
    def test_says_what_it_means_and_which_memories_match(self, client: Client, store: MemoryStore) -> None:
        for number in range(10):
            write(store, f"/tickets/{number}.md")
        write(store, "/other.md")
        html = page(client, url("retention_pattern", store.pk) + "?pattern=/tickets/")
        assert "Applies to everything under /tickets/." in html and "10 memories match now" in html
        assert "/tickets/0.md" in html and "and 2 more" in html and "/other.md" not in html
        assert "11 memories match now" in page(client, url("retention_pattern", store.pk) + "?pattern=")
        assert "1 memory matches now" in page(client, url("retention_pattern", store.pk) + "?pattern=/**/3*.md")
        assert "only that policy applies to it" in page(client, url("new_policy", store.pk))

    def test_a_wrong_one_is_said_in_words(self, client: Client, store: MemoryStore) -> None:
        wrong = {"a": "begins with a slash", "//": "name is missing", "/a**b": "between two slashes", "/..": ". or .."}
        for given, words in wrong.items():
            assert words in page(client, url("retention_pattern", store.pk) + "?pattern=" + given)
        page(client, url("retention_pattern", store.pk) + "?pattern=" + quote("/" + "*" * 3000))


def test_the_page_of_a_memory_says_what_becomes_of_it(client: Client, store: MemoryStore, bob: User) -> None:
    memory = write(store, "/a.md")
    address = url("memory", store.pk, memory.pk)
    assert "until someone removes it" in page(client, address)
    policy(store, expire_unread_days=1)
    assert "Expires with the next run" in page(client, address) and "explain?path=" in page(client, address)
    holds.place(store.pk, act(), kind=HoldKind.PIN, reason=HOSTILE_NAME, memory=memory.pk)
    html = page(client, address)
    assert "Pinned" in html and "<b onmouse" not in html and ">Hold<" in html and ">Pin<" not in html
    assert ">Hold<" not in page(signed_in(bob), address)
