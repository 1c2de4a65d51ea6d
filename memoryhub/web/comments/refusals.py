"""Sentences for people that say why a comment was not written."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.comments import comments
from memoryhub.actions.comments.comments import LONGEST_NOTE, MOST, MOST_NOTES
from memoryhub.actions.comments.on_proposals import NoSuchPlace
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.tool_errors import for_people

_WORDS: dict[type[Exception], tuple[str | Promise, int]] = {
    comments.TooMany: (_("There are too many comments: the hub keeps at most %(most)s here. Nothing was "
                         "written."), MOST),
    comments.TooManyNotes: (
        _("This memory already has %(most)s notes that no agent has read yet. Let an agent read them, or "
        "withdraw one."), MOST_NOTES
    ),
    comments.NotANote: (
        _("A note to an agent is one line of at most %(most)s visible characters."), LONGEST_NOTE
    ),
    comments.NotTheAuthor: (_("Only the author of a comment can change it."), 0),
    comments.NoSuchComment: (_("Nothing was done, because the comment, or what it is about, has been deleted."), 0),
    NoSuchPlace: (_("Nothing was published, because the proposal has no such line."), 0),
}  # fmt: skip

REFUSALS: tuple[type[Exception], ...] = (*_WORDS, ToolError)


def why(error: Exception) -> str:
    """Return a sentence on why an act on comments was refused."""
    if isinstance(error, ToolError):
        return for_people(error)
    words, most = _WORDS[type(error)]
    return str(words) % {"most": most}
