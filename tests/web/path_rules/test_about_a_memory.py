"""What the page of a memory says about the path rules there."""

import pytest
from django.urls import reverse

from memoryhub.models import AuditEntry, MemoryStore, User
from tests.api.harness import Hub
from tests.support.fixtures import signed_in
from tests.web.path_rules.test_path_rules import editor, form, listed, patterns, row

pytestmark = pytest.mark.django_db


def test_the_page_of_a_memory_names_the_rules_that_limit_agents_there(
    store: MemoryStore, key: str, alice: User
) -> None:
    hub = Hub(store, key)
    hub.call(command="create", path="/memories/policies/a.md", file_text="one")
    client = signed_in(alice)
    page = reverse("memory", args=[hub.store.pk, hub.store.memories.get().pk])
    assert "limited for agents" not in client.get(page).content.decode()
    rules = (row("/policies/a.md", reason="Ask Ann."), row("/other/"), row("/policies/", effect="propose"))
    tried = form(client, hub.store, "try", *rules)
    saved = {"seen": tried.context["seen"], "opened": tried.context["opened"]}
    form(client, hub.store, "save", *rules, note="Audit of May", **saved)
    assert AuditEntry.objects.of_chain(hub.store.pk).newest().first().note == "Audit of May"
    html = client.get(page).content.decode()
    assert f"{listed(hub.store)}#rule-1" in html and "limited for agents" in html
    assert "No agent may create, change, delete or rename the memory at /policies/a.md." in html
    assert "The agent is told: “Ask Ann.”" in html and "Change the rules" in html
    assert "rule 3" not in html, "rule 1 decides about every change there"
    begun = client.get(editor(hub.store), {"protect": "/policies/a.md"})
    assert patterns(begun) == ["/policies/a.md", "/other/", "/policies/"], "it is there already"
