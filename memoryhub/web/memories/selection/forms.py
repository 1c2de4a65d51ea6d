"""Data of the forms of a selection: the selected items, the action, and what its preview showed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.memories.selection import Chosen
from memoryhub.actions.memories.selection.restore import Thrown
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.forms import InStoreForm, NoteForm, PathField

_ID = re.compile(r"(mem|dir)_[0-9A-Z]{26}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SEQ = re.compile(r"[0-9]{1,18}", re.ASCII)


class DeleteForm(NoteForm):
    """An optional note on why the selection is deleted."""


class MoveForm(InStoreForm, NoteForm):
    """The destination directory; `/` is the root."""

    into = PathField(label=_("Directory to move into"), creates=False)

    field_order = ("into", "note")


@dataclass(frozen=True, slots=True)
class Posted:
    """A posted selection."""

    act: str
    ids: tuple[str, ...]
    everything: bool
    place: str  # the directory of the page
    digest: str  # the digest of the preview; empty if none was shown
    format: str
    entry: int | None  # the audit entry that moved the memories to the trash

    @classmethod
    def of(cls, post: QueryDict) -> "Posted":
        place = _place(post.get("in", ""))
        digest, entry = post.get("digest", ""), post.get("entry", "")
        return cls(
            act=post.get("act") or ("export" if "format" in post else "restore" if entry else ""),
            ids=tuple(_ids([*post.getlist("id"), *post.get("ids", "").split()])),
            everything="everything" in post and place is not None,
            place=place or "",
            digest=digest if _DIGEST.fullmatch(digest) else "",
            format=post.get("format", ""),
            entry=int(entry) if _SEQ.fullmatch(entry) else None,
        )

    @property
    def is_empty(self) -> bool:
        return not self.ids and not self.everything and self.entry is None

    @property
    def chosen(self) -> Chosen:
        return Chosen(everything_in=self.place) if self.everything else Chosen(self.ids)

    @property
    def thrown(self) -> Thrown:
        return Thrown(self.ids, self.entry)

    @property
    def joined(self) -> str:
        """Return the ids as one form field, since the number of fields in a form is limited."""
        return " ".join(self.ids)


def _ids(given: Iterable[str]) -> Iterable[str]:
    """Yield each distinct id; an invalid id becomes a placeholder that matches nothing."""
    for number, id in enumerate(dict.fromkeys(given)):
        yield id if _ID.fullmatch(id) else f"?{number}"


def _place(path: str) -> str | None:
    """Return the path if it is valid for a directory, else None."""
    try:
        return path if paths.from_tool(paths.ROOT + path) == path else None
    except ToolError:
        return None
