"""Comments that a person drafts on the page of a proposal. They are published together."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.translation import gettext as _

from memoryhub.actions.comments.comments import LONGEST
from memoryhub.actions.comments.on_proposals import Draft, Place

WHOLE, TELL = "comment", "tell"
"""The fields of a comment on the proposal as a whole: its text, and the checkbox that sends the comment to the
agent."""

OPEN, LINE, TELL_OF_LINE = "draft", "line-", "tell-line"
"""The names of form fields. OPEN is the button that opens a comment on a line; its value is the name of the line's
place (`name_of`). LINE is the beginning of the name of the comment's text field, and the name of the place follows it.
TELL_OF_LINE is the checkbox that sends the comment to the agent; its value is the name of the place."""

_PLACE = re.compile(r"(\w{1,40}):(\w{0,40}):(\d{1,9}):(old|new):(\d{1,9})", re.ASCII)


def name_of(place: Place) -> str:
    """Return the place of a comment as a text, for the names and values of form fields."""
    return f"{place.change}:{place.base}:{place.number}:{'old' if place.is_old else 'new'}:{place.line}"


def place_of(name: str) -> Place | None:
    """Return the place for a text that `name_of` returned, or None for any other text."""
    match = _PLACE.fullmatch(name)
    return Place(match[1], match[2], int(match[3]), match[4] == "old", int(match[5])) if match else None


@dataclass(frozen=True, slots=True)
class Drafts:
    """The comments in a posted form: one on the whole proposal, and those on lines.

    The person has just opened the field at the place `opened`.
    """

    text: str = ""
    tells: bool = False
    lines: Mapping[Place, Draft] = field(default_factory=dict)
    opened: Place | None = None

    @classmethod
    def of(cls, post: QueryDict) -> "Drafts":
        opened, lines, told = place_of(post.get(OPEN, "")), dict[Place, Draft](), set(post.getlist(TELL_OF_LINE))
        for field_name, text in post.items():
            name = field_name.removeprefix(LINE)
            place = place_of(name) if field_name.startswith(LINE) else None
            if place and (str(text).strip() or place == opened):
                lines[place] = Draft(_plain(str(text)), name in told, place)
        if opened:
            lines.setdefault(opened, Draft("", place=opened))
        return cls(_plain(post.get(WHOLE, "")), TELL in post, lines, opened)

    def written(self) -> Sequence[Draft]:
        """Return the drafts that are not empty."""
        return [draft for draft in (*self.lines.values(), Draft(self.text, self.tells)) if draft.text]

    def problem(self, *, alone: bool) -> str:
        """Return a sentence on why the drafts cannot be published; "" if they can.

        `alone` means that they come without a decision: then at least one of them must not be empty.
        """
        written = self.written()
        if alone and not written:
            return _("Write something first.")
        if any(len(draft.text) > LONGEST for draft in written):
            return _("The comment is too long. Use at most %(most)s characters.") % {"most": f"{LONGEST:,}"}
        return ""


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
