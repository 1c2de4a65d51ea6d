"""Whoever has the database alone changes no row that governs without `verify_audit` naming it."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import models
from pytest_django import DjangoDbBlocker

from memoryhub.actions.accounts import authenticators, keys_and_roles, people, second_person, single_sign_on
from memoryhub.actions.comments import comments
from memoryhub.actions.core.audit import Act, Actor, seals
from memoryhub.actions.core.hub import settings
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.findings import findings, rules
from memoryhub.actions.proposals import decide
from memoryhub.actions.retention import policies, removal
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import delete, path_rules, stores
from memoryhub.actions.verification import verify
from memoryhub.actions.verification.verify import Problem
from memoryhub.actions.webhooks import manage
from memoryhub.actions.webhooks.manage import WebhookSettings
from memoryhub.models import (
    HUB,
    Access,
    Agent,
    AuditChain,
    Door,
    Finding,
    FindingState,
    Hold,
    HoldKind,
    HubSettings,
    Invitation,
    Key,
    KeyStore,
    Member,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    RetentionPolicy,
    Role,
    Seal,
    User,
    Webhook,
)
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.pure import chain
from memoryhub.pure.limits import COLUMNS
from memoryhub.pure.path_rules import Effect, PathRule
from tests.support.fixtures import AT, BY, new_person
from tests.support.long import LONG, some
from tests.support.tampering import cells, edited, undone
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

LATER = AT + timedelta(days=90)
SEALED = sorted(seals.kinds().values(), key=lambda model: model.__name__)


@pytest.fixture(scope="module")
def governed_once(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> str:
    """The id of a store of `govern`."""
    with django_db_blocker.unblock():
        return govern().pk


@pytest.fixture
def governed(governed_once: str, db: None) -> MemoryStore:
    """That store, whose rows are as they were when the test ends."""
    return MemoryStore.objects.get(pk=governed_once)


@pytest.fixture
def bob(governed: MemoryStore) -> User:
    """A person with a role in that store."""
    return User.objects.get(name="Bob")


def govern() -> MemoryStore:
    """A store and a hub with a row of everything that governs, made and then changed by the acts of the hub."""
    store = stores.create_store(stores.StoreSettings(name="Support"), **BY)
    alice, bob, root = (new_person(name, is_superuser=name == "Root") for name in ("Alice", "Bob", "Root"))
    for person, role in ((alice, Role.ADMIN), (bob, Role.VIEWER)):
        keys_and_roles.set_role(store, person, role, **BY)
    agent = keys_and_roles.create_agent("Support bot", **BY)
    _, key = keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)
    act = Act(Actor.person(alice), Door.WEB, AT, note="because")
    rules.save_rules(store.pk, {"email": "flag"}, act)
    rules.save_rules(None, {"card": "flag"}, act)
    settings.set_limits(dict.fromkeys(COLUMNS) | {"limit_memories": 7}, act)
    Caller(store, key, session="run-1").create("/a.md", "write to anna@example.com and bert@example.com\n")
    path_rules.save(store.pk, [PathRule(Effect.PROPOSE, "/policies/")], path_rules.digest([]), act)
    for session in ("run-2", "run-3"):
        Caller(store, key, session=session).call("create", path="/memories/policies/a.md", file_text="one\n")
    first = Finding.objects.order_by("pk")[0]
    findings.decide(store.pk, [first.pk], FindingState.DISMISSED, "known", act)
    memory = Memory.objects.filter(store=store).order_by("pk")[0]
    written = comments.write(store.pk, memory.pk, memory.head_id, (1, 1), "Is this right?", act)
    comments.edit(store.pk, written.comment, "Is this still right?", act)
    comments.resolve(store.pk, written.comment, act)
    proposal = Proposal.objects.get(number=1)
    decide.refuse(store.pk, 1, act, seen=decide.seen_of(proposal))
    holds.place(store.pk, act, kind=HoldKind.HOLD, path="/held", reason="a dispute")
    released = holds.place(store.pk, act, kind=HoldKind.PIN, path="/pinned", reason="a pin")
    holds.release(store.pk, released.pk, act)
    for owner, done in ((store.pk, act), (None, act._replace(actor=Actor.person(root)))):
        policies.save_policy(owner, PolicySettings("Old", expire_older_days=900), done)
        manage.create_webhook(owner, WebhookSettings("CI", "https://example.com/", ["memory.created"]), done)
    people.invite(email="new@example.com", store=store, role=Role.ADMIN, **BY)
    people.invite(email="boss@example.com", is_superuser=True, **BY)
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    keys_and_roles.revoke_key(Key.objects.get(), **BY)
    keys_and_roles.issue_key(Agent.objects.get(), stores=[store], **BY)
    authenticators.add_passkey(bob, "laptop", "an id", "a key", 1, at=AT)
    known = single_sign_on.Known("https://id.example.com", "1", "dora@example.com", True, "Dora", None, True)
    single_sign_on.enter(known, (), address="", at=AT)
    wanted = second_person.content([["note", ["x"]]], [["Memory", "/a.md"]], "because")
    asked = second_person.ask("remove_memories", "/", store.pk, wanted, act)
    second_person.allow(asked.pk, User.objects.get(name="Root"), Act(Actor.person(bob), Door.WEB, AT))
    return store


def problems(store: MemoryStore) -> list[str]:
    return [str(problem) for problem in _found(store.pk, HUB) if problem]


def is_named(store: MemoryStore) -> bool:
    """Whether there is a problem; once the hub's chain has one, the store's is not verified."""
    return any(_found(HUB, store.pk))


def _found(*chains: str) -> Iterator[Problem | None]:
    return (verify.verify(name)[1] for name in chains)


# ------------------------------------------------------------------------------------------------ edits


def test_every_governing_table_has_a_row_to_try(governed: MemoryStore) -> None:
    assert problems(governed) == []
    assert {model.__name__ for model in SEALED if not model._base_manager.exists()} == set()
    assert {model.__name__ for model in SEALED} >= {"User", "Member", "Key", "KeyStore", "Invitation", "Agent"}


@pytest.mark.push
@pytest.mark.parametrize("model", SEALED, ids=lambda model: model.__name__)
def test_an_edit_of_any_sealed_column_is_named(governed: MemoryStore, model: type[Sealed]) -> None:
    """A byte of any fourth column of a row, or the whole value, and in the long form both, of all columns of two rows;
    where the value reads as it did, nothing has been changed."""
    outside = {field.column for field in model._meta.concrete_fields if field.name in model.OUTSIDE}
    unnoticed = set()
    found = some((cell for cell in _cells(model) if cell.column not in outside), 4)
    for number, cell in enumerate(found):
        for kind in ((1, 10), (10, 1))[number % 2]:
            before = _as_read(model)
            with undone(), tampering():
                if not edited(cell, 3, kind) or _as_read(model) == before:
                    continue
                if not is_named(governed):
                    unnoticed.add((cell.column, kind))
            if not LONG:
                break
    assert not unnoticed


def _cells(model: type[models.Model]) -> Iterator[Any]:
    keys = list(model._base_manager.values_list("pk", flat=True).order_by("pk"))
    for key in (keys[0], keys[-1]) if LONG else (keys[-1],):
        yield from cells(model, pk=key)


def _as_read(model: type[models.Model]) -> object:
    try:
        return list(model._base_manager.order_by("pk").values())
    except Exception as error:
        return type(error)


def _passes(store: MemoryStore, change: Callable[[MemoryStore], object]) -> bool:
    with undone(), tampering():
        change(store)
        return not is_named(store)


def _old_key_back(store: MemoryStore) -> None:
    """A revoked key works again, with the seal that it had before it was revoked."""
    key = Key.objects.get(revoked_at__isnull=False)
    Key.objects.filter(pk=key.pk).update(revoked_at=None)
    Seal.objects.filter(kind="key", row=key.pk).order_by("-number")[0].delete()


def _role_back_with_its_seal(store: MemoryStore) -> None:
    """A role becomes an admin's, and its newest seal fits it, made without the audit key."""
    member = Member.objects.get(role=Role.CURATOR)
    Member.objects.filter(pk=member.pk).update(role=Role.ADMIN)
    seal = Seal.objects.filter(kind="member", row=str(member.pk)).order_by("-number")[0]
    state = dict(seals.rows_of(Member, pk=member.pk))[str(member.pk)]
    seal.salt = chain.new_salt()
    seal.digest = seals.digest_of(seal, state.values)
    seal.save()


