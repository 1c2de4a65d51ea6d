"""What was tried and not done, in words: an entry of an error says of nothing that it happened."""

from typing import Protocol

from django.utils.translation import gettext as _

from memoryhub.web.audit import sentences_imports as imports


class Values(Protocol):
    """What an entry tells, by name, as text."""

    def __getitem__(self, name: str) -> str: ...


SAYS_ITSELF = frozenset(("sign_in", "refused", "refused_more", *imports.COMMANDS))
"""Commands whose own words tell a refusal."""


def of_refused(command: str, told: Values, done: str) -> str:
    """`done` are the words for the same command where it was done."""
    sentences = {
        "create": _("tried to create %(path)s"),
        "edit": _("tried to edit %(path)s"),
        "view": _("tried to view %(path)s"),
        "str_replace": _("tried to replace text in %(path)s"),
        "insert": _("tried to insert text into %(path)s"),
        "delete": _("tried to delete %(path)s"),
        "rename": _("tried to rename %(path)s to %(new_path)s"),
        "move": _("tried to move %(path)s to %(new_path)s"),
        "restore": _("tried to restore %(path)s"),
        "export": _("tried to export %(path)s"),
        "edit_store": _("could not change the store’s settings"),
        "delete_store": _("could not delete the store"),
        "archive_store": _("tried to archive the store"),
        "unarchive_store": _("tried to take the store out of the archive"),
    }
    if command in SAYS_ITSELF:
        return done
    if command not in sentences:
        return _("tried, and it was refused: %(words)s") % {"words": done}
    return sentences[command] % {"path": told["path"], "new_path": told["new_path"]}
