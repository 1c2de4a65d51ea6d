"""Audit entries in words: what a person or the hub did, as a sentence for people."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub import ids as ids_of
from memoryhub.models import Agent, AuditEntry, Door, MemoryStore
from memoryhub.text import keeping
from memoryhub.web.audit import (
    sentences_erasure,
    sentences_imports as imports,
    sentences_reading as further,
    sentences_retention,
    sentences_rules,
    sentences_stores as stores,
    sentences_webhooks,
)
from memoryhub.web.audit.sentences_limits import name_of, of_hour, of_limits
from memoryhub.web.audit.sentences_refused import of_refused
from memoryhub.web.audit.sentences_selection import of_selection, of_table, of_view

Told = Mapping[str, Any]


def told_of(input: str | None) -> dict[str, Any]:
    """The `input` of an entry, or what is kept of it; empty where there is none or it is not an object."""
    try:
        value, _whole = keeping.parts(json.loads(input or "{}"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def names_in(inputs: Iterable[Told]) -> dict[str, str]:
    """What the agents and stores are called whose ids stand in some inputs."""
    values = [value for told in inputs for value in told.values()]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    ids = {item for item in flat if isinstance(item, str) and item.startswith((ids_of.AGENT, ids_of.MEMORY_STORE))}
    if not ids:
        return {}
    agents, stores = Agent.objects.filter(pk__in=ids), MemoryStore.objects.filter(pk__in=ids)
    return dict(agents.values_list("id", "name")) | dict(stores.values_list("id", "name"))


def words_of(entry: AuditEntry, told: Told, names: Mapping[str, str]) -> str:
    """What happened, without who did it and when; for a command that has no words its name.

    `names` stand for ids, as `names_in` gives them.
    """
    words = _WORDS.get(entry.command or "")
    if words is None or (entry.door in _OF_TOOL and entry.command not in _OF_AGENTS):
        return entry.command or _("a call without a command")
    values = _Told(told, entry, names)
    done = of_selection(entry, told) or words(values)
    return done if entry.ok else of_refused(entry.command or "", values, done)


class _Told:
    """What an entry tells, each value as text."""

    def __init__(self, told: Told, entry: AuditEntry, names: Mapping[str, str]) -> None:
        self.told, self.entry, self.names = told, entry, names

    def __getitem__(self, name: str) -> str:
        if name in ("path", "new_path"):
            value = getattr(self.entry, name)
            value = "/" if value == "" else value  # the root's
        else:
            value = self.told.get(name)
        return "–" if value in (None, "", []) else self.in_words(value)

    def in_words(self, value: object) -> str:
        if isinstance(value, bool):
            return _("yes") if value else _("no")
        if isinstance(value, list):
            return ", ".join(map(self.in_words, value))
        return self.names.get(str(value), str(value))

    def __bool__(self) -> bool:
        return self.entry.ok


def _sign_in(told: _Told) -> str:
    if told:
        return _("signed in from %(address)s") % {"address": told["address"]}
    return _("failed to sign in as %(email)s from %(address)s") % {"email": told["email"], "address": told["address"]}


def _invite(told: _Told) -> str:
    if told.told.get("email"):
        return _("made the invitation %(invitation)s for %(email)s") % {
            "invitation": told["invitation"],
            "email": told["email"],
        }
    return _("made the invitation %(invitation)s for whoever opens it first") % {"invitation": told["invitation"]}


def _withdraw(told: _Told) -> str:
    if told.told.get("maker"):
        return _("withdrew the invitation %(invitation)s of %(maker)s, who may no longer invite") % {
            "invitation": told["invitation"],
            "maker": told["email_of_maker"],
        }
    return _("withdrew the invitation %(invitation)s") % {"invitation": told["invitation"]}


def _set_role(told: _Told) -> str:
    who = told["email"] if told["email"] != "–" else told["user"]
    if told.told.get("role") is None:
        return _("took the role %(role)s from %(person)s") % {"role": told["before"], "person": who}
    return _("gave %(person)s the role %(role)s") % {"role": told["role"], "person": who}


def _issue_key(told: _Told) -> str:
    key = {"key": told["key"], "agent": told["agent"], "access": told["access"], "stores": told["stores"]}
    if told.told.get("all_stores"):
        return _("issued the key %(key)s to %(agent)s: %(access)s in all stores") % key
    return _("issued the key %(key)s to %(agent)s: %(access)s in %(stores)s") % key


def _changes(told: _Told) -> str:
    """Names of what changed, with the values before and after."""
    settings = stores.with_pairs(told.told)
    pairs = [(name, value) for name, value in settings.items() if isinstance(value, list) and len(value) == 2]
    shown = [(name, *("–" if side in (None, "") else told.in_words(side) for side in sides)) for name, sides in pairs]
    changed = [f"{name_of(name)}: {old} → {new}" for name, old, new in shown if old != new]
    return "; ".join(changed) or _("nothing")


def _undo(told: _Told) -> str:
    """Where one memory changed, the entry's path says which; the page of the entry lists all of them."""
    if told.told.get("session"):
        return _("undid what the session %(session)s wrote") % {
            "session": told["session_name" if told.told.get("session_name") else "session"]
        }
    if told.told.get("import"):
        return _("undid the import %(import)s") % {"import": told["name" if told.told.get("name") else "import"]}
    if told.told.get("entry"):
        return _("undid entry %(entry)s") % {"entry": told["entry"]}
    versions = told.told.get("versions")
    if isinstance(versions, list) and len(versions) == 1:
        return _("undid the version %(version)s of %(path)s") % {"version": versions[0], "path": told["path"]}
    count = len(versions) if isinstance(versions, list) else dict(versions or {}).get("count", 0)
    return ngettext("undid %(count)s version", "undid %(count)s versions", count) % {"count": count}