def _superuser_with_seal_of_another_chain(store: MemoryStore) -> None:
    """The seal is a further one, as if an entry of a store, or of a chain that is none, told it."""
    User.objects.filter(is_superuser=False).update(is_superuser=True)
    for user in User.objects.order_by("pk"):
        number = Seal.objects.filter(kind="user", row=user.pk).count() + 1
        seal = Seal(chain=store.pk, seq=1, home=HUB, kind="user", row=user.pk, number=number, salt=chain.new_salt())
        seal.digest = seals.digest_of(seal, dict(seals.rows_of(User, pk=user.pk))[user.pk].values)
        seal.save()


ATTEMPTS: dict[str, Callable[[MemoryStore], object]] = {
    "a person becomes a superuser": lambda _: User.objects.filter(is_superuser=False).update(is_superuser=True),
    "a deactivated one is active": lambda _: User.objects.update(is_active=False),
    "another password": lambda _: User.objects.update(password="!"),
    "another address": lambda _: User.objects.filter(name="Bob").update(email="eve@example.com"),
    "a further role": lambda store: Member.objects.create(
        store=store, user=User.objects.get(name="Root"), role=Role.ADMIN, created_at=AT
    ),
    "a role less": lambda _: Member.objects.all()[0].delete(),
    "a key for all stores": lambda _: Key.objects.update(all_stores=True),
    "a key for one more store": lambda store: KeyStore.objects.create(
        key=Key.objects.filter(revoked_at__isnull=False)[0], store=stores.create_store(_NAMED, **BY)
    ),
    "a key that manages": lambda _: Key.objects.update(access="manage"),
    "a key that is not revoked": lambda _: Key.objects.update(revoked_at=None),
    "a key that ends later": lambda _: Key.objects.update(expires_at=LATER),
    "a key of another agent": lambda _: _swap_digests(),
    "an old key with its old seal": _old_key_back,
    "a role with a made-up seal": _role_back_with_its_seal,
    "a superuser with a seal elsewhere": _superuser_with_seal_of_another_chain,
    "a hold less": lambda _: Hold.objects.all()[0].delete(),
    "a hold that is released": lambda _: Hold.objects.update(released_at=AT),
    "a finding that is dismissed": lambda _: Finding.objects.update(state=FindingState.DISMISSED),
    "a finding less": lambda _: Finding.objects.all()[0].delete(),
    "a rule less": lambda store: MemoryStore.objects.filter(pk=store.pk).update(rules={}),
    "a rule of the hub less": lambda _: HubSettings.objects.update(rules={}),
    "no settings of the hub": lambda _: HubSettings.objects.all().delete(),
    "another limit": lambda _: HubSettings.objects.update(limit_memories=None),
    "a store's limit": lambda store: MemoryStore.objects.filter(pk=store.pk).update(limit_calls=1),
    "another name": lambda store: MemoryStore.objects.filter(pk=store.pk).update(name="Other"),
    "an archived store": lambda store: MemoryStore.objects.filter(pk=store.pk).update(archived_at=AT),
    "a store that seems deleted": lambda store: MemoryStore.objects.filter(pk=store.pk).update(deleted_at=AT),
    "a policy less": lambda _: RetentionPolicy.objects.all()[0].delete(),
    "a stricter policy": lambda _: RetentionPolicy.objects.update(expire_older_days=1),
    "a webhook to elsewhere": lambda _: Webhook.objects.update(url="https://eve.example/"),
    "a webhook that is paused": lambda _: Webhook.objects.update(paused_at=AT),
    "an invitation of a superuser": lambda _: Invitation.objects.update(is_superuser=True),
    "an invitation that was used": lambda _: Invitation.objects.update(used_at=None, expires_at=LATER),
    "no seals at all": lambda _: Seal.objects.all().delete(),
    "a seal that says a row may go": lambda _: Seal.objects.update(may_go=True),
}
_NAMED = stores.StoreSettings(name="Another")


