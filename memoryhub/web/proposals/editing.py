"""Texts of a proposal that a person edits on the proposal's page before the merge."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict

from memoryhub.actions.proposals.selected import Parts
from memoryhub.web.common.texts import lines
from memoryhub.web.common.texts.lines import Editable
from memoryhub.web.proposals.hunks import left_out_of

TEXT, NEWLINES = "text-", "newlines-"
EDIT, DISCARD = "edit", "discard"
"""The buttons that open and close a memory's editor; their value is the memory."""


@dataclass(frozen=True, slots=True)
class Editor:
    """The editor of a memory's text. `is_first` means that it has just been opened."""

    memory: str
    editable: Editable
    is_first: bool


def parts_of(post: QueryDict) -> Parts:
    """Return the edited texts and the left-out hunks of a posted form. Raises ValueError if a text has a NUL."""
    texts: dict[str, str] = {}
    for name, value in post.items():
        memory = name.removeprefix(TEXT)
        if name.startswith(TEXT) and memory != post.get(DISCARD):
            texts[memory] = lines.from_textarea(str(value), post.get(NEWLINES + memory, lines.LF))
            if "\0" in texts[memory]:
                raise ValueError(memory)
    return Parts(left_out_of(post), texts)


def editors(texts: Mapping[str, str], opened: str = "") -> dict[str, Editor]:
    """Return {memory: the editor of its text}; `opened` is the memory whose editor has just been opened."""
    return {memory: Editor(memory, lines.to_textarea(text), memory == opened) for memory, text in texts.items()}
