"""What a press of a button shows of memories is recorded, on every page and with the fields as they stand."""

from collections.abc import Iterator
from copy import copy
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from memoryhub.actions.memories import viewing
from memoryhub.models import AuditEntry, User
from tests.support.fixtures import signed_in
from tests.web.all_pages.every_form import Press, press, presses, undone
from tests.web.all_pages.every_page import pages
from tests.web.all_pages.recorded_views import MARK, mark_the_story, record_everywhere
from tests.web.audit.gaps import damaged_demo

pytestmark = pytest.mark.django_db

NOW = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


SHOWS = {viewing.COMMAND, "download", "reveal"}
"""The commands whose entries say that a person was shown a text."""


def shown() -> int:
    return AuditEntry.objects.filter(command__in=SHOWS).count()


def all_presses(client: Client) -> Iterator[Press]:
    """Every button of every page, once of each kind."""
    kinds: set[object] = set()
    for _, address in pages():
        for one in presses(address, client.get(address).content.decode()):
            if one.kind not in kinds:
                kinds.add(one.kind)
                yield one


@pytest.mark.long
def test_a_press_is_recorded_if_it_shows_a_text_and_ends_in_no_error(
    superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark_the_story(monkeypatch)
    damaged_demo(NOW)
    record_everywhere()
    monkeypatch.setattr(viewing, "AGAIN", timedelta(0))
    client = signed_in(superuser)
    tried = 0
    for one in all_presses(client):
        tried += 1
        another = Client()
        another.cookies = copy(client.cookies)
        with undone():
            before = shown()
            answer = press(another, one)
            assert answer.status_code < 500 and answer.status_code != 405, one
            text = "" if answer.streaming else answer.content.decode("utf-8", "replace")
            assert (shown() > before) == (MARK in text), one
    assert tried > 500