def _swap_digests() -> None:
    one, other = Key.objects.order_by("pk")[:2]
    Key.objects.filter(pk=one.pk).update(digest="x")
    Key.objects.filter(pk=other.pk).update(digest=one.digest)
    Key.objects.filter(pk=one.pk).update(digest=other.digest)


@pytest.mark.both_databases
def test_no_attempt_to_get_or_keep_power_passes(governed: MemoryStore) -> None:
    assert [name for name, attempt in ATTEMPTS.items() if _passes(governed, attempt)] == []
    assert problems(governed) == []


# ------------------------------------------------------------------------------------------------ the life of seals


@pytest.mark.push
def test_seals_outlive_their_entries_and_are_guarded_then(governed: MemoryStore) -> None:
    by = Act(Actor.system("tests"), Door.COMMAND, LATER)
    waiting = MemoryVersion.objects.filter(store=governed).unreviewed().values_list("pk", flat=True)
    decisions.approve_many(governed.pk, list(waiting), by)
    for name in (governed.pk, HUB):
        removal.remove_entries(name, AuditChain.objects.get(pk=name).last_seq - 1, by)
    assert AuditChain.objects.get(pk=HUB).start_seq > 10
    assert problems(governed) == []
    assert [name for name, attempt in ATTEMPTS.items() if _passes(governed, attempt)] == []


