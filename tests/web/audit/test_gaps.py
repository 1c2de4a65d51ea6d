"""Every page of a store from whose history retention and redaction have taken something: sound, and it does not lie."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import viewing
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import verify
from memoryhub.models import Access, AuditEntry, MemoryVersion, Role, User
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.long import LONG, some
from tests.web.all_pages.every_page import pages
from tests.web.all_pages.recorded_views import mark_the_story, opened, record_everywhere
from tests.web.audit.gaps import Gaps, damaged_demo, damaged_store

pytestmark = pytest.mark.django_db

NOW = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
_LINK = re.compile(r'href="(/(?:audit|stores|sessions)/[^"#]*)')
_NO_VERSION = re.compile(r"version 0\b|(?<![\w…])v0<|Version None")
_LEADS = re.compile(r"^/audit/|/versions/|/memories/[^/]*$|/at/[0-9]*[48]/$|^/sessions/")
_EDITS = re.compile(r"/(edit|rename|delete|restore|undo|redact|archive|settings|new|flag|export)\b|[?]")


@pytest.fixture(scope="class")
def gaps_once(rows_of_class: None, django_db_blocker: DjangoDbBlocker) -> Gaps:
    with django_db_blocker.unblock():
        store = stores.create_store(stores.StoreSettings(name="Support"), **BY)
        agent = keys_and_roles.create_agent("Support bot", **BY)
        return damaged_store(store, keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)[1])


@pytest.fixture
def gaps(gaps_once: Gaps, db: None) -> Gaps:
    return gaps_once


@pytest.fixture
def client(superuser: User) -> Client:
    return signed_in(superuser)


def words(body: bytes) -> str:
    """A page as it is read."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body.decode())))


def shown(client: Client, name: str, query: str = "", status: int = 200, **parts: Any) -> str:
    answer = client.get(reverse(name, kwargs=parts) + query)
    assert answer.status_code == status, name
    return words(answer.content)


def of_memory(gaps: Gaps) -> dict[str, Any]:
    return {"store_id": gaps.store.pk, "memory_id": gaps.thinned.pk}


@pytest.mark.push
@pytest.mark.both_databases
def test_every_page_opens_and_links_to_nothing_that_is_gone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """For an administrator; a viewer sees them too, or is refused (in the short form: each twelfth). On the demo, which
    has something on each. Each page that shows texts of memories has an entry that says so, and no other page."""
    mark_the_story(monkeypatch)
    gaps = damaged_demo(NOW)
    record_everywhere()
    monkeypatch.setattr(viewing, "AGAIN", timedelta(0))
    viewer = new_person("Vera")
    keys_and_roles.set_role(gaps.store, viewer, Role.VIEWER, **BY)
    as_viewer = signed_in(viewer)
    links: set[str] = set()
    for number, (name, address) in enumerate(pages()):
        answer = opened(client, address)
        assert answer.status_code == 200, (name, address)
        text = answer.content.decode()
        assert not _NO_VERSION.search(text), name
        links.update(unescape(link) for link in _LINK.findall(text))
        if LONG or number % 12 == 0:
            assert as_viewer.get(address).status_code in (200, 403, 404), (name, address)
    leads = sorted(link for link in links if _LEADS.search(link) and not _EDITS.search(link))
    assert len(leads) > 30
    tried = leads if LONG else leads[::48]
    gone = [link for link in tried if client.get(link).status_code not in (200, 302)]
    assert not gone


@pytest.mark.push
@pytest.mark.both_databases
def test_no_entry_is_called_an_alarm_and_the_audit_verifies(gaps: Gaps, client: Client) -> None:
    """In the short form, of each second entry, and of those that were redacted."""
    seqs = list(AuditEntry.objects.of_chain(gaps.store.pk).oldest().values_list("seq", flat=True))
    for seq in {*some(seqs, 2), *gaps.nameless}:
        assert "Alarm" not in shown(client, "entry", chain=gaps.store.pk, seq=seq), seq
    assert verify.verify(gaps.store.pk)[1] is None


class TestVersions:
    def test_the_timeline_says_what_is_missing(self, gaps: Gaps, client: Client) -> None:
        page = shown(client, "versions", **of_memory(gaps))
        assert "Versions 1 to 2 were removed" in page
        assert "Version 4 was removed" in page
        assert page.count("by Tidy up") >= 2
        assert "3 of them were removed" in page

    def test_a_version_counts_no_lines_against_one_that_is_gone(self, gaps: Gaps, client: Client) -> None:
        answer = client.get(reverse("versions", kwargs=of_memory(gaps)))
        rows = {row.version.number: row for row in answer.context["rows"]}
        assert [(rows[number].added, rows[number].removed) for number in (3, 5)] == [(None, None)] * 2
        assert rows[8].added == 1

    def test_a_version_leads_to_the_nearest_ones(self, gaps: Gaps, client: Client) -> None:
        third = MemoryVersion.objects.of_memory(gaps.thinned).get(number=3)
        answer = client.get(reverse("version", args=[gaps.store.pk, third.pk]))
        assert (answer.context["previous"], answer.context["next"].number) == (None, 5)
        assert "Versions 1 to 2 were removed" in words(answer.content)

    def test_a_comparison_with_one_that_is_gone_says_so(self, gaps: Gaps, client: Client) -> None:
        for query in ("?from=2&to=3", "?from=4&to=5", "?to=3", "?from=4", ""):
            page = shown(client, "compare", query, **of_memory(gaps))
            assert ("The retention policy removed version" in page) == ("from=2" in query or "from=4" in query), query

    def test_blame_goes_back_as_far_as_the_versions_do(self, gaps: Gaps, client: Client) -> None:
        shown(client, "blame", **of_memory(gaps))
        page = shown(client, "blame", "?version=3", **of_memory(gaps))
        assert "v3 or earlier" in page
        assert "Versions before 3 were removed" in page

    def test_readers_of_a_version_and_of_a_line(self, gaps: Gaps, client: Client) -> None:
        for query in ("?version=3", "?version=3&line=2", "?version=11&line=4", "?version=4", "?version=1"):
            shown(client, "readers", query, **of_memory(gaps))


