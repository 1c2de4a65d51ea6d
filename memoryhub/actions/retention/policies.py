"""Saves and deletes retention policies. The entry of each act has the changed settings before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions import writing
from memoryhub.models import AuditEntry, RetentionPolicy
from memoryhub.pure import ids, retention_rules
from memoryhub.pure.retention_rules import BadPattern, Policy, patterns

MOST_DAYS = 36_500
MOST_VERSIONS = 1_000_000
LONGEST_NAME = 100
MOST = 100
"""The most policies of a memory store, and of the hub: a rehearsal compares each memory with all of them."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The settings of a policy that a person chooses. None means that the rule does not apply."""

    name: str
    pattern: str = ""
    expire_unread_days: int | None = None
    expire_unchanged_days: int | None = None
    expire_older_days: int | None = None
    keep_versions: int | None = None
    keep_version_days: int | None = None
    keep_entry_days: int | None = None
    grace_days: int = retention_rules.DEFAULT_GRACE_DAYS
    trash_days: int | None = None
    keeps_approved: bool = False
    expires_together: bool = False
    paused: bool = False

    @classmethod
    def of(cls, policy: RetentionPolicy) -> "PolicySettings":
        return cls(*(getattr(policy, name) for name in cls.__slots__))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def as_policy(self, store_id: str | None, policy_id: str = "") -> Policy:
        """Return the settings as a `Policy` of `retention_rules`. It can be rehearsed before it is saved."""
        return Policy(policy_id, store_id, **self.as_json())


def rules_of(policy: RetentionPolicy) -> Policy:
    """Return a saved policy as a `Policy` of `retention_rules`."""
    return PolicySettings.of(policy).as_policy(policy.store_id, policy.pk)


def concerning(store_id: str | None) -> list[Policy]:
    """Return the saved policies that may apply in a store: those of the store and of the hub.

    If `store_id` is None, return only those of the hub.
    """
    found = RetentionPolicy.objects.concerning(store_id) if store_id else RetentionPolicy.objects.of_hub()
    return [rules_of(policy) for policy in found]


def instead_of(policies: list[Policy], policy: Policy) -> list[Policy]:
    """Return the policies and `policy`, which replaces the policy with the same id, if there is one."""
    return [*(one for one in policies if one.id != policy.id), policy]


def with_pattern(store_id: str | None, pattern: str, other_than: str = "") -> RetentionPolicy | None:
    """Return the policy that has this pattern in a store (None: in the hub). None if no policy has it.

    The policy with the id `other_than` is not considered.
    """
    return RetentionPolicy.objects.filter(store_id=store_id, pattern=pattern).exclude(pk=other_than).first()


def last_saved(policy_id: str, chains: Sequence[str], at: datetime) -> AuditEntry | None:
    """Return the newest entry, up to the moment `at`, that created or changed a policy.

    The first of the `chains` with such an entry counts; None if there is none.
    """
    for chain in chains:
        saved = AuditEntry.objects.of_chain(chain).of_command("set_policy").filter(at__lte=at)
        if (entry := saved.filter(ok=True, input__contains=policy_id).newest().first()) is not None:
            return entry
    return None


def save_policy(
    store_id: str | None, settings: PolicySettings, act: Act, *, policy_id: str | None = None
) -> RetentionPolicy:
    """Create a policy (of the hub if `store_id` is None), or change the one with `policy_id`; return it.

    Without a change, nothing is written. Raises ValidationError, by field, if a setting is not valid or another policy
    has the pattern; ValidationError without a field if there are already MOST policies and one would be added;
    RetentionPolicy.DoesNotExist if there is no such policy; NoSuchStore if there is no such store.
    """
    settings = checked(settings)
    with writing():
        locked = tree.lock(store_id, act) if store_id else None
        policy = _policy(store_id, policy_id, act)
        if not policy_id and RetentionPolicy.objects.filter(store_id=store_id).count() >= MOST:
            raise ValidationError(_("There are already %(most)s policies. Delete one first.") % {"most": MOST})
        before = PolicySettings.of(policy).as_json() if policy_id else {}
        _require_unique(store_id, settings.pattern, policy.pk)
        after = settings.as_json()
        changes = {name: [before.get(name), value] for name, value in after.items() if before.get(name) != value}
        if not policy_id or changes:
            for name, value in after.items():
                setattr(policy, name, value)
            policy.updated_at = act.at
            policy.save(force_insert=not policy_id)
            _write_entry(locked, act, "set_policy", policy, changes)
        return policy


