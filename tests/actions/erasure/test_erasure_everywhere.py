"""An erasure looks at every text that a person may have typed: none of the hub's columns is silently passed over."""

import pytest
from django.apps import apps
from django.db import models
from django.test import Client

from memoryhub.actions.claude_runs import presets
from memoryhub.actions.erasure import erasure, places
from memoryhub.actions.erasure.elsewhere import ELSEWHERE
from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings, save_policy
from memoryhub.actions.stores import path_rules
from memoryhub.models import (
    Agent,
    ClaudePreset,
    Invitation,
    Key,
    Memory,
    MemoryStore,
    RetentionPolicy,
    User,
    Webhook,
)
from memoryhub.pure import retention_rules
from memoryhub.pure.path_rules import Effect, PathRule
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.memories.pages import act, write

pytestmark = pytest.mark.django_db

SUBJECT = "Quellenberg"
MADE_HERE = "a word, an id, a moment or a digest that the hub makes itself"
OF_THE_HUB = "of the hub as a whole or of another store, as the page says"
FOLLOWS = "follows from a path that is looked at, and changes with it"
OF_MACHINES: dict[str, str] = {
    **dict.fromkeys(
        [
            "AuditChain.last_hash", "AuditChain.start_hash", "AuditChain.start_signature",
            "AuditChain.start_versions", "AuditChain.start_seals", "AuditChain.key_name",
            "AuditChain.older_signature", "Installation.older_keys", "Webhook.keys",
            "Seal.chain", "Seal.digest", "Seal.home",
            "Seal.kind", "Seal.row", "Seal.salt", "RefusalWindow.door", "AuditEntry.actor_kind", "AuditEntry.actor_id",
            "AuditEntry.author_id", "AuditEntry.session", "AuditEntry.door", "AuditEntry.command",
            "AuditEntry.memory", "AuditEntry.version", "AuditEntry.group", "AuditEntry.digest",
            "AuditEntry.salts", "AuditEntry.commitments", "AuditEntry.key_name", "AuditEntry.previous_hash",
            "AuditEntry.hash", "IdempotentCall.key", "IdempotentCall.digest", "MemoryStore.rules",
            "CallWindow.key", "CallWindow.seconds", "RefusedCalls.key", "User.password", "User.time_zone",
            "User.language",
            "User.theme", "Member.role", "Invitation.digest", "Invitation.role", "Key.digest", "Key.hint",
            "Key.access", "Activity.author", "Activity.command", "Activity.outcome", "Figures.lists",
            "Memory.sha256", "Memory.expired_by", "MemoryVersion.operation", "MemoryVersion.sha256",
            "MemoryVersion.review_state", "MemoryVersion.salt", "MemoryVersion.commitment",
            "MemoryVersion.redacted_by", "MemoryVersion.seal", "MemoryText.salt", "Finding.kind",
            "Finding.fingerprint", "Finding.state", "Installation.stream_holder", "Scan.state", "Scan.kinds",
            "Scan.position",
            "Import.state", "Import.source", "Import.door", "Import.group", "Import.told", "Import.copied_from",
            "ImportItem.found", "ImportItem.choice", "ImportItem.met",
            "ImportItem.outcome", "Viewed.version", "Notice.thread", "Notice.comment", "Redaction.chain",
            "Redaction.field", "Redaction.version",
            "Redaction.memory", "Redaction.original", "Redaction.salt", "Redaction.commitment",
            "Receipt.store", "Receipt.content", "Receipt.signature", "Hold.kind", "Hold.memory", "Run.state",
            "Run.guard", "Run.told", "RunItem.removal", "RunItem.memory", "RunItem.policy", "RunItem.rule",
            "RunItem.skipped", "Review.decision", "Proposal.state", "Proposal.key", "Proposal.agent",
            "Proposal.session", "ProposedChange.proposal", "ProposedChange.memory", "ProposedChange.base",
            "ProposedChange.became",
            "ClaudeRun.agent", "ClaudeRun.key", "ClaudeRun.model", "ClaudeRun.state", "ClaudeRun.problem",
            "ClaudeRun.worker", "ClaudeEvent.kind", "HubSettings.claude_role", "ClaudeModel.name",
            "ClaudeModel.edits", "ClaudeRun.copy", "ClaudeRun.dream",
            "ClaudeEvaluation.model", "ClaudeEvaluation.results", "ClaudeEvaluation.state", "ClaudeEvaluation.problem",
            "ClaudeEvaluation.worker", "ClaudeEvaluation.copy", "MemoryStore.copy_of",
            "Comment.thread", "Comment.agent", "Comment.proposal", "Comment.change",
            "Comment.base", "SavedView.page", "Webhook.events",
            "Webhook.paused_for", "Webhook.problem", "Delivery.chain", "Delivery.event", "Delivery.payload",
            "Delivery.state", "Attempt.problem", "Mail.kind", "Mail.store", "Mail.about", "Mail.nonce", "Mail.state",
            "Mail.problem", "BrowserSession.grant", "Authenticator.kind",
            "Authenticator.secret", "Authenticator.credential", "MailChoice.digest", "CallCount.command",
            "CallCount.door",
            "CallCount.outcome", "CallCount.buckets", "Alarm.state", "Alarm.told",
        ],
        MADE_HERE,
    ),
    **dict.fromkeys(
        ["ActRequest.act", "ActRequest.store", "ActRequest.path", "ActRequest.digest", "ActRequest.state"], MADE_HERE,
    ),
    "ActRequest.content": "encrypted, and gone when the act begins, or after seven days",
    **dict.fromkeys(
        ["HubSettings.rules", "HubSettings.backups", "HubSettings.backup_last", "BackgroundTask.node",
         "BackgroundTask.name", "BackgroundTask.problem",
         "Installation.secret_mark", "Installation.audit_mark"], OF_THE_HUB,
    ),
    **dict.fromkeys(["BrowserSession.device", "BrowserSession.address"], "a browser sends it; a sign-out deletes it"),
    **dict.fromkeys(["Identity.issuer", "Identity.subject"], "the identity provider's names of itself and a person"),
    "Authenticator.name": "a person's own word for a passkey, which nobody else sees",
    "Attempt.said": "a receiver answers it to an event, which has no text, and it is kept for 30 days",
    **dict.fromkeys(["Directory.path", "Memory.name", "Agent.folded_name"], FOLLOWS),
}  # fmt: skip
BY_HAND = {"MemoryStore.path_rules", "Session.name", "SavedView.name", "SavedView.query"}


