"""Sentences for audit entries, which say what a person or the hub did."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core.audit.command import Command
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.models import (
    AuditEntry,
    Door,
    Pause,
)
from memoryhub.pure import ids as ids_of
from memoryhub.pure.text import keeping
from memoryhub.web.audit import page_names, settings_changed as changed
from memoryhub.web.audit.names import EntryInput
from memoryhub.web.common.texts import kinds
from memoryhub.web.retention import sentences as retention

NOTHING = "–"
_NAMED = 3
_NAMES = re.compile(r"%\((\w+)\)s")


def told_of(input: str | None) -> dict[str, Any]:
    """Return an entry's parsed `input`, or its stored part if the input was shortened. Return {} if this is not an
    object."""
    try:
        value, _size = keeping.parts(json.loads(input or "{}"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def words_of(entry: AuditEntry, details: EntryInput, names: Mapping[str, str]) -> str:
    """Return a sentence on what happened, without author and time. `names` maps ids to names, see `names_in`.

    A refused act is described as an attempt. For a command without words, return its name.
    """
    command = COMMANDS.get(entry.command or "")
    if command is None or (Door(entry.door).has_tool and not command.by_agents):
        return entry.command or _("made a call without a command")
    values = Values(details, entry, names)
    if not entry.ok and command.refused:
        return str(command.refused) % values
    done = FUNCTIONS.get(command.name, _plainly)(values, command)
    return done if entry.ok else _("tried this, but the hub refused it: %(words)s") % {"words": done}


class Values(dict[str, str]):
    """The values of an entry as text, for a format string; the values in _MADE are computed."""

    def __init__(self, input: EntryInput, entry: AuditEntry, names: Mapping[str, str]) -> None:
        super().__init__()
        self.input, self.entry, self.names = input, entry, names

    def __missing__(self, name: str) -> str:
        made = _MADE.get(name)
        return self.in_words(made(self) if made else self.input.get(name))

    def in_words(self, value: object) -> str:
        if value in (None, "", []) or isinstance(value, dict):
            return NOTHING
        if isinstance(value, bool):
            return _("yes") if value else _("no")
        if isinstance(value, list):
            return ", ".join(map(self.in_words, value))
        text = str(value)
        is_gone = text.startswith((ids_of.MEMORY, ids_of.MEMORY_VERSION)) and text not in self.names
        return _("(removed)") if is_gone else self.names.get(text, text)

    def side(self, name: str, at: int) -> object:
        """Return the value `name` before a change (`at` is 0) or after it (`at` is 1).

        If the value did not change, return None for `at` 1.
        """
        value = self.input.get(name)
        if isinstance(value, list) and len(value) == 2:
            return value[at]
        return None if at else value

    def number(self, names: str) -> int | None:
        """Return the sum of the numbers or lengths of the named values, or None if the entry has none of them."""
        known = [number for name in names.split() if (number := _number(self.input.get(name))) is not None]
        return sum(known) if known else None


def _number(value: object) -> int | None:
    """Return the number in a value: an integer itself, the length of a list, or the `count` in a dict. For a dict
    without a `count`, return the sum of the numbers in its values. For any other value, return None."""
    if isinstance(value, int):
        return value
    if isinstance(value, list):
        return len(value)
    if isinstance(value, dict):
        return _number(value["count"]) if "count" in value else sum(_number(part) or 0 for part in value.values())
    return None


def _plainly(values: Values, command: Command) -> str:
    """Return the command's words, filled with the values."""
    count = values.number(command.counts)
    if command.several and _is_of_several(values, command, count):
        values["count"] = str(count or 0)
        return command.several(count or 0) % values
    choices = command.words if isinstance(command.words, tuple) else (command.words,)
    texts = [str(words) for words in choices]
    fit = (text for text in texts if all(values[name] != NOTHING for name in _NAMES.findall(text)))
    if (words := next(fit, None)) is None and not values.input and command.did and values.entry.path is not None:
        return f"{command.did}: {values.entry.path}"
    return (words or texts[-1]) % values


def _is_of_several(values: Values, command: Command, count: int | None) -> bool:
    """Return whether the sentence for several things, `command.several`, describes the entry."""
    if not command.words:
        return True
    if count is None or Door(values.entry.door).has_tool:
        return False
    listed = isinstance(values.input.get(command.counts), list)
    return not listed or count > 1 or values.entry.path is None


def _path(values: Values) -> object:
    path = values.entry.path
    return "/" if path == "" else path if path is not None else _text(values.input.get("path"))


