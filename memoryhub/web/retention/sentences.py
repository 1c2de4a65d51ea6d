"""Sentences for retention policies and for the reasons of a removal."""

from datetime import datetime

from django.utils import formats, timezone
from django.utils.translation import gettext as _, ngettext

from memoryhub.pure import retention_rules
from memoryhub.pure.retention_rules import BadPattern, Candidate, Policy


def days(count: int) -> str:
    return ngettext("%(count)s day", "%(count)s days", count) % {"count": f"{count:,}"}


def pattern_words(pattern: str) -> str:
    """Return words for the memories that a pattern matches."""
    if not pattern:
        return _("every memory")
    if pattern.endswith("/") and "*" not in pattern:
        return _("everything under %(path)s") % {"path": pattern}
    if "*" not in pattern:
        return _("the memory at %(path)s") % {"path": pattern}
    return _("everything that matches %(pattern)s") % {"pattern": pattern}


def sentences(policy: Policy) -> list[str]:
    """Return sentences on what a policy does, one for each effect. A policy without effect has a sentence too."""
    found = [*_expiring(policy), *_keeping(policy)]
    found = found or [_("Nothing expires and nothing is removed: everything that this policy applies to is kept.")]
    return found if _expires(policy) else [*found, _trash(policy)]


def _expires(policy: Policy) -> bool:
    given = (policy.expire_unread_days, policy.expire_unchanged_days, policy.expire_older_days)
    return any(count is not None for count in given)


def _trash(policy: Policy) -> str:
    """Return a sentence for a policy that expires no memories: after how long it removes memories in the trash."""
    said = _(
        "If another policy, or this policy before its change, moved a memory to the trash, the memory is removed "
        "permanently after %(days)s there."
    )
    return said % {"days": days(policy.grace_days)}


def _expiring(policy: Policy) -> list[str]:
    reasons = [
        words % {"days": days(count)}
        for count, words in (
            (policy.expire_unread_days, _("that no agent has read for %(days)s")),
            (policy.expire_unchanged_days, _("that no one has changed for %(days)s")),
            (policy.expire_older_days, _("that were created more than %(days)s ago")),
        )
        if count is not None
    ]
    found = []
    if reasons:
        between = _(" and ") if policy.expires_together else _(", or ")
        details = {"which": between.join(reasons), "days": days(policy.grace_days)}
        found.append(
            _("Memories %(which)s go to the trash, and are removed permanently after %(days)s there.") % details
        )
        if policy.keeps_approved:
            found.append(_("Memories stay if a person wrote or approved their newest version."))
    if policy.trash_days is not None:
        found.append(
            _("What people and agents put into the trash is removed permanently after %(days)s.")
            % {"days": days(policy.trash_days)}
        )
    return found


def _keeping(policy: Policy) -> list[str]:
    found = []
    if policy.keep_versions is not None and policy.keep_version_days is not None:
        found.append(
            ngettext(
                "Keeps the newest version of each memory, and all versions younger than %(days)s.",
                "Keeps the newest %(count)s versions of each memory, and all versions younger than %(days)s.",
                policy.keep_versions,
            )
            % {"count": f"{policy.keep_versions:,}", "days": days(policy.keep_version_days)}
        )
    elif policy.keep_versions is not None:
        found.append(
            ngettext(
                "Keeps the newest version of each memory.",
                "Keeps the newest %(count)s versions of each memory.",
                policy.keep_versions,
            )
            % {"count": f"{policy.keep_versions:,}"}
        )
    elif policy.keep_version_days is not None:
        found.append(_("Keeps the versions of the last %(days)s.") % {"days": days(policy.keep_version_days)})
    if policy.keep_entry_days is not None:
        found.append(_("Keeps the audit entries of the last %(days)s.") % {"days": days(policy.keep_entry_days)})
    return found


def day(moment: datetime) -> str:
    """Return a date such as `3 May`, with the year if it is not the current one."""
    local = timezone.localtime(moment)
    same = local.year == timezone.localtime().year
    return formats.date_format(local, "j F" if same else "j F Y")


def reason(rule: str, since: datetime | None, at: datetime, limit: int | None, *, is_read: bool = True) -> str:
    """Return words for why the rule `rule` is due at the moment `at`. The rule counts from the moment `since`.

    `is_read` is False if no agent has ever read the memory.
    """
    if since is None:
        return rule_words(rule)
    details = {"day": day(since), "days": days(max(0, (at - since).days)), "limit": days(limit or 0)}
    words = {
        retention_rules.UNREAD: _("not read since %(day)s (%(days)s)")
        if is_read
        else _("never read since it was created or restored on %(day)s (%(days)s)"),
        retention_rules.UNCHANGED: _("not changed since %(day)s (%(days)s)"),
        retention_rules.OLDER: _("created or restored on %(day)s (%(days)s ago)"),
        retention_rules.GRACE: _("expired on %(day)s (%(days)s in the trash)"),
        retention_rules.TRASH: _("deleted on %(day)s (%(days)s in the trash)"),
        retention_rules.ENTRIES: _("older than %(limit)s"),
    }.get(rule)
    return words % details if words else rule_words(rule)


def rule_words(rule: str) -> str:
    """Return words for why a rule removes something."""
    words = {
        retention_rules.UNREAD: _("not read for a long time"),
        retention_rules.UNCHANGED: _("not changed for a long time"),
        retention_rules.OLDER: _("old"),
        retention_rules.GRACE: _("its time in the trash is over"),
        retention_rules.TRASH: _("its time in the trash is over"),
        retention_rules.VERSIONS: _("more versions than are kept"),
        retention_rules.ENTRIES: _("old"),
    }
    return words.get(rule, rule)


def why(candidate: Candidate) -> str:
    """Return words for why a policy applies to a path, or why it does not."""
    if candidate.why == "wins" and candidate.policy.store is None:
        return _(
            "This policy applies. No policy of this memory store matches the path, and this policy of the hub "
            "matches most closely."
        )
    words = {
        "wins": _("This policy applies. It is the most specific of the policies that match the path."),
        "paused": _("This policy applies, but it is paused. Nothing is removed, and no other policy takes its place."),
        "no_match": _("The path does not match."),
        "store": _("This policy matches, but policies of the memory store come before policies of the hub."),
        "start": _("This policy matches, but the policy that applies has a longer start without * in its pattern."),
        "literal": _(
            "This policy matches, but the policy that applies has more characters other than * in its pattern."
        ),
        "order": _(
            "This policy matches equally well, but the pattern of the policy that applies comes first in the alphabet."
        ),
    }
    return words.get(candidate.why, candidate.why)


def pattern_problem(pattern: str) -> str:
    """Return a sentence on what is wrong with a pattern; "" if it is valid."""
    try:
        retention_rules.cleaned(pattern)
    except BadPattern as bad:
        return bad_pattern(bad.code)
    return ""


def bad_pattern(code: str) -> str:
    words = {
        "start": _("A pattern begins with a slash, like a path: /tickets/"),
        "empty": _("A name is missing between two slashes."),
        "stars": _("Two stars stand for any directories. Write them between two slashes: /**/drafts/"),
        "dots": _("A pattern cannot have . or .. as a name."),
        "unseen": _("A pattern cannot have control or invisible characters."),
        "long": _("A pattern has at most 1,024 bytes."),
        "deep": _("A pattern has at most 20 names."),
        "many": _("A pattern has at most 20 stars."),
    }
    return words.get(code, _("This pattern cannot be used."))
