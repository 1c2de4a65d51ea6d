"""Why a comment was not written, in words for people."""

from django.utils.translation import gettext as _

from memoryhub.actions.comments import comments
from memoryhub.actions.comments.comments import LONGEST_NOTE, MOST, MOST_NOTES
from memoryhub.protocol.errors import ToolError
from memoryhub.web.common.tool_errors import for_people

REFUSALS = (
    comments.TooMany, comments.NoSuchComment, comments.NotTheAuthor, comments.NotANote, comments.TooManyNotes, ToolError
)  # fmt: skip


def why(error: Exception) -> str:
    """Return why an act on comments was refused, as a sentence."""
    if isinstance(error, ToolError):
        return for_people(error)
    if isinstance(error, comments.TooMany):
        return _("These are too many comments: at most %(most)s are kept here. Nothing was written.") % {"most": MOST}
    if isinstance(error, comments.NotTheAuthor):
        return _("Only its author can change a comment.")
    if isinstance(error, comments.NotANote):
        return _("What you tell an agent is one line of at most %(most)s characters, all of them visible.") % {
            "most": LONGEST_NOTE
        }
    if isinstance(error, comments.TooManyNotes):
        return _("Already %(most)s notes wait at this memory. Let an agent read them, or withdraw one.") % {
            "most": MOST_NOTES
        }
    return _("Nothing was done, because the comment, or what it is about, has been deleted.")