def text_columns() -> set[str]:
    return {
        f"{model.__name__}.{field.attname}"
        for model in apps.get_app_config("memoryhub").get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField) and not field.is_relation and not field.primary_key
        and field.attname != "id"
    }  # fmt: skip


def looked_at(store: MemoryStore) -> set[str]:
    rows = (*places.GROWING, *places.PLAIN, *places.PLAIN_JSON, *ELSEWHERE)
    return BY_HAND | {f"{place.rows(store.id).model.__name__}.{column}" for place in rows for column in place.columns}


def test_every_text_column_is_looked_at_or_has_a_reason_not_to_be(store: MemoryStore) -> None:
    chains = {"AuditEntry.chain", "StreamCursor.chain", "WebhookCursor.chain"}
    unexplained = text_columns() - looked_at(store) - OF_MACHINES.keys() - chains
    assert unexplained == set(), "look at them in erasure_places or erasure_elsewhere, or say why nobody types them"
    assert looked_at(store) & OF_MACHINES.keys() == set()


def tool_call(store: MemoryStore, key: str, input: dict[str, str]) -> str:
    block = {"type": "tool_use", "id": f"toolu_{len(input['path'])}", "name": "memory", "input": input}
    client = Client(headers={"Authorization": f"Bearer {key}"})
    answer = client.post(f"/v1/memory_stores/{store.pk}/tool_calls", block, content_type="application/json")
    assert answer.status_code == 200
    return str(answer.json()["content"])


def planted(store: MemoryStore, key: str, alice: User) -> set[tuple[str, str]]:
    """Puts the subject into every column that people change themselves; gives (kind, column)."""
    agent = Agent.objects.get()
    with tampering():
        Agent.objects.filter(pk=agent.pk).update(name=f"bot of {SUBJECT}", description=SUBJECT.upper())
        Key.objects.update(name=f"laptop {SUBJECT}")
        User.objects.filter(pk=alice.pk).update(name=SUBJECT.lower())
        Webhook.objects.create(
            id="whk_1", store=store, name=SUBJECT, url=f"https://{SUBJECT.lower()}.example.org/in", created_at=act().at
        )
        Invitation.objects.create(
            id="inv_1", digest="x", email=f"{SUBJECT}@acme.org", store=store, created_at=act().at, expires_at=act().at
        )
        RetentionPolicy.objects.create(
            id="pol_1", name=SUBJECT, pattern=f"/{SUBJECT}/", created_at=act().at, updated_at=act().at
        )
    return {
        ("agent", "name"), ("agent", "description"), ("key", "name"), ("person", "name"), ("webhook", "name"),
        ("webhook", "url"), ("invitation", "email"), ("hub_policy", "name"), ("hub_policy", "pattern"),
    }  # fmt: skip