def _subject(values: Values) -> object:
    """Return the subject of a comment: what the comment is about."""
    number = values.input.get("number")
    return _path(values) if number is None else _("proposal #%(number)s") % {"number": number}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _beneath(values: Values) -> str:
    prefix = _text(values.input.get("path_prefix"))
    return "" if prefix == "/" else prefix


def _paths(values: Values) -> str:
    paths, selected = values.input.get("paths"), values.input.get("selected")
    if not isinstance(paths, list):
        return NOTHING
    named = ", ".join(map(str, paths[:_NAMED]))
    more = (selected if isinstance(selected, int) else len(paths)) - _NAMED
    if more <= 0:
        return named
    words = ngettext("%(paths)s and %(count)s more", "%(paths)s and %(count)s more", more)
    return words % {"paths": named, "count": more}


def _kinds(values: Values) -> list[str]:
    named = values.input.get("kinds")
    return [kinds.label(str(kind)) for kind in named] if isinstance(named, list) else []


def _url(values: Values) -> object:
    made = values.side("state", 1)
    return made.get("url") if isinstance(made, dict) else None


_MADE: dict[str, Callable[[Values], object]] = {
    "page": lambda values: page_names.words(str(values.input.get("page") or "")),
    "path": _path,
    "subject": _subject,
    "status": lambda values: ": ".join(
        str(values.input[name]) for name in ("status", "reason") if name in values.input
    ),
    "new_path": lambda values: "/" if values.entry.new_path == "" else values.entry.new_path,
    "beneath": _beneath,
    "version": lambda values: values.input.get("version") or values.entry.version,
    "paths": _paths,
    "place": lambda values: values.input.get("place") or "/",
    "person": lambda values: values.input.get("email") or values.input.get("user"),
    "stores": lambda values: _("all stores") if values.input.get("all_stores") else values.input.get("stores"),
    "kinds": _kinds,
    "url": _url,
    "which": lambda values: retention.pattern_words(str(values.input.get("where") or "")),
    "why": lambda values: (rule := values.input.get("rule")) and retention.rule_words(str(rule)),
    "changes": lambda values: changed.changes(values.input, values.names),
    "settings": lambda values: changed.of_new(values.input, values.names),
    "rules": lambda values: changed.of_rules(values.input),
    "name": lambda values: values.side("name", 0),
    "new_name": lambda values: values.side("name", 1),
    "hour": lambda values: values.side("hour", 0),
    "new_hour": lambda values: values.side("hour", 1),
}

# ------------------------------------------------------------------------------------------------ functions


def _undo(values: Values, command: Command) -> str:
    """Return a sentence on what was undone, and on how many later writes were undone with it."""
    too = values.number("too") or 0
    more = ngettext(
        "%(said)s, and %(count)s later write of its readers", "%(said)s, and %(count)s later writes of its readers", too
    )
    said = _undone(values)
    return more % {"said": said, "count": too} if too else said


def _take_out(values: Values, command: Command) -> str:
    """Return a sentence on the lines taken out of a memory, and on how many later writes were undone with this."""
    too = values.number("too") or 0
    more = ngettext(
        "%(said)s, and undid %(count)s later write of its readers",
        "%(said)s, and undid %(count)s later writes of its readers",
        too,
    )
    said = _plainly(values, command)
    return more % {"said": said, "count": too} if too else said


def _undone(values: Values) -> str:
    """Return words for the session, import, entry or versions that were undone."""
    details = values.input
    if details.get("session"):
        return _("undid what the session %(session)s wrote") % {
            "session": values["session_name" if details.get("session_name") else "session"]
        }
    if details.get("import"):
        return _("undid the import %(import)s") % {"import": values["name" if details.get("name") else "import"]}
    if details.get("entry"):
        return _("undid entry %(entry)s") % values
    versions = details.get("versions")
    if isinstance(versions, list) and len(versions) == 1:
        return _("undid version %(versions)s of %(path)s") % values
    count = 1 if details.get("version") else values.number("versions") or 0  # all others are writes of its readers
    return ngettext("undid %(count)s version", "undid %(count)s versions", count) % {"count": count}


def _restore(values: Values, command: Command) -> str:
    """Return a sentence on what was restored: a memory from the trash, or an earlier version."""
    if values.input.get("from_trash") and values.entry.path is not None:
        return _("restored %(path)s from the trash") % values
    return _plainly(values, command)