def _versions(told: _Told) -> int:
    """How many versions the entry names."""
    named = told.told.get("versions")
    return len(named) if isinstance(named, list) else 0


def _counted(one: Callable[[], str], many: Callable[[int], str]) -> Callable[[_Told], str]:
    """What was decided: about the memory at the entry's path, or about several."""

    def words(told: _Told) -> str:
        count = _versions(told)
        if told.entry.path is not None and count < 2:
            return one() % {"path": told["path"]}
        return many(count) % {"count": count}

    return words


def _reopen(told: _Told) -> str:
    return _("took back the decision of entry %(entry)s") % {"entry": told["entry"]}


def _restore_moment(told: _Told) -> str:
    if told.told.get("memory"):
        return _("restored %(path)s to what it was after entry %(seq)s") % {"path": told["path"], "seq": told["seq"]}
    if told.told.get("path"):
        directory = {"path": told.told["path"], "seq": told["seq"]}
        return _("restored the directory %(path)s to what it was after entry %(seq)s") % directory
    return _("restored the whole store to what it was after entry %(seq)s") % {"seq": told["seq"]}


def _sentence(text: Callable[[], str], *names: str) -> Callable[[_Told], str]:
    return lambda told: text() % {name: told[name] for name in names}


def _erasure(command: str) -> Callable[[_Told], str]:
    return lambda told: sentences_erasure.of_erasure(command, told.told)


def _webhook(command: str) -> Callable[[_Told], str]:
    return lambda told: sentences_webhooks.of_webhooks(command, told.told)


def _retention(told: _Told) -> str:
    return sentences_retention.of_retention(told.entry, told.told) or str(told.entry.command)


_OF_TOOL = frozenset((Door.TOOL, Door.MCP))
_OF_AGENTS = frozenset(
    ("view", "create", "str_replace", "insert", "delete", "rename", "search", "history", "refused", "refused_more")
)
"""A tool call may name any command; only these are what they are called."""

