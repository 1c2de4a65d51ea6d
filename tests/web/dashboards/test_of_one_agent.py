"""The overview of one agent shows what it did, and no figures of everyone's memories."""

import re

import pytest

from memoryhub.models import Agent, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.dashboards.pages import text_of, work
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


def test_it_has_the_charts_of_the_agent_alone(store: MemoryStore, agent: Agent, key: str, alice: User) -> None:
    work(Caller(store, key))
    client = signed_in(alice)
    everyone = re.findall(r'<section[^>]* id="([\w-]+)"', text_of(client, "overview"))
    one = re.findall(r'<section[^>]* id="([\w-]+)"', text_of(client, "overview", f"?agent={agent.id}"))
    assert one == everyone[:3] and len(everyone) > 3
