"""The pages of path rules that limit how many proposals a session opens: the form, the words, a question, a trial."""

from html import unescape

import pytest
from django.http import HttpResponse
from django.urls import reverse

from memoryhub.actions.proposals import decide
from memoryhub.models import AuditEntry, MemoryStore, Proposal, Session, User
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import Hub
from tests.api.path_rules.test_path_rules import set_rules
from tests.api.proposals.test_proposals import ana
from tests.support.fixtures import signed_in
from tests.web.path_rules.test_path_rules import editor, form, listed, row, rules_of, tried_and_saved

pytestmark = pytest.mark.django_db

LIMITED = PathRule(Effect.PROPOSE, "/policies/", most=1)


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    """A session that proposed, was refused by people, and asked twice more."""
    made = Hub(store, key)
    set_rules(store, LIMITED)
    for path in ("/memories/policies/a.md", "/memories/policies/b.md", "/memories/policies/c.md"):
        made.message(made.block(command="create", path=path, file_text="x"), memoryhub_session="run-1")
        for one in Proposal.objects.filter(store=store, state="open"):
            decide.refuse(store.pk, one.number, ana(), seen=decide.seen_of(one))
    return made


def test_the_limit_is_typed_in_the_form_and_said_in_the_sentence(store: MemoryStore, alice: User) -> None:
    client, asks = signed_in(alice), {"effect": "propose"}
    assert tried_and_saved(client, store, row("/policies/", **asks, most="3")).status_code == 303
    assert rules_of(store)[0]["most"] == 3
    said = "any memory under /policies/: a person decides. A session may open at most 3 proposals."
    assert said in client.get(listed(store)).content.decode()
    assert client.get(editor(store)).context["form"][0]["most"].value() == 3
    for wrong in ("0", "-1", "1001", "x"):
        answer = form(client, store, "save", row("/policies/", **asks, most=wrong))
        assert answer.status_code == 200 and answer.context["form"][0].errors["most"], wrong
    assert form(client, store, "add", row("/a/", **asks, most="2")).context["form"][0]["most"].value() == "2"
    assert tried_and_saved(client, store, row("/policies/", effect="refuse", most="x")).status_code == 303
    assert "most" not in rules_of(store)[0], "the form does not show it where nothing waits"
    newest = client.get(listed(store)).context["earlier"][0]
    assert [line.sign for line in newest.lines] == ["-", "+"] and "at most 3 proposals" in newest.lines[0].sentence
    back = client.get(editor(store), {"from": client.get(listed(store)).context["earlier"][1].entry.seq})
    assert back.context["form"][0]["most"].value() == 3


def test_a_question_and_the_entry_of_a_refused_call_say_the_limit(hub: Hub, alice: User) -> None:
    client = signed_in(alice)
    words = "A session may open at most one proposal. A change that would open another proposal is refused."
    asked = client.get(listed(hub.store), {"verb": "create", "path": "/policies/a.md"})
    assert f"which a person decides about. {words}" in _said(asked)
    refused = AuditEntry.objects.of_chain(hub.store.pk).of_command("create").newest()[0]
    page = _said(client.get(reverse("entry", args=[hub.store.pk, refused.seq])))
    assert f"As the rules are now, a person decides about this change, because of rule 1. {words}" in page


def _said(response: HttpResponse) -> str:
    return " ".join(unescape(response.content.decode()).split())


def test_a_trial_counts_the_proposals_of_a_session_with_the_decisions_of_then(hub: Hub, alice: User) -> None:
    client, asks = signed_in(alice), row("/policies/", effect="propose")
    for most, proposed, refused in (("1", 1, 2), ("2", 3, 0), ("", 3, 0)):
        tried = form(client, hub.store, "try", asks | {"most": most})
        outcome = tried.context["outcome"]
        assert (outcome.calls, outcome.proposed, outcome.refused) == (3, proposed, refused), most
        words = "2 changes refused by rule 1, because their sessions could not open another proposal"
        assert (words in tried.content.decode()) is bool(refused)


def test_a_replayed_session_has_proposed_nothing_yet(hub: Hub, alice: User) -> None:
    address = reverse("replay_session", args=[hub.store.pk, Session.objects.get().pk])
    for moment in ("past", "now"):
        first, *_ = signed_in(alice).post(address, {"moment": moment}).context["replay"].calls
        assert first.now.text.startswith("Not written") and not first.reasons, moment
