"""The contents of the commits of a git stream: author and time, the hub's own trailers, and the texts that they
write."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from memoryhub.pure.transfer import reading
from memoryhub.pure.transfer.bundle import Author, Refused

_PERSON = re.compile(rb"(?:author|committer) ?(?P<name>[^<>\n]*?) ?<(?P<mail>[^<>\n]*)> (?P<at>-?\d{1,12}) [+-]\d{4}")
_TRAILER = re.compile(r"Memoryhub-([A-Z][a-z]+): (.*)")


class Content(NamedTuple):
    """The text of a blob. If the bytes of the blob are no text, `text` is None, and `why` says why it is not imported.

    The bytes are decoded only once, even if many versions have them.
    """

    size: int
    text: str | None
    why: str = ""


NOTHING = Content(0, "")


def content_of(content: bytes) -> Content:
    text = reading.text_of(content)
    return Content(len(content), text, "" if text is not None else reading.why_no_text(content))


@dataclass(slots=True)
class Commit:
    """One commit. `changed` is {path: what the commit writes there}."""

    author: Author | None = None
    at: datetime | None = None
    message: str = ""
    changed: dict[str, Content] = field(default_factory=dict)


def only_text(commit: Commit) -> str | None:
    """Return the text that a commit of the hub's own stream writes. Raises Refused unless it writes exactly one
    text."""
    if len(commit.changed) != 1:
        raise Refused("A commit of the stream does not write exactly one text.")
    (content,) = commit.changed.values()
    if content.text is None:
        raise Refused("A commit of the stream writes bytes that are not a text.")
    return content.text


def trailers(message: str) -> dict[str, str]:
    """Return {name: value} of the trailers in a commit's message. Raises Refused if one of them is repeated."""
    found: dict[str, str] = {}
    for line in message.rstrip("\n").rpartition("\n\n")[2].split("\n"):
        if match := _TRAILER.fullmatch(line):
            if match[1] in found:
                raise Refused("A commit of the stream repeats a fact about its version.")
            found[match[1]] = match[2]
    return found


def person(line: bytes) -> tuple[Author | None, datetime]:
    """Return the person and the moment that a line of a commit names. Raises Refused."""
    match = _PERSON.fullmatch(line)
    if match is None:
        raise Refused("A commit of the stream has an author in an unknown form.")
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(match["at"]))
    except OverflowError:
        raise Refused("A commit of the stream has an impossible time.") from None
    label = match["name"].decode("utf-8", "replace")[:1000]
    return (Author("", "", label) if label else None), at