class TestAudit:
    def test_the_list_says_where_it_starts(self, gaps: Gaps, client: Client) -> None:
        page, address = b"", reverse("store_audit", args=[gaps.store.pk])
        following: str | None = ""
        while following is not None:
            page = client.get(address + following).content
            older = re.search(rb'rel="next" href="[^"?]*([^"]*)"', page)
            following = unescape(older[1].decode()) if older else None
        assert f"The audit starts here: {gaps.starts_at} earlier entries were removed." in words(page)

    def test_an_entry_that_was_removed_is_told_of(self, gaps: Gaps, client: Client) -> None:
        parts: dict[str, Any] = {"chain": gaps.store.pk}
        page = shown(client, "entry", status=404, seq=gaps.starts_at, **parts)
        assert f"The audit starts at entry {gaps.starts_at + 1}" in page
        assert client.get(reverse("entry", kwargs=parts | {"seq": 999_999})).status_code == 404
        first = client.get(reverse("entry", kwargs=parts | {"seq": gaps.starts_at + 1}))
        assert first.context["previous"] is None

    def test_a_redacted_entry_says_so(self, gaps: Gaps, client: Client) -> None:
        for seq in gaps.nameless:
            assert "redacted" in shown(client, "entry", chain=gaps.store.pk, seq=seq)

    def test_a_purged_memory_is_no_link(self, gaps: Gaps, client: Client) -> None:
        answer = client.get(reverse("store_audit", args=[gaps.store.pk]) + "?q=command:purge")
        assert answer.context["rows"][0].memory_url is None
        seq = AuditEntry.objects.of_chain(gaps.store.pk).of_command("purge").get().seq
        assert "Removed permanently" in shown(client, "entry", chain=gaps.store.pk, seq=seq)

    @pytest.mark.both_databases
    def test_exports_go_on(self, gaps: Gaps, client: Client) -> None:
        for form in ("csv", "json"):
            answer = client.post(reverse("export_audit"), {"format": form, "store": gaps.store.pk})
            assert b"Tidy up" in answer.getvalue()
            address = reverse("export_versions", kwargs=of_memory(gaps))
            assert client.post(address, {"format": form}).getvalue()
        for form in ("zip", "jsonl"):
            given = {"format": form, "everything": "1", "in": ""}
            assert client.post(reverse("selection", args=[gaps.store.pk]), given).getvalue()


class TestMoments:
    def test_a_moment_before_the_start_leads_to_the_first_that_is_left(self, gaps: Gaps, client: Client) -> None:
        for name, parts in (("moment", {}), ("moment_memory", {"memory_id": gaps.thinned.pk})):
            address = reverse(name, kwargs={"store_id": gaps.store.pk, "seq": 3, **parts})
            answer = client.get(address, follow=True)
            assert answer.status_code == 200
            assert f"The audit starts at entry {gaps.starts_at + 1}" in words(answer.content)

    def test_a_memory_whose_version_is_gone_was_not_missing(self, gaps: Gaps, client: Client) -> None:
        third = MemoryVersion.objects.of_memory(gaps.thinned).get(number=3)
        assert third.superseded_seq is not None
        parts: dict[str, Any] = {"seq": third.superseded_seq, **of_memory(gaps)}
        page = shown(client, "moment_memory", **parts)
        assert "The retention policy removed the version" in page
        assert "did not exist yet" not in page
        directory = shown(client, "moment", store_id=gaps.store.pk, seq=third.superseded_seq)
        assert "Some versions that were current right after this entry have since been removed" in directory

    def test_what_changed_does_not_call_it_new(self, gaps: Gaps, client: Client) -> None:
        third = MemoryVersion.objects.of_memory(gaps.thinned).get(number=3)
        answer = client.get(
            reverse("changes", args=[gaps.store.pk]), {"from": third.superseded_seq, "to": gaps.thinned.head.seq}
        )
        row = next(row for row in answer.context["rows"] if row.of.memory == gaps.thinned.pk)
        assert row.of.kinds == ("changed",)
        assert "What changed is unknown" in words(answer.content)
        page = shown(client, "changes", "?from=3&to=90", store_id=gaps.store.pk)
        assert f"The audit starts at entry {gaps.starts_at + 1}" in page
