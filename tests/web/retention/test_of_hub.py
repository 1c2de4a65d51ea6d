"""What a policy of the hub would do is shown for every memory store, archived or not, and for the hub's own audit."""

import random
from datetime import timedelta

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.rehearsal import Totals
from memoryhub.actions.stores import stores
from memoryhub.models import Door, MemoryStore, RetentionPolicy, RunState, User
from memoryhub.web.retention import outlook
from tests.actions.retention.stores import BEGIN, PERSON, YEAR, act, grown_store, random_policy
from tests.support.fixtures import BY, signed_in
from tests.support.long import tried
from tests.web.retention.pages import some, url
from tests.web.retention.test_policies import UNREAD, post

pytestmark = pytest.mark.django_db
HUBS = tried(48, 2)


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(HUBS))
def test_what_is_shown_is_what_the_runs_take(seed: int) -> None:
    dice = random.Random(seed)
    hub = [grown_store(dice, acts=20) for _ in range(3)]
    for store in dice.sample(hub, 2):
        stores.set_archived(store, True, actor=PERSON, door=Door.WEB, at=BEGIN + YEAR)
    for days in range(5):
        keys_and_roles.create_agent(f"Agent {days}", **BY | {"at": BEGIN + timedelta(days=days)})
    at = BEGIN + YEAR + timedelta(days=dice.randint(1, 90))
    keys_and_roles.create_agent("Newest", **BY | {"at": at})
    if dice.random() < 0.5:
        policies.save_policy(hub[0].pk, random_policy(dice, "/a/"), act(at))
    draft = random_policy(dice, dice.choice(["", "", "/a/"]))
    shown = outlook.outlook_of_hub(at, [draft.as_policy(None)])
    assert [one.store.pk if one.store else None for one in shown.stores] == [*sorted(store.pk for store in hub), None]
    policies.save_policy(None, draft, act(at))
    took = {run.store_id: Totals(run.expired, run.purged, run.versions, run.entries, run.bytes) for run in all_runs(at)}
    for one in shown.stores:
        assert one.totals == took.get(one.store.pk if one.store else None, Totals())
    assert shown.totals == (Totals(*map(sum, zip(*took.values(), strict=True))) if took else Totals())
    saved = outlook.outlook_of_hub(at, policies.concerning(None))
    assert not any(one.going or one.staying for one in saved.stores)


def all_runs(at: object) -> list[runs.Run]:
    """What the background does within an hour, allowed where it asks."""
    done = runs.due_runs(at)
    for run in done:
        if run.state == RunState.WAITING:
            runs.allow(run.pk, act(at))
        while runs.step(run.pk, at):
            pass
        run.refresh_from_db()
    runs._plans.known.clear()
    return done


def test_the_page_names_an_archived_store_and_the_audit_of_the_hub(store: MemoryStore, superuser: User) -> None:
    some(store, 2)
    stores.set_archived(store, True, **BY)
    fields = UNREAD | {"use_keep_entry_days": "on", "keep_entry_days": "8"}
    for name in ("First", "Second", "Third"):
        keys_and_roles.create_agent(name, **BY)
    root = signed_in(superuser)
    html = post(root, url("new_hub_policy"), act="rehearse", **fields)
    assert "<b>2</b> memories to the trash" in html and "archived" in html and "The hub’s own audit" in html
    assert "audit entries" in html.partition(">The hub’s own audit<")[2].partition("</tr>")[0]
    assert not RetentionPolicy.objects.exists()