@pytest.mark.both_databases
def test_what_stands_elsewhere_is_listed_with_where_to_change_it(store: MemoryStore, key: str, alice: User) -> None:
    expected = planted(store, key, alice)
    found = erasure.search(store.id, [SUBJECT], act().at, [SUBJECT])
    assert {(there.kind, there.what) for there in found.elsewhere} == expected
    html = signed_in(alice).post(f"/stores/{store.id}/erase", {"terms": SUBJECT}).content.decode()
    section = html[html.index('id="elsewhere"') :]
    for title in (
        "A webhook of this memory store",
        "An agent",
        "A key",
        "A member",
        "An invitation",
        "policy of the hub",
    ):
        assert title in section
    assert f'href="/stores/{store.id}/webhooks"' in section and "The hub did not search: other memory stores;" in html


def test_the_receipt_counts_what_was_left_to_people(store: MemoryStore, key: str, alice: User) -> None:
    planted(store, key, alice)
    found = erasure.search(store.id, [SUBJECT], act().at, [SUBJECT])
    receipt = erasure.erase(store.id, [SUBJECT], found.digest, act(alice), [SUBJECT])
    assert receipt.content["elsewhere"] == {
        "agent": 2, "hub_policy": 2, "invitation": 1, "key": 1, "person": 1,
        "webhook": 2,
    }  # fmt: skip


def test_the_webhooks_and_people_of_another_store_are_nobodys_business_here(store: MemoryStore, alice: User) -> None:
    with tampering():
        other = MemoryStore.objects.create(id="memstore_other", name="other", created_at=act().at, updated_at=act().at)
        Webhook.objects.create(id="whk_2", store=other, name=SUBJECT, url="https://acme.org", created_at=act().at)
        Webhook.objects.create(id="whk_3", store=None, name=SUBJECT, url="https://acme.org", created_at=act().at)
    assert erasure.search(store.id, [SUBJECT], act().at, [SUBJECT]).elsewhere == ()


@pytest.mark.both_databases
def test_what_is_hidden_or_kept_by_its_path_stays_so_at_its_new_path(store: MemoryStore, key: str, alice: User) -> None:
    """Without that, every agent reads what a rule hid, and a policy removes what another one was to keep."""
    write(store, f"/{SUBJECT}/salary.md", "1,000\n")
    hides = PathRule(Effect.HIDE, f"/{SUBJECT}/", reason="")
    refuses = PathRule(Effect.REFUSE, "/notes/", reason=f"Ask {SUBJECT} first")
    path_rules.save(store.pk, [hides, refuses], path_rules.digest([]), act(alice))
    kept = save_policy(store.pk, PolicySettings("Kept", f"/{SUBJECT}/", expire_older_days=3_000), act(alice))
    save_policy(store.pk, PolicySettings("All", "", expire_older_days=30), act(alice))
    found = erasure.search(store.pk, [SUBJECT], act().at, [SUBJECT])
    assert found.counts["path_rules"] == 1 and not found.elsewhere
    assert SUBJECT in {one.text for one in found.spellings}
    html = signed_in(alice).post(f"/stores/{store.pk}/erase", {"terms": SUBJECT}).content.decode()
    assert "in patterns, as in paths, and in reasons" in html
    erasure.erase(store.pk, [SUBJECT], found.digest, act(alice), [SUBJECT])
    memory = Memory.objects.get(store=store)
    assert memory.path == "/[redacted]/salary.md"
    for view in ("/memories", f"/memories{memory.path}"):
        said = tool_call(store, key, {"command": "view", "path": view})
        assert "salary.md" not in said.replace(f"The path {view}", "") and "1,000" not in said
    assert path_rules.of_store(MemoryStore.objects.get(pk=store.pk))[1].reason == "Ask [redacted] first"
    chosen = retention_rules.chosen(policies.concerning(store.pk), memory.path)
    assert chosen is not None and chosen.id == kept.pk
    assert not erasure.search(store.pk, [SUBJECT], act().at, [SUBJECT]).hits


@pytest.mark.both_databases
def test_names_that_an_erasure_makes_too_long_are_cut(store: MemoryStore, alice: User) -> None:
    """PostgreSQL refuses them, and nothing of the store could be erased."""
    moments = {"created_at": act().at, "updated_at": act().at}
    with tampering():
        MemoryStore.objects.filter(pk=store.pk).update(name="Ada" * 85, rules={"email": "mask"})
        RetentionPolicy.objects.create(id="pol_1", store=store, name="Ada" * 33, **moments)
        ClaudePreset.objects.create(id="clpreset_1", store=store, name="Ada" * 33, changed_at=act().at)
    found = erasure.search(store.id, ["Ada"], act().at)
    erasure.erase(store.id, ["Ada"], found.digest, act(alice))
    names = [model.objects.get().name for model in (MemoryStore, RetentionPolicy, ClaudePreset)]
    assert [len(name) for name in names] == [255, 100, 100] and "Ada" not in str(names)
    saved = presets.save(store.id, f"{'x' * 93} a@b.de", {}, act(alice))
    assert saved.name == f"{'x' * 93} [redac"
