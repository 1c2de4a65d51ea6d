"""Alarms of the hub as events: raised when they have lasted a while, ended when they are over, to its own webhooks."""

import json
from datetime import timedelta
from typing import Any

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.mail import alarms
from memoryhub.actions.webhooks import gather, manage
from memoryhub.models import Alarm, Delivery, Door, MemoryStore, User, Webhook
from memoryhub.pure.webhook_rules import chat
from memoryhub.pure.webhook_rules.events import EVENTS
from tests.support.fixtures import AT, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The alarms that last."""
    found: set[str] = set()
    monkeypatch.setattr(alarms, "lasting", lambda at: sorted(found))
    return found


def made(store: MemoryStore | None, *events: str) -> Webhook:
    wanted = manage.WebhookSettings("pager", "https://example.com/hook", events)
    return manage.create_webhook(store.pk if store else None, wanted, Act(Actor.system("test"), Door.WEB, AT))


def pass_(minutes: int) -> None:
    at = AT + timedelta(minutes=minutes)
    alarms.look(at)
    while not gather.gather(at):
        pass


def told(webhook: Webhook) -> list[dict[str, Any]]:
    rows = Delivery.objects.filter(webhook=webhook).order_by("id").values_list("payload", flat=True)
    return [json.loads(payload)["data"] for payload in rows]


def names(webhook: Webhook) -> list[str]:
    return [data["type"] for data in told(webhook)]


@pytest.mark.both_databases
def test_an_alarm_is_raised_when_it_lasts_and_ended_once(store: MemoryStore, there: set[str]) -> None:
    pager, of_store = made(None, "alarm.raised", "alarm.ended"), made(store, *EVENTS)
    there.add("work node backups")
    pass_(0)
    assert names(pager) == [], "it may be over at the next try"
    for minutes in (6, 7, 2000):
        pass_(minutes)
    (raised,) = told(pager)
    assert raised["type"] == "alarm.raised" and raised["memory_store_id"] is None
    since = AT.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert raised["alarm"] == {"kind": "work", "node": "node", "task": "backups", "since": since}
    there.clear()
    for minutes in (2010, 2011):
        pass_(minutes)
    assert names(pager) == ["alarm.raised", "alarm.ended"] and told(pager)[1]["alarm"] == raised["alarm"]
    there.add("work node backups")
    pass_(2020)
    pass_(2026)
    assert names(pager) == ["alarm.raised", "alarm.ended", "alarm.raised"]
    there.clear()
    pass_(2030)
    pass_(2030 + 3 * 1440)
    assert names(pager)[3:] == ["alarm.ended"] and not Alarm.objects.exists()
    assert not told(of_store)


def test_what_was_over_before_anybody_looked_is_told_whole_and_what_did_not_last_is_not(there: set[str]) -> None:
    pager = made(None, "alarm.raised", "alarm.ended")
    there.add(alarms.DISK)
    for minutes in (0, 6):
        alarms.look(AT + timedelta(minutes=minutes))
    there.clear()
    pass_(8)
    assert names(pager) == ["alarm.raised", "alarm.ended"]
    there.add(alarms.AUDIT)
    pass_(10)
    there.clear()
    pass_(12)
    assert len(told(pager)) == 2


def test_a_webhook_is_not_told_that_it_does_not_arrive_itself(there: set[str]) -> None:
    pager, other = made(None, "alarm.raised"), made(None, "alarm.raised", "memory.created")
    there.add(f"{alarms.WEBHOOK} {pager.pk}")
    pass_(0)
    pass_(6)
    assert names(pager) == [] and [data["alarm"]["webhook_id"] for data in told(other)] == [pager.pk]


def test_without_e_mail_and_such_a_webhook_nothing_is_looked_for(there: set[str]) -> None:
    made(None, "memory.created")
    there.add(alarms.DISK)
    pass_(0)
    assert not Alarm.objects.exists()
    pass_(6)
    pager = made(None, "alarm.raised")
    pass_(7)
    pass_(13)
    assert names(pager) == ["alarm.raised"]


def test_the_form_offers_them_for_the_hub_alone(store: MemoryStore, superuser: User) -> None:
    client = signed_in(superuser)
    assert 'value="alarm.raised"' in client.get("/settings/webhooks/new").content.decode()
    page = client.get(f"/stores/{store.pk}/webhooks/new").content.decode()
    assert "alarm" not in page.partition("<form")[2].partition("</form>")[0]


@pytest.mark.parametrize(
    ("alarm", "words", "page"),
    [
        ({"kind": "disk"}, "the disk is nearly full.", "/settings/background"),
        ({"kind": "work", "node": "n", "task": "backups"}, "background work fails (backups).", "/settings/background"),
        ({"kind": "audit"}, "something is wrong in the audit.", "/audit?command=verify_audit"),
        ({"kind": "webhook", "webhook_id": "whk_1"}, "a webhook does not reach its receiver.", "/webhooks/whk_1"),
    ],
)
def test_a_chat_gets_a_sentence_and_a_link(alarm: dict[str, str], words: str, page: str) -> None:
    payload = json.dumps({"data": {"type": "alarm.raised", "memory_store_id": None, "alarm": alarm}})
    text = json.loads(chat.body("https://hooks.slack.com/x", payload, "", "https://hub.example/"))["text"]
    assert text == f"Something needs an administrator of the hub: {words} https://hub.example{page}"
