"""Comments that a person drafts on the page of a proposal. They are published together, alone or with a decision."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _

from memoryhub.actions.comments.comments import LONGEST
from memoryhub.actions.comments.on_proposals import Draft

WHOLE, TELL = "comment", "tell"
"""The fields of a comment on the proposal as a whole: its text, and the tick that tells the agent."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """What a posted form has of comments: the text on the proposal as a whole, and whether to tell it to the agent."""

    text: str = ""
    tells: bool = False

    @classmethod
    def of(cls, post: QueryDict) -> "Drafts":
        return cls(post.get(WHOLE, "").replace("\r\n", "\n").strip(), TELL in post)

    def written(self) -> Sequence[Draft]:
        """Return those that are not empty."""
        return [Draft(self.text, self.tells)] if self.text else []

    def problem(self, *, alone: bool) -> str:
        """Return why they cannot be published, `alone` or with a decision, as a sentence; "" if they can."""
        written = self.written()
        if alone and not written:
            return _("Write something first.")
        if any(len(draft.text) > LONGEST for draft in written):
            return _("The comment is too long. Use at most %(most)s characters.") % {"most": f"{LONGEST:,}"}
        return ""