def _restore_moment(values: Values, command: Command) -> str:
    if values.input.get("memory"):
        return _("restored %(path)s to what it was after entry %(seq)s") % values
    if values.input.get("path"):
        directory = {"path": values.input["path"], "seq": values["seq"]}
        return _("restored the directory %(path)s to what it was after entry %(seq)s") % directory
    return _("restored the whole store to what it was after entry %(seq)s") % values


def _set_role(values: Values, command: Command) -> str:
    if values.input.get("invited_by"):
        return _("joined with the role %(role)s, invited by %(invited_by)s") % values
    return _plainly(values, command)


def _invite(values: Values, command: Command) -> str:
    if values.input.get("user"):
        return _("created a password link for %(email)s") % values
    return _plainly(values, command)


def _hold(values: Values, command: Command) -> str:
    details, is_hold = values.input, values.input.get("what") == "hold"
    memory = values["memory"] if details.get("memory") else ""
    where = values.entry.path or details.get("path") or memory or _("the whole memory store")
    if command.name == "release":
        words = _("released the legal hold on %(where)s") if is_hold else _("removed the pin from %(where)s")
        return words % {"where": where}
    words = _("put a legal hold on %(where)s: %(reason)s") if is_hold else _("pinned %(where)s: %(reason)s")
    said = words % {"where": where, "reason": values.side("reason", 1) or ""}
    case = values.side("case_number", 1)
    return f"{said} ({_('case %(number)s') % {'number': case}})" if case else said


def _decided_findings(values: Values, command: Command) -> str:
    said, seq = _plainly(values, command), values.input.get("entry")
    if command.name == "dismiss_finding" or not isinstance(seq, int):
        return said
    if command.name == "resolve_finding":
        return _("%(said)s: entry %(seq)s removed the text") % {"said": said, "seq": seq}
    return _("%(said)s: entry %(seq)s wrote the text again") % {"said": said, "seq": seq}


def _erase(values: Values, command: Command) -> str:
    texts, places = values.number("texts") or 0, values.number("places") or 0
    said = ngettext("erased %(texts)s text", "erased %(texts)s texts", texts) % {"texts": texts}
    where = ngettext("from %(count)s place", "from %(count)s places", places) % {"count": places}
    if not (imports := values.number("imports")):
        return f"{said} {where}"
    also = ngettext("cancelled the import %(imports)s", "cancelled the imports %(imports)s", imports) % values
    return _("%(said)s, and %(also)s") % {"said": f"{said} {where}", "also": also}


def _export(values: Values, command: Command) -> str:
    if not values.input.get("holds"):
        return _perhaps_signed(values, command)
    values["count"] = str(count := values.number(command.counts) or 0)
    return (
        ngettext(
            "exported what is on legal hold, %(count)s memory: %(paths)s",
            "exported what is on legal hold, %(count)s memories: %(paths)s",
            count,
        )
        % values
    )


def _perhaps_signed(values: Values, command: Command) -> str:
    words = _plainly(values, command)
    return f"{words}, {_('with a signature')}" if values.input.get("signed") is True else words


def _export_table(values: Values, command: Command) -> str:
    tables = {
        "trash": _("the trash"),
        "versions": _("the versions of %(path)s"),
        "agents": _("the agents"),
        "receipt": _("the receipt %(receipt)s"),
    }
    table = tables.get(values["table"], values["table"].replace("%", "%%")) % values
    words = _("exported %(table)s as %(format)s") % {"table": table, "format": values["format"]}
    return f"{words}, {_('filtered by: %(filter)s') % values}" if values.input.get("filter") else words


def _pause_webhook(values: Values, command: Command) -> str:
    why = values.input.get("for")
    if why == Pause.GONE:
        return _("paused the webhook “%(name)s”: its receiver said that it no longer exists") % values
    if why == Pause.FAILING:
        return _("paused the webhook “%(name)s”: no delivery had succeeded for days") % values
    return _("paused the webhook “%(name)s”") % values


FUNCTIONS: dict[str, Callable[[Values, Command], str]] = {
    "undo": _undo,
    "take_out": _take_out,
    "restore": _restore,
    "restore_moment": _restore_moment,
    "set_role": _set_role,
    "invite": _invite,
    "hold": _hold,
    "release": _hold,
    "dismiss_finding": _decided_findings,
    "resolve_finding": _decided_findings,
    "reopen_finding": _decided_findings,
    "erase": _erase,
    "export": _export,
    "export_audit": _perhaps_signed,
    "export_table": _export_table,
    "pause_webhook": _pause_webhook,
}
"""{command: the function that makes its sentence}, for the commands for which `_plainly` is not enough."""
