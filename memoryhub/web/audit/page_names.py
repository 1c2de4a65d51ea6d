"""The names of the pages that show texts of memories.

If a person views a text on a page, an entry records the page's route name. The sentence of the entry shows the
page's name instead.
"""

from django.utils.translation import gettext_lazy as _

_NAMES = {
    "answer_comment": _("Comment"), "assign": _("Review"), "blame": _("Blame"), "changes": _("Changes"),
    "claim": _("Review"), "claude_run": _("Claude run"), "comment": _("Comment"), "compare": _("Compare"),
    "compare_claude_runs": _("Claude runs"), "decide": _("Review"), "decide_all_findings": _("Findings"),
    "decide_findings": _("Findings"), "edit_memory": _("Edit"), "entry": _("Audit entry"), "erase": _("Erase"),
    "findings": _("Findings"), "import_item": _("Import"), "memory": _("Memory"), "moment_memory": _("At a moment"),
    "proposal": _("Proposal"), "proposals_together": _("Proposals"), "readers": _("Who has seen it"),
    "replay_session": _("Replay"), "restore_moment": _("Restore"), "restore_version": _("Restore"),
    "review": _("Review"), "search": _("Search"), "session": _("Session"), "store_findings": _("Findings"),
    "take_out": _("Take the line out"), "today": _("Today"), "trash": _("Trash"), "try_call": _("Try a call"),
    "undo_decision": _("Review"), "undo_entry": _("Undo"), "undo_import": _("Undo"), "undo_session": _("Undo"),
    "undo_version": _("Undo"), "version": _("Version"),
}  # fmt: skip


def words(page: str) -> str:
    """Return the name of the page with this route name, or the route name if the page has no name here."""
    return str(_NAMES.get(page, page))
