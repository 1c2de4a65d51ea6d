"""HTML of the changes that a preview only lists.

It is built in Python, because a template is too slow for thousands of changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from memoryhub.actions.history.apply_plan import Change, Problem
from memoryhub.templatetags.visible import visible
from memoryhub.web.undo.form import effects_of
from memoryhub.web.undo.rows import Row


@dataclass(frozen=True, slots=True)
class _Words:
    """HTML that all rows share, in the reader's language."""

    kinds: dict[str, str]
    leave: str
    address: str

    @classmethod
    def translated(cls, store_id: str) -> "_Words":
        badges = {
            "created": ("created", _("comes back")),
            "deleted": ("deleted", _("goes to the trash")),
            "moved": ("renamed", _("moves")),
            "moved_modified": ("renamed", _("moves and changes")),
            "modified": ("modified", _("changes")),
            Problem.CONFLICT: ("flagged", _("conflict")),
            Problem.TAKEN: ("flagged", _("path is taken")),
            Problem.REDACTED: ("redacted", _("redacted")),
            "held": ("archived", _("held")),
            "blocked": ("flagged", _("not possible")),
            Problem.UNMERGED: ("flagged", _("needs a choice")),
        }
        kinds = {kind: f'<span class="badge badge-{css}">{escape(word)}</span>' for kind, (css, word) in badges.items()}
        return cls(kinds, escape(_("Leave it as it is")), reverse("memory", args=[store_id, "mem"]))


def brief_rows(store_id: str, rows: Sequence[Row], may_apply: bool) -> SafeString:
    """Return a list item for each change: its path and its effect, and a checkbox if `may_apply`."""
    words = _Words.translated(store_id)
    return mark_safe("".join([_row(row, words, may_apply) for row in rows]))


def _row(row: Row, words: _Words, may_apply: bool) -> str:
    change = row.change
    memory = escape(change.memory)
    box = ""
    if may_apply and change.is_plain:
        ticked = " checked" if row.left_out else ""
        effects = effects_of([change])
        field = f'<input type="checkbox" name="leave_out" value="{memory}" data-effects="{effects}"{ticked}>'
        box = f' <label class="undo-leave">{field} {words.leave}</label>'
    kind = change.problem or ("held" if change.held else "blocked" if change.blocked else change.kind)
    return (
        f'<li class="row"><div class="row-main"><a class="mono break-anywhere" href="{words.address[:-3]}{memory}">'
        f'{_paths(change)}</a></div><div class="row-end">{words.kinds[kind]}{box}</div></li>'
    )


def _paths(change: Change) -> str:
    now, then = change.now.path, change.then.path
    return f"{visible(now)} → {visible(then)}" if now and then and now != then else str(visible(change.path or "–"))