_WORDS: dict[str, Callable[[_Told], str]] = {
    "create": _sentence(lambda: _("created %(path)s"), "path"),
    "edit": _sentence(lambda: _("edited %(path)s"), "path"),
    "view": _sentence(lambda: _("viewed %(path)s"), "path"),
    "str_replace": _sentence(lambda: _("replaced text in %(path)s"), "path"),
    "insert": _sentence(lambda: _("inserted text into %(path)s"), "path"),
    "delete": _sentence(lambda: _("deleted %(path)s"), "path"),
    "rename": _sentence(lambda: _("renamed %(path)s to %(new_path)s"), "path", "new_path"),
    "move": _sentence(lambda: _("moved %(path)s to %(new_path)s"), "path", "new_path"),
    "restore": _sentence(lambda: _("restored %(path)s to what it was in version %(version)s"), "path", "version"),
    "undo": _undo,
    "approve": _counted(
        lambda: _("approved a version of %(path)s"),
        lambda count: ngettext("approved %(count)s version", "approved %(count)s versions", count),
    ),
    "revert": _counted(
        lambda: _("reverted a version of %(path)s"),
        lambda count: ngettext("reverted %(count)s version", "reverted %(count)s versions", count),
    ),
    "flag": _counted(
        lambda: _("flagged %(path)s"),
        lambda count: ngettext("flagged %(count)s memory", "flagged %(count)s memories", count),
    ),
    "unflag": _counted(
        lambda: _("took the flag from %(path)s"),
        lambda count: ngettext("took the flag from %(count)s memory", "took the flag from %(count)s memories", count),
    ),
    "reopen": _reopen,
    "restore_moment": _restore_moment,
    "create_store": _sentence(lambda: _("created the store “%(name)s”"), "name"),
    "edit_store": lambda told: _("changed the store’s settings: %(changes)s") % {"changes": _changes(told)},
    "set_limits": lambda told: of_limits(told.told),
    "set_scrub_hour": lambda told: of_hour(told.told),
    "accept_missing": _sentence(lambda: _("accepted that entries are missing: %(reason)s"), "reason"),
    "accept_secret_key": _sentence(lambda: _("accepted another SECRET_KEY")),
    "ask_scrub": _sentence(lambda: _("asked for the database’s file to be written anew")),
    "delete_store": _sentence(lambda: _("deleted the store “%(name)s”"), "name"),
    "archive_store": _sentence(lambda: _("archived the store")),
    "unarchive_store": _sentence(lambda: _("took the store out of the archive")),
    "set_role": _set_role,
    "sign_in": _sign_in,
    "sign_out": _sentence(lambda: _("signed out")),
    "create_user": _sentence(lambda: _("made an account for %(name)s (%(email)s)"), "name", "email"),
    "invite": _invite,
    "accept_invitation": _sentence(lambda: _("accepted an invitation as %(name)s (%(email)s)"), "name", "email"),
    "withdraw_invitation": _withdraw,
    "set_password": _sentence(lambda: _("set another password for %(email)s"), "email"),
    "edit_profile": lambda told: _("changed their own settings: %(changes)s") % {"changes": _changes(told)},
    "activate_user": _sentence(lambda: _("let %(name)s (%(email)s) in again"), "name", "email"),
    "deactivate_user": _sentence(lambda: _("locked %(name)s (%(email)s) out"), "name", "email"),
    "create_agent": _sentence(lambda: _("made the agent “%(name)s”"), "name"),
    "edit_agent": lambda told: (
        _("changed the agent %(agent)s: %(changes)s") % {"agent": told["agent"], "changes": _changes(told)}
    ),
    "issue_key": _issue_key,
    "revoke_key": _sentence(lambda: _("revoked the key %(key)s (…%(hint)s) of %(agent)s"), "key", "hint", "agent"),
    "refused_more": _sentence(lambda: _("was refused %(count)s more times within a minute"), "count"),
    "refused": _sentence(lambda: _("was refused at %(memory_store)s with %(status)s"), "memory_store", "status"),
    "export": _sentence(lambda: _("exported %(path)s"), "path"),
    "export_table": lambda told: of_table(told.told),
    "share_view": lambda told: of_view("share_view", told.told),
    "rename_view": lambda told: of_view("rename_view", told.told),
    "delete_view": lambda told: of_view("delete_view", told.told),
    **{name: _erasure(name) for name in sentences_erasure.COMMANDS},
    **{
        name: lambda told: further.of_further(told.entry.command, told.told, told.entry.path)
        for name in further.COMMANDS
    },
    **dict.fromkeys(sentences_retention.COMMANDS, _retention),
    **{name: _webhook(name) for name in sentences_webhooks.COMMANDS},
    **{name: lambda told: imports.of_imports(told.entry, told.told) for name in imports.COMMANDS},
    **{name: lambda told: sentences_rules.of_rules(told.entry, told.told) for name in sentences_rules.COMMANDS},
    "export_audit": _sentence(
        lambda: _("exported the audit as %(format)s, filtered by: %(filter)s"), "format", "filter"
    ),
}
