"""The runs of the policies: started, watched, asked about, cancelled, and taken back while things are in the trash."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.erasure.redaction import redact_version
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.retention.runs import clock
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, RetentionPolicy, Run, RunItem, User
from memoryhub.web.retention import runs as runs_pages
from memoryhub.web.retention.runs import rows as runs_rows
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.memories.pages import act, newest, page, write
from tests.web.retention.pages import begun, policy, ran, some, url


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def many(store: MemoryStore) -> list[Memory]:
    """Twelve that stay and three whose time is over, so that no guard asks."""
    policy(store, "Unread", "/old/", expire_unread_days=90)
    some(store, 12, "/kept")
    return some(store, 3)


def post(client: Client, name: str, *args: object) -> str:
    answer = client.post(url(name, *args), follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_run_now_begins_one_and_shows_it(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    clock.accept(timezone.now())
    html = post(client, "start_run", store.pk)
    (run,) = Run.objects.all()
    assert "Running" in html and 'hx-trigger="every 2s"' in html and "0 of 3 done:" in html and "Cancel" in html
    assert "Started by Alice" in html
    assert "A run is already in progress" in post(client, "start_run", store.pk)
    assert Run.objects.count() == 1
    while runs.step(run.pk, timezone.now()):
        pass
    html = page(client, url("run", run.pk))
    assert "Done" in html and "3 to the trash" in html and 'hx-trigger="every' not in html
    assert "Nothing has expired, so a run would remove nothing." in post(client, "start_run", store.pk)


def test_each_memory_has_its_reason_and_its_entry(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    run = ran(store)
    html = page(client, url("run", run.pk))
    assert 'id="allowed"' not in html
    for memory in many:
        assert url("memory", store.pk, memory.pk) in html
    assert html.count("created or restored on 3 November 2025") + html.count("not read since 3 November 2025") == 3
    assert html.count("in the trash") >= 3 and "Unread" in html
    for item in RunItem.objects.filter(run=run):
        assert url("entry", store.pk, item.seq) in html


@pytest.mark.both_databases
def test_a_run_and_its_entries_say_who_made_or_changed_the_policy(
    client: Client, store: MemoryStore, many: list[Memory], bob: User, superuser: User
) -> None:
    saved = RetentionPolicy.objects.get()
    alone = AuditEntry.objects.of_chain(store.pk).of_command("set_policy").newest()[0]
    item = RunItem.objects.filter(run=(run := ran(store)))[0]
    for address in (url("run", run.pk), url("entry", store.pk, item.seq)):
        html = page(signed_in(bob), address)
        assert "by the policy Unread" in html and f'href="{url("entry", store.pk, alone.seq)}">which ' in html
    changed = PolicySettings(name="Unread for long", pattern="/old/", expire_unread_days=91)
    policies.save_policy(store.pk, changed, act()._replace(at=run.started_at), policy_id=saved.pk)
    html = page(client, url("run", run.pk))
    assert "by the policy Unread for long" in html and " last changed</a>" in html
    hub = policy(None, "House", keep_entry_days=1)
    with tampering():
        RunItem.objects.filter(pk=item.pk).update(policy=hub.pk)
    assert "by the policy House" not in page(client, url("run", run.pk))
    assert "by the policy House" in page(signed_in(superuser), url("run", run.pk))


def test_htmx_gets_the_state_alone_until_the_end(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    run = begun(store)
    asked = {"headers": {"hx-request": "true"}}
    answer = client.get(url("run", run.pk) + "?part=state", **asked)  # type: ignore[arg-type]
    assert "<html" not in answer.content.decode() and "HX-Refresh" not in answer.headers
    assert "<html" in client.get(url("run", run.pk) + "?part=state").content.decode()
    runs.cancel(run.pk, act())
    answer = client.get(url("run", run.pk) + "?part=state", **asked)  # type: ignore[arg-type]
    assert answer.headers["HX-Refresh"] == "true"


def test_a_guard_says_what_is_unusual_and_lets_it_go_on(client: Client, store: MemoryStore) -> None:
    policy(store, expire_unread_days=90)
    some(store, 12)
    run = begun(store)
    html = page(client, url("run", run.pk))
    assert "12 removals at once are more than usual" in html and "Let the run go on" in html and "/old/0.md" in html
    assert "Nothing has been removed yet" in html and Memory.objects.live().count() == 12
    assert "A run stopped and waits for your decision" in page(client, url("retention", store.pk))
    assert "The run continues." in post(client, "allow_run", run.pk)
    assert "The run has already ended." in post(client, "allow_run", run.pk)
    run.refresh_from_db()
    assert run.state == "running" and run.guard_allowed_by is not None
    entry = AuditEntry.objects.of_chain(store.pk).of_command("allow_run").get()
    while runs.step(run.pk, run.at):
        pass
    html = page(client, url("run", run.pk))
    stopped = html[html.index('id="allowed"') : html.index('id="run-state"')]
    assert (
        "The run stopped before it removed anything:" in stopped
        and "12 removals at once are more than usual" in stopped
    )
    assert (
        f"{run.guard_allowed_by} allowed the run to go on" in stopped and url("entry", store.pk, entry.seq) in stopped
    )
    assert url("run", run.pk) in page(client, url("entry", store.pk, entry.seq))


def test_a_guard_for_the_clock_says_the_time(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    later = timezone.now() + timedelta(days=400)
    clock.accept(timezone.now())
    run = runs.start(store.pk, act()._replace(at=later), later)
    html = page(client, url("run", run.pk))
    assert "The clock has moved by more than a day" in html and "Check that this time of the run is correct:" in html
    assert "The run was cancelled." in post(client, "cancel_run", run.pk)
    assert Memory.objects.live().count() == 15


def test_cancel_keeps_what_was_done(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    run = begun(store)
    assert "What it already removed stays removed." in post(client, "cancel_run", run.pk)
    html = page(client, url("run", run.pk))
    assert "Cancelled" in html and "The run has already ended." in post(client, "cancel_run", run.pk)


class TestUndo:
    def test_says_how_many_come_back_and_brings_them(
        self, client: Client, store: MemoryStore, many: list[Memory]
    ) -> None:
        run = ran(store)
        assert Memory.objects.live().count() == 12
        html = page(client, url("run", run.pk))
        assert "This run was undone" not in html
        assert "3 memories of this run are still in the trash" in html and "Undo this run" in html
        assert "3 memories are back." in post(client, "undo_run", run.pk)
        assert Memory.objects.live().count() == 15 and newest(store).command == "undo_run"
        html = page(client, url("run", run.pk))
        assert "restored since then" in html and "Undo this run" not in html
        entry = newest(store)
        assert f"This run was undone by {entry.label}" in html and url("entry", store.pk, entry.seq) in html

    def test_names_the_paths_that_are_taken(self, client: Client, store: MemoryStore, many: list[Memory]) -> None:
        run = ran(store)
        write(store, many[0].path, "another")
        html = page(client, url("run", run.pk))
        assert "of the old paths" in html and html.count(many[0].path) >= 2
        html = post(client, "undo_run", run.pk)
        assert "2 memories are back." in html and "1 stays in the trash" in html

    @pytest.mark.both_databases
    def test_counts_only_what_can_come_back(self, client: Client, store: MemoryStore, many: list[Memory]) -> None:
        run = ran(store)
        write(store, f"{many[0].path}/beneath.md", "the path is a directory now")
        for version in MemoryVersion.objects.of_memory(many[1]):
            redact_version(store.pk, version.pk, act()._replace(at=timezone.now()))
        html = " ".join(page(client, url("run", run.pk)).split())
        assert "3 memories of this run are still in the trash. Undo brings 1 back to its old path" in html
        assert "1 of the old paths is taken: something else is there now" in html
        assert "1 stays in the trash, because its text was redacted." in html
        html = post(client, "undo_run", run.pk)
        assert "1 memory is back. 1 stays in the trash, because something else is at its path now." in html
        assert "1 stays in the trash, because its text was redacted." in html
        html = page(client, url("run", run.pk))
        assert "2 memories of this run" in html and "Undo this run" not in html
        assert "This run was undone in 1 of 3 memories by" in " ".join(html.split())
        undo = url("undo_entry", store.pk, newest(store).seq)
        client.post(undo, form_with(page(client, undo), "digest"))
        assert Memory.objects.live().filter(path=many[2].path).count() == 0
        assert "This run was undone" not in page(client, url("run", run.pk))

    def test_one_that_was_restored_meanwhile_is_left(
        self, client: Client, store: MemoryStore, many: list[Memory]
    ) -> None:
        run = ran(store)
        post(client, "undo_run", run.pk)
        assert "0 memories are back." in post(client, "undo_run", run.pk)

    def test_an_archived_store_says_so(self, client: Client, store: MemoryStore, many: list[Memory]) -> None:
        run = ran(store)
        stores.set_archived(store, True, **BY)
        assert "Unarchive it first." in page(client, url("run", run.pk))
        assert "archived" in post(client, "undo_run", run.pk) and Memory.objects.live().count() == 12


def test_what_was_left_alone_says_why(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    run = begun(store)
    curation.edit(store.pk, many[0].pk, "new", many[0].sha256, act()._replace(at=timezone.now()))
    curation.delete(store.pk, many[1].path, act()._replace(at=timezone.now()))
    while runs.step(run.pk, timezone.now()):
        pass
    html = page(client, url("run", run.pk))
    assert "kept: deleted in the meantime" in html and "1 kept" in html


@pytest.mark.both_databases
def test_runs_and_their_memories_go_on_on_further_pages(
    client: Client, store: MemoryStore, many: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_pages, "SIZE", 1)
    monkeypatch.setattr(runs_rows, "SIZE", 2)
    assert "No run has removed anything yet" in page(client, url("runs", store.pk))
    first = ran(store)
    some(store, 1, "/old/more")
    second = ran(store)
    html = page(client, url("runs", store.pk))
    assert url("run", second.pk) in html and url("run", first.pk) not in html
    assert url("run", first.pk) in page(client, url("runs", store.pk) + f"?before={second.pk}")
    last = RunItem.objects.filter(run=first).order_by("pk")[1].pk
    assert f"?after={last}" in page(client, url("run", first.pk))
    assert many[2].path in page(client, url("run", first.pk) + f"?after={last}")
    for after in ("x", "-1", "9" * 17, "9" * 40, "'"):
        page(client, url("run", first.pk) + f"?after={after}")


def test_a_run_over_the_hubs_own_audit_is_for_superusers(client: Client, store: MemoryStore, superuser: User) -> None:
    policy(None, "House", keep_entry_days=1)
    clock.accept(timezone.now())
    run = runs.start(None, act()._replace(at=timezone.now()), timezone.now())
    assert client.get(url("run", run.pk)).status_code == 404
    root = signed_in(superuser)
    assert "Retention run" in page(root, url("run", run.pk)) and run.pk in page(root, url("hub_retention"))
    assert root.post(url("undo_run", run.pk)).status_code == 404


def test_the_trash_says_until_when_things_are_kept(client: Client, store: MemoryStore, many: list[Memory]) -> None:
    ran(store)
    html = page(client, url("trash", store.pk))
    assert html.count("explain?path=") == 3 and "someone removes it" not in html