@pytest.mark.both_databases
def test_a_row_of_a_deleted_store_is_nobodys_and_the_store_cannot_come_back(governed: MemoryStore) -> None:
    for hold in Hold.objects.filter(released_at=None):
        holds.release(governed.pk, hold.pk, Act(Actor.system("tests"), Door.COMMAND, AT))
    delete.delete_store(governed.pk, act=Act(Actor.system("tests"), Door.COMMAND, LATER))
    assert problems(governed) == []
    with undone(), tampering():
        MemoryStore.every.filter(pk=governed.pk).update(deleted_at=None)
        assert "is there again" in problems(governed)[0]
    with undone(), tampering():
        KeyStore.objects.create(key=Key.objects.all()[0], store_id=governed.pk)
        assert "no entry made it" in problems(governed)[0]
    while delete.step(governed.pk):
        assert problems(governed) == []


@pytest.mark.both_databases
def test_the_salt_of_what_a_row_was_goes_when_it_is_sealed_again(governed: MemoryStore, bob: User) -> None:
    for number in range(3):
        people.edit_profile(bob, at=AT, name=f"Bob {number}")
    found = list(Seal.objects.filter(kind="user", row=bob.pk).order_by("number"))
    assert [seal.salt is not None for seal in found] == [False, False, False, True]
    assert problems(governed) == []


@pytest.mark.both_databases
def test_an_act_that_forgets_its_entry_commits_nothing_and_says_what_to_call(governed: MemoryStore) -> None:
    expected = r"Member \d+ was changed and no audit entry followed: .*audit\.append"
    with pytest.raises(seals.Unsealed, match=expected), writing():
        Member.objects.filter(store=governed).update(role=Role.ADMIN)
    assert problems(governed) == []


# ------------------------------------------------------------------------------------------------ nothing goes round it


def test_every_way_to_write_a_governing_row_notes_it() -> None:
    for model in SEALED:
        for manager in model._meta.managers:
            assert issubclass(type(manager.all()), SealedQuerySet), model


def test_the_sql_of_the_hub_writes_no_sealed_column() -> None:
    tables = {model._meta.db_table: model for model in SEALED}
    source = "".join(path.read_text() for path in Path("memoryhub/actions").glob("sql*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    for table, columns in re.findall(r"update (memoryhub_\w+) set (.*?)(?: where|\")", source):
        if table in tables:
            assert not tables[table].is_sealed_in(re.findall(r"(\w+) =", columns)), table
    assert not tables.keys() & set(re.findall(r"(?:insert into|delete from) (memoryhub_\w+)", source))
