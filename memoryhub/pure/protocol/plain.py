"""The tool's sentences without `/memories`, for people and for callers of the API."""

import re

from memoryhub.pure.protocol import results

_ROOT = re.compile(rf"(?<!\S){results.ROOT}(?=/)")
_TAKEN = re.compile("File (.*) already exists", re.DOTALL)
_WORDS = (
    (f"would escape {results.ROOT} directory", "would lead out of the memory store"),
    ("is a file, not a directory", "is a memory, not a directory"),
    ("a file path must not end with /", "the path of a memory must not end with /"),
)


def without_root(message: str) -> str:
    """Return a sentence of the tool without `Error: ` and with its paths in the API's form."""
    shown = _ROOT.sub("", message.removeprefix("Error: "))
    return shown[:1].upper() + shown[1:]


def for_api(message: str) -> str:
    """Return a sentence of the tool in the API's words, which call a file a memory."""
    shown = without_root(message)
    for words, better in _WORDS:
        if shown.endswith(words):
            shown = shown.removesuffix(words) + better
    taken = _TAKEN.fullmatch(shown)
    return f"There is a memory or a directory at {taken[1]} already" if taken else shown
