"""The form for a call of the memory tool: its parameters one by one, or the JSON of its input."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.pure import strict_json
from memoryhub.pure.protocol import paths
from memoryhub.web.memories.forms import ReasonForm

JSON = "json"
COMMANDS = (
    ("view", _("View")),
    ("create", _("Create")),
    ("str_replace", _("Replace text")),
    ("insert", _("Insert lines")),
    ("delete", _("Delete")),
    ("rename", _("Rename")),
    (JSON, "JSON"),
)
"""The commands of the memory tool, and the raw input, each with its label."""

_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
_MONO = _PLAIN | {"class": "input-mono"}


def _path(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label, required=False, strip=False, max_length=5_000,
        widget=forms.TextInput(attrs=_MONO | {"placeholder": "/notes/todo.md"}),
    )  # fmt: skip


def _text(label: Any, rows: int, help_text: Any = "") -> forms.CharField:
    widget = forms.Textarea(attrs=_MONO | {"rows": rows})
    return forms.CharField(label=label, required=False, strip=False, widget=widget, help_text=help_text)


def _number(label: Any, help_text: Any = "") -> forms.IntegerField:
    widget = forms.NumberInput(attrs=_PLAIN)
    return forms.IntegerField(label=label, required=False, widget=widget, help_text=help_text)


class CallForm(ReasonForm):
    """A call, and who makes it: `who` is the id of a key, or "" for the person.

    Each command uses some of the fields. Only the tool checks the paths, because a person wants to see its refusals.
    """

    who = forms.ChoiceField(label=_("As"), required=False)
    command = forms.ChoiceField(choices=COMMANDS)
    path = _path(_("Path"))
    new_path = _path(_("New path"))
    first = _number(_("From line"), _("Empty: the whole text."))
    last = _number(_("To line"), _("-1: the end."))
    file_text = _text(_("Text"), 10)
    old_str = _text(_("Old text"), 4, _("Must be in the text exactly once."))
    new_str = _text(_("New text"), 4)
    insert_line = _number(_("After line"), _("0: at the beginning."))
    insert_text = _text(_("Lines to insert"), 4)
    input = _text(_("Input"), 12, _("The input of the tool_use block, as a JSON object."))

    def __init__(self, who: Sequence[tuple[str, str]], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["who"].choices = who  # type: ignore[attr-defined]
        for name in {"input"}.union(*_FIELDS.values()):
            self.fields[name].needed_at_times = True  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if "command" not in given:
            return given
        for name in ("path", "new_path"):
            given[name] = _of_tool(given.get(name) or "")
        try:
            given["call"] = _raw(given.get("input", "")) if given["command"] == JSON else _of_fields(given)
        except ValueError as error:
            self.add_error("input", str(error))
        return given


def _of_tool(path: str) -> str:
    """Return a path as the memory tool names it: the root of the tool is put before a path of the hub."""
    is_of_hub = path.startswith("/") and path != paths.ROOT and not path.startswith(f"{paths.ROOT}/")
    return paths.ROOT + path.removesuffix("/") if is_of_hub else path


def _raw(text: str) -> dict[str, Any]:
    """Return the object that a JSON text contains. Raises ValueError with a sentence for people."""
    try:
        value = strict_json.loads(text.encode(), is_request=True)
    except strict_json.Malformed as error:
        raise ValueError(gettext("This is not JSON: %(why)s") % {"why": error}) from None
    if not isinstance(value, dict):
        raise ValueError(gettext('The input must be a JSON object, such as {"command": "view", "path": "/memories"}.'))
    return value


def _of_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of the chosen command, with the parameters that the person filled in."""
    command = given["command"]
    made: dict[str, Any] = {"command": command}
    for name in _FIELDS[command]:
        value = given.get(name)
        if value is not None:
            made[_NAMES.get((command, name), name)] = value.replace("\r\n", "\n") if isinstance(value, str) else value
    if command == "view" and given.get("first") is not None:
        last = given.get("last")
        made["view_range"] = [given["first"], -1 if last is None else last]
    return made


_FIELDS = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("path", "new_path"),
}
_NAMES = {("rename", "path"): "old_path"}


def begun_with(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the initial values of the form from a link's parameters: `command`, `who`, and `path`."""
    known = [command for command, _label in COMMANDS]
    path = given.get("path", "").replace("\0", "")
    return {
        "command": given["command"] if given.get("command") in known else "view",
        "who": given.get("who", ""),
        "path": paths.ROOT + path,
    }


def begun_with_call(input: Any, who: str) -> dict[str, Any]:
    """Return the initial values of the form for a recorded input. If the fields cannot represent the input, the form
    shows it as JSON."""
    made = {"who": who, "command": JSON, "path": paths.ROOT, "input": json.dumps(input, ensure_ascii=False, indent=2)}
    command = input.get("command") if isinstance(input, dict) else None
    if not isinstance(command, str) or command not in _FIELDS:
        return made
    fields = {name: input.get(_NAMES.get((command, name), name)) for name in _FIELDS[command]}
    view_range = input.get("view_range")
    if command == "view" and isinstance(view_range, list) and len(view_range) == 2:
        fields |= {"first": view_range[0], "last": view_range[1]}
    fits = all(_can_hold(name, value) for name, value in fields.items())
    is_all = fits and _of_fields({"command": command} | fields) == input
    return made | fields | {"command": command} if is_all else made


def _can_hold(name: str, value: object) -> bool:
    """Return whether the form's field `name` can represent this value of a recorded input."""
    return type(value) is (int if name in ("insert_line", "first", "last") else str)
