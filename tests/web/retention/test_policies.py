"""The form of a policy: rehearsed before it is saved, with the difference to what it replaces, and taken back."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from memoryhub.actions.core.rules import holds
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, RetentionPolicy, User
from memoryhub.web.retention import sentences
from tests.support.fixtures import AT, signed_in
from tests.web.browser_forms import form_with
from tests.web.memories.pages import act, newest, page, write
from tests.web.retention.pages import in_days, policy, some, url

UNREAD = {
    "name": "Unread",
    "pattern": "",
    "use_expire_unread_days": "on",
    "expire_unread_days": "90",
    "grace_days": "30",
}


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


def post(client: Client, address: str, **fields: str) -> str:
    answer = client.post(address, fields, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def saved(client: Client, address: str, **fields: str) -> str:
    """Presses Save, looks at what it would do, and presses it again."""
    html = post(client, address, act="save", **fields)
    return post(client, address, act="save", **(fields | {"seen": form_with(html, "seen")["seen"]}))


class TestRehearse:
    def test_shows_what_it_would_do_and_saves_nothing(self, client: Client, store: MemoryStore) -> None:
        some(store, 3)
        before = AuditEntry.objects.count()
        html = post(client, url("new_policy", store.pk), act="rehearse", **UNREAD)
        assert "What it would do" in html and "Would also be removed" in html and "<b>3</b> memories" in html
        assert html.count("/old/0.md") >= 2 and "never read since it was created or restored on 3 November 2025" in html
        for words in ("would have removed", "will remove"):
            assert f"What all policies together {words} each week" in html
        assert "Save this policy?" not in html and ">Save this policy<" in html
        assert not RetentionPolicy.objects.exists() and AuditEntry.objects.count() == before
        assert Memory.objects.live().count() == 3

    def test_the_difference_is_to_the_policy_that_it_replaces(self, client: Client, store: MemoryStore) -> None:
        some(store, 2, "/a")
        some(store, 1, "/b")
        old = policy(store, "A", "/a/", expire_unread_days=5)
        fields = UNREAD | {"pattern": "/b/"}
        html = post(client, url("policy", old.pk), act="rehearse", **fields)
        going, staying = html.partition("Would also be removed")[2].partition("Would no longer be removed")[::2]
        assert "/b/0.md" in going and "/a/0.md" not in going and "/a/0.md" in staying and "/a/1.md" in staying
        same = post(client, url("policy", old.pk), act="rehearse", **(fields | {"pattern": "/a/"}))
        assert "removes exactly what it would remove without this change" in same

    def test_it_says_where_the_next_run_removes_nothing_and_what_the_policy_removes_first(
        self, client: Client, store: MemoryStore
    ) -> None:
        some(store, 12)
        policy(store, "Others", "/other/", expire_unread_days=in_days(1))
        some(store, 1, "/other")
        days = in_days(5)
        html = post(client, url("new_policy", store.pk), act="rehearse", **(UNREAD | {"expire_unread_days": str(days)}))
        assert "would remove nothing, with or without this change" in html
        soon = html.partition("What comes next")[2].partition("</section>")[0]
        day = sentences.day(AT + timedelta(days=days))
        assert soon.count("<li>") == 10 and "/old/0.md" in soon and "/other/0.md" not in soon and soon.count(day) == 10
        assert "The first 10 are shown." in soon
        soon = page(client, url("rehearsal", store.pk)).partition("What comes next")[2].partition("</section>")[0]
        assert "/other/0.md" in soon and "/old/0.md" not in soon

    def test_what_is_pinned_is_not_in_it(self, client: Client, store: MemoryStore) -> None:
        kept = some(store, 2)[0]
        holds.place(store.pk, act(), kind=HoldKind.PIN, reason="needed", memory=kept.pk)
        html = post(client, url("new_policy", store.pk), act="rehearse", **UNREAD)
        assert "<b>1</b> memory to the trash" in html and kept.pk not in html.partition("is held")[0]

    def test_it_says_how_many_memories_only_a_hold_or_a_pin_keeps(self, client: Client, store: MemoryStore) -> None:
        first, second, third = some(store, 3)
        some(store, 1, "/other")
        rules = UNREAD | {"pattern": "/old/"}
        holds.place(store.pk, act(), kind=HoldKind.PIN, reason="needed", memory=first.pk)
        html = post(client, url("new_policy", store.pk), act="rehearse", **rules)
        assert "1 more memory is held" in html
        assert '<a href="#held">1 stays because of a pin or legal hold</a>' in html
        holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="needed", path="/other")
        holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="needed", memory=second.pk)
        html = post(client, url("new_policy", store.pk), act="rehearse", **rules)
        assert "2 more memories are held" in html and third.pk in html and url("holds", store.pk) in html
        spared = html.partition("2 more memories are held")[2]
        assert first.path in spared and second.path in spared and third.path not in spared
        holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="needed", memory=third.pk)
        html = post(client, url("new_policy", store.pk), act="rehearse", **rules)
        assert "Only held memories" in html and "3 memories are held" in html and "Nothing has expired" not in html

    def test_the_draft_can_be_downloaded_whole(self, client: Client, store: MemoryStore) -> None:
        some(store, 2)
        write(store, "/=cmd|' /C calc'!A0.md")
        html = post(client, url("new_policy", store.pk), act="rehearse", **UNREAD)
        (fields,) = re.findall(r"<form[^>]*rehearsal/export.*?</form>", html, re.DOTALL)
        given = dict(re.findall(r'name="(\w+)" value="([^"]*)"', fields)) | {"format": "csv"}
        answer = client.post(url("export_rehearsal", store.pk), given)
        lines = b"".join(answer).decode("utf-8-sig").splitlines()
        assert len(lines) == 4 and lines[0].startswith("what,path,memory,why")
        assert any(line.startswith("expire,/old/0.md,") for line in lines)
        told = newest(store)
        assert told.command == "export_table" and '"table":"rehearsal"' in str(told.input)
        assert client.post(url("export_rehearsal", store.pk), {"name": "x", "pattern": "no"}).status_code == 400

    def test_of_the_hub_it_is_told_store_by_store(self, store: MemoryStore, superuser: User) -> None:
        some(store, 2)
        html = post(signed_in(superuser), url("new_hub_policy"), act="rehearse", **UNREAD)
        assert "Support" in html and "<b>2</b> memories to the trash" in html and not RetentionPolicy.objects.exists()


class TestSave:
    def test_asks_first_and_then_saves_with_a_way_back(self, client: Client, store: MemoryStore) -> None:
        address = url("new_policy", store.pk)
        asked = post(client, address, act="save", **UNREAD)
        assert "Save this policy?" in asked and not RetentionPolicy.objects.exists()
        html = saved(client, address, **UNREAD)
        (made,) = RetentionPolicy.objects.all()
        assert (made.expire_unread_days, made.keep_versions, made.grace_days, made.store_id) == (90, None, 30, store.pk)
        assert "was saved. It takes effect with the next run." in html and url("delete_policy", made.pk) in html
        assert newest(store).command == "set_policy"

    def test_a_draft_that_changed_after_the_look_is_asked_again(self, client: Client, store: MemoryStore) -> None:
        address = url("new_policy", store.pk)
        seen = form_with(post(client, address, act="save", **UNREAD), "seen")["seen"]
        other = UNREAD | {"expire_unread_days": "1", "seen": seen}
        assert "Save this policy?" in post(client, address, act="save", **other)
        assert not RetentionPolicy.objects.exists()

    def test_what_somebody_else_saved_meanwhile_is_not_overwritten_unseen(
        self, client: Client, store: MemoryStore
    ) -> None:
        old = policy(store, expire_unread_days=10)
        address = url("policy", old.pk)
        seen = form_with(post(client, address, act="save", **UNREAD), "seen")["seen"]
        saved(client, address, **(UNREAD | {"expire_unread_days": "50"}))
        html = post(client, address, act="save", **(UNREAD | {"seen": seen}))
        assert (
            "Save this policy?" in html and "Memories that the policy has already moved to the trash stay there" in html
        )
        assert RetentionPolicy.objects.get().expire_unread_days == 50

    @pytest.mark.both_databases
    def test_the_way_back_is_the_form_with_the_values_before(self, client: Client, store: MemoryStore) -> None:
        old = policy(store, "Before", "/a/", expire_unread_days=10, keep_versions=3, paused=True)
        html = saved(client, url("policy", old.pk), **UNREAD)
        (back,) = re.findall(r'banner-undo" href="([^"]*)"', html)
        fields = form_with(page(client, unescape(back)), "pattern")
        wanted = {"name": "Before", "pattern": "/a/", "expire_unread_days": "10", "keep_versions": "3", "paused": "on"}
        assert wanted.items() <= fields.items()
        saved(client, url("policy", old.pk), **fields)
        assert RetentionPolicy.objects.get().keep_versions == 3

    def test_malformed_values_are_said_beside_their_fields(self, client: Client, store: MemoryStore) -> None:
        policy(store, "First", "/a/")
        cases = (
            ({"expire_unread_days": ""}, "How many days?"), ({"expire_unread_days": "0"}, "greater than or equal to 1"),
            ({"expire_unread_days": "9" * 30}, "less than or equal to"), ({"expire_unread_days": "x"}, "whole number"),
            ({"pattern": "a/b"}, "begins with a slash"), ({"pattern": "/a/**b/"}, "between two slashes"),
            ({"name": ""}, "required"), ({"name": "x" * 200}, "at most 100"), ({"grace_days": "0"}, "greater than or"),
            ({"use_keep_entry_days": "on", "keep_entry_days": "9", "pattern": "/b/"}, "Audit entries belong"),
            ({"use_keep_versions": "on"}, "How many?"), ({"grace_days": ""}, "required"),
        )  # fmt: skip
        for changes, words in cases:
            html = post(client, url("new_policy", store.pk), act="save", **(UNREAD | changes))
            assert words in html and "Save this policy" not in html, changes
        (other,) = RetentionPolicy.objects.all()
        html = post(client, url("new_policy", store.pk), act="rehearse", **(UNREAD | {"pattern": "/a/"}))
        assert "Another policy has this pattern already." in html and f'<a href="{url("policy", other.pk)}">' in html
        assert "Save this policy" not in html

    def test_a_ticked_rule_has_the_number_that_the_form_shows(self, client: Client, store: MemoryStore) -> None:
        shown = form_with(page(client, url("new_policy", store.pk)), "pattern")
        saved(client, url("new_policy", store.pk), **(shown | {"name": "Old", "use_expire_unchanged_days": "on"}))
        made = RetentionPolicy.objects.get()
        assert (made.expire_unchanged_days, made.expire_unread_days, made.keep_versions) == (180, None, None)

    def test_a_policy_without_any_rule_is_refused(self, client: Client, store: MemoryStore, superuser: User) -> None:
        typed = {name: value for name, value in UNREAD.items() if not name.startswith("use_")}
        for acted in ("rehearse", "save"):
            html = post(client, url("new_policy", store.pk), act=acted, **typed)
            assert "No rule is ticked" in html and "Nothing expires" not in html and "Save this policy" not in html
            assert "pin the directory" in html and f'href="{url("holds", store.pk)}#place"' in html
        assert "No rule is ticked" in post(signed_in(superuser), url("new_hub_policy"), act="save", **typed)

    def test_a_number_without_its_tick_does_not_count(self, client: Client, store: MemoryStore) -> None:
        saved(client, url("new_policy", store.pk), **(UNREAD | {"expire_older_days": "5", "trash_days": "rubbish"}))
        (made,) = RetentionPolicy.objects.all()
        assert made.expire_older_days is None and made.trash_days is None


def test_deleting_shows_what_would_stay_and_has_a_way_back(client: Client, store: MemoryStore) -> None:
    some(store, 2)
    old = policy(store, "Unread", expire_unread_days=90, keep_versions=7)
    html = page(client, url("delete_policy", old.pk))
    assert "Would no longer be removed" in html and "<b>2</b> memories to the trash" in html
    html = post(client, url("delete_policy", old.pk))
    assert "was deleted." in html and not RetentionPolicy.objects.exists()
    (back,) = re.findall(r'banner-undo" href="([^"]*)"', html)
    fields = form_with(page(client, unescape(back)), "pattern")
    assert (fields["expire_unread_days"], fields["keep_versions"]) == ("90", "7")
    assert newest(store).command == "delete_policy"


def test_a_draft_in_the_address_is_only_what_the_form_begins_with(client: Client, store: MemoryStore) -> None:
    strange = "?name=%3Cscript%3E&expire_unread_days=x&use_expire_unread_days=on&pattern=%2F%3Cb%3E&grace_days=-1&x=y"
    html = page(client, url("new_policy", store.pk) + strange)
    assert "<script>" not in html.replace("<script ", "") and "/<b>" not in html


class TestRehearsalPage:
    def test_tells_what_the_saved_policies_do_now_and_later(self, client: Client, store: MemoryStore) -> None:
        assert "There is nothing to rehearse yet" in page(client, url("rehearsal", store.pk))
        some(store, 2)
        policy(store, expire_unread_days=in_days(20))
        assert "Nothing has expired yet" in page(client, url("rehearsal", store.pk))
        html = page(client, url("rehearsal", store.pk) + "?days=30")
        assert "/old/0.md" in html and "if nobody reads or changes anything until then" in html
        for days in ("-1", "x", "99999999999999", "'"):
            assert "Nothing has expired yet" in page(client, url("rehearsal", store.pk) + f"?days={days}")

    def test_in_a_large_store_the_pictures_come_after_the_page(
        self, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("outlook", "rehearsal", "policies"):
            monkeypatch.setattr(f"memoryhub.web.retention.{module}.AT_ONCE", 1)
        some(store, 3)
        fields = UNREAD | {"expire_unread_days": str(in_days(20))}
        html = post(client, url("new_policy", store.pk), act="rehearse", **fields)
        (address,) = re.findall(r'hx-get="([^"]*weeks[^"]*)"', html)
        assert "will remove each week" not in html
        part = client.get(unescape(address), headers={"hx-request": "true"}).content.decode()
        assert "together will remove each week" in part and "<html" not in part and "With this draft" in part
        assert "<html" in page(client, unescape(address))
        assert "With this draft" not in page(client, url("rehearsal_weeks", store.pk) + "?name=x&pattern=wrong")

    def test_a_long_list_is_cut_and_says_so(
        self, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memoryhub.web.retention.outlook.MOST", 2)
        some(store, 5)
        policy(store, expire_unread_days=90)
        assert "The first 2 of 5 are shown. The download has them all." in page(client, url("rehearsal", store.pk))
