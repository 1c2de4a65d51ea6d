"""Paths: converts a path that a model sent into the API's form, and answers questions about paths in that form.

In this form, the root directory is `""`, and any other path is `/name/name`. Only the tool shows `/memories` before it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

ROOT = results.ROOT
ROOT_DIRECTORY = ""
MOST_BYTES = 1024
MOST_BYTES_OF_NAME = 255
MOST_NAMES = 20
MOST_ROUNDS = 5

# Nearly every path matches this. A match passes every rule below except length and depth.
_PLAIN = re.compile(r"/memories((?:/[A-Za-z0-9_-]+(?:[ .][A-Za-z0-9_-]+)*)*)")
_SLASHES = re.compile("//+")
_OVERLONG = re.compile("%c0%a[ef]", re.IGNORECASE)
_LOOK_ALIKES = frozenset("\u2044\u2215\u29f8\u2571\u29f6")
_MOST_SHRINKING = 3

UNSEEN = "control, invisible and formatting characters are not allowed"
SEPARATORS = "look-alike separators are not allowed"
ENCODED = "percent-encoded separators are not allowed"
LEVELS = "too many levels of percent-encoding"
SPACES = "names must not start or end with spaces"
LONG = "longer than 1024 bytes (or 255 per name)"
DEEP = "deeper than 20 levels"
NAMELESS = "it names no memory"
DOUBLED = "names must not be empty"
COMPOSED = "it must be in Unicode's normalization form C"
MARKED = "it is the marker of the SDK's own copies of a memory store"

SYNC_MARKER = "/.anthropic-memory-store"
"""A file that the SDK writes in its copies of a store. At the root of a store, the API neither lists nor accepts this
path."""


def from_tool(value: object, *, creates: bool = False) -> str:
    """Return the API's form of a path that a model sent. Raises ToolError for the first rule that the path breaks.

    `creates`: the path names a memory to create, so it must not end with `/`.
    """
    if not isinstance(value, str):
        raise ToolError(results.path_outside(value))
    if len(value) <= MOST_BYTES_OF_NAME and value.count("/") <= MOST_NAMES + 1:
        plain = _PLAIN.fullmatch(value)
        if plain:
            return plain[1]
    if value != ROOT and not value.startswith(ROOT + "/"):
        raise ToolError(results.path_outside(value))
    _refuse_meaning(value)
    path = _SLASHES.sub("/", value).rstrip("/")[len(ROOT) :]
    if creates and path and value.endswith("/"):
        raise _refused(value, "a file path must not end with /")
    return _composed(value, path)


def from_api(value: str) -> str:
    """Return the path of a memory that a caller of the API sent. Raises ToolError unless it has exactly the form in
    which paths are stored."""
    if not value.startswith("/"):
        raise ToolError(results.path_relative(value))
    path = from_tool(ROOT + value, creates=True)
    if path != value or not path:
        why = DOUBLED if "//" in value else COMPOSED if path else NAMELESS
        raise _refused(ROOT + value, why)
    if is_sync_marker(path):
        raise _refused(ROOT + value, MARKED)
    return path


def require_moved(moved: Sequence[str]) -> None:
    """Raise ToolError if a move of a directory would give its memories paths that are not allowed.

    `moved` are these paths. All of them begin with the directory's new path, so only the longest and the deepest are
    checked.
    """
    if moved:
        from_tool(ROOT + max(moved, key=lambda path: len(path.encode())))
        from_tool(ROOT + max(moved, key=lambda path: path.count("/")))


def is_sync_marker(path: str) -> bool:
    """Return whether a path is the marker that the SDK writes at the root of a store, or is under it."""
    return path == SYNC_MARKER or path.startswith(SYNC_MARKER + "/")


def _refuse_meaning(value: str) -> None:
    """Raise ToolError if another program, by decoding or normalising the path, could read it as a different path."""
    forms = list(_decoded(value))
    if len(forms) > MOST_ROUNDS + 1:
        raise _refused(value, LEVELS)
    for form in forms:
        _refuse_escape(value, form)
        if not form.isascii():
            _refuse_escape(value, _compatible(form))
        if not (form.isascii() and form.isprintable()) and _has_unseen(form):
            raise _refused(value, UNSEEN)
    if any(form.count("/") != value.count("/") for form in forms):
        raise _refused(value, ENCODED)
    if any(map(_has_look_alike, forms)):
        raise _refused(value, SEPARATORS)
    if any(map(_OVERLONG.search, forms)):
        raise ToolError(results.path_escapes(value))


def _decoded(value: str) -> Iterator[str]:
    """Yield the path, then the result of each round of percent-decoding that changes it, up to a limit."""
    yield value
    for _ in range(MOST_ROUNDS + 1):
        decoded = unquote(value) if "%" in value else value
        if decoded == value:
            return
        yield decoded
        value = decoded


def _compatible(form: str) -> str:
    """Return the path with each character normalised by NFKC separately.

    This takes linear time, whereas NFKC of the whole path can take minutes.
    """
    return form.translate({ord(c): unicodedata.normalize("NFKC", c) for c in set(form) if not c.isascii()})


def _refuse_escape(value: str, shape: str) -> None:
    if "../" in shape or "..\\" in shape or shape.endswith("/.."):
        raise ToolError(results.path_escapes(value))
    if "/./" in shape or shape.endswith("/."):
        raise _refused(value, "'.' segments are not allowed")
    if "\\" in shape:
        raise _refused(value, "backslashes are not allowed")


def _has_unseen(form: str) -> bool:
    return any(unicodedata.category(c) in results.UNSEEN_CATEGORIES for c in set(form))


def _has_look_alike(form: str) -> bool:
    if form.isascii():
        return False
    return not _LOOK_ALIKES.isdisjoint(form) or _compatible(form).count("/") != form.count("/")


def _composed(value: str, path: str) -> str:
    """Return `path` in NFC. `value` is the path as it was sent; errors show it.

    Raises ToolError if a name begins or ends with a space, if the path or a name is too long, or if the path has too
    many names.
    """
    if any(name != name.strip() for name in path.split("/")):
        raise _refused(value, SPACES)
    # NFC is quadratic in a run of marks and never shrinks text below a third, so this length is refused before
    # composing.
    if len(path) > MOST_BYTES * _MOST_SHRINKING:
        raise _refused(value, LONG)
    path = unicodedata.normalize("NFC", path)
    names = path.split("/")[1:]
    if len(path.encode()) > MOST_BYTES or any(len(name.encode()) > MOST_BYTES_OF_NAME for name in names):
        raise _refused(value, LONG)
    if len(names) > MOST_NAMES:
        raise _refused(value, DEEP)
    return path


def _refused(value: str, why: str) -> ToolError:
    return ToolError(results.path_not_allowed(value, why))


def to_tool(path: str) -> str:
    """Return a path as the tool shows it."""
    return ROOT + path


@lru_cache(maxsize=1024)
def ancestors(path: str) -> tuple[str, ...]:
    """Return the directories above a path, the root first; none for the root itself.

    For `/a/b/c.md`, these are `""`, `/a` and `/a/b`.
    """
    parts = path.split("/")
    return tuple(["/".join(parts[:end]) for end in range(1, len(parts))])


def parent(path: str) -> str:
    """Return the path of the directory that contains a path."""
    return path.rpartition("/")[0]


def name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def subtree(path: str) -> tuple[str, str]:
    """Return (low, high): a path is under the directory if it is at least `low` and less than `high`, by code point."""
    return path + "/", path + "0"


def is_hidden(name: str) -> bool:
    """Return whether directory views leave out a memory or directory with this name."""
    return has_hidden("/" + name)


def has_hidden(path: str) -> bool:
    """Return whether directory views leave out this path, because one of its names is hidden."""
    return "/." in path or "/node_modules/" in path + "/"