def delete_policy(policy_id: str, act: Act) -> None:
    """Delete a policy. Raises RetentionPolicy.DoesNotExist."""
    with writing():
        store_id = RetentionPolicy.objects.values_list("store_id", flat=True).get(pk=policy_id)
        locked = tree.lock(store_id, act) if store_id else None
        policy = RetentionPolicy.objects.get(pk=policy_id)
        before = PolicySettings.of(policy).as_json()
        RetentionPolicy.objects.filter(pk=policy_id).delete()
        _write_entry(locked, act, "delete_policy", policy, {name: [value, None] for name, value in before.items()})


def _policy(store_id: str | None, policy_id: str | None, act: Act) -> RetentionPolicy:
    if policy_id:
        return RetentionPolicy.objects.get(pk=policy_id, store_id=store_id)
    return RetentionPolicy(id=ids.new_id(ids.POLICY, act.at), store_id=store_id, created_at=act.at)


def _require_unique(store_id: str | None, pattern: str, policy_id: str) -> None:
    if with_pattern(store_id, pattern, policy_id):
        raise ValidationError({"pattern": _("Another policy has this pattern already.")})


def _write_entry(
    locked: tree.Tree | None, act: Act, command: str, policy: RetentionPolicy, changes: Mapping[str, list[Any]]
) -> None:
    """Write the audit entry: the policy, and each changed setting before and after."""
    details = {"policy": policy.pk, "label": policy.name, "where": policy.pattern, **changes}
    record = Record(command, input=audit.to_json(details))
    if locked is not None:
        tree.commit(locked, record)
    else:
        audit.on_hub(act, record)


# ------------------------------------------------------------------------------------------------ validation


def checked(settings: PolicySettings) -> PolicySettings:
    """Return the settings as they are stored: name and pattern are cleaned. Raises ValidationError (by field)."""
    errors: dict[str, str] = {}
    name, pattern = settings.name.strip(), settings.pattern
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        errors["name"] = _("Give the policy a name of at most %(most)s characters.") % {"most": LONGEST_NAME}
    try:
        pattern = retention_rules.cleaned(pattern)
    except BadPattern as error:
        errors["pattern"] = sentence_of(error)
    for field in PolicySettings.__slots__[2:-3]:
        value = getattr(settings, field)
        most = MOST_VERSIONS if field == "keep_versions" else MOST_DAYS
        if value is None and field != "grace_days":
            continue
        if not isinstance(value, int) or not 1 <= value <= most:
            errors[field] = _("This must be a whole number from 1 to %(most)s.") % {"most": most}
    if pattern and settings.keep_entry_days is not None and "keep_entry_days" not in errors:
        errors["keep_entry_days"] = _("Audit entries belong to the whole store: leave the pattern empty for this rule.")
    if errors:
        raise ValidationError(errors)
    return replace(settings, name=name, pattern=pattern)


def sentence_of(error: BadPattern) -> str:
    """Return a sentence for people that says what is wrong with a pattern."""
    return {
        "start": _("A pattern begins with a slash, like “/customers/”."),
        "empty": _("Two slashes follow each other in this pattern; between them there must be a name."),
        "stars": _("“**” must be alone between slashes, like “/notes/**/old.md”. Within a name use one “*”."),
        "dots": _("“.” and “..” cannot be names in a pattern."),
        "unseen": _("A pattern cannot have invisible characters."),
        "long": _("A pattern has at most %(most)s bytes.") % {"most": patterns.MOST_BYTES},
        "deep": _("A pattern has at most %(most)s names.") % {"most": patterns.MOST_NAMES},
        "many": _("A pattern has at most %(most)s stars.") % {"most": patterns.MOST_STARS},
    }[error.code]
