"""Paths in a git tree: names that git refuses, or that mean something to it, are escaped so that each comes back."""

import re
import unicodedata
from urllib.parse import unquote

_SHORT_NAME = re.compile(r"git~[0-9]+")


def safe_path(path: str) -> str:
    """A path in the tree, without a first slash, of the API's form of a path."""
    return "/".join(map(safe_name, path.split("/")[1:]))


def safe_name(name: str) -> str:
    """The name, with its first character escaped where git would refuse it, or where it looks as if it had been."""
    if not _needs_escape(name):
        return name
    return "".join(f"%{byte:02X}" for byte in name[:1].encode("utf-8", "surrogatepass")) + name[1:]


def _needs_escape(name: str) -> bool:
    """Also for what would be refused with some escapes taken away: no two names become the same."""
    while not _is_refused(name):
        name, before = unquote(name), name
        if name == before:
            return False
    return True


def _is_refused(name: str) -> bool:
    """What some file system takes for `.git`, `.` or `..`: in any case, with signs that are not seen, as Windows cuts
    it, and under its short name; and git's own settings, which are not somebody's to change by writing a memory."""
    seen = "".join(c for c in name if unicodedata.category(c) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().split(":")[0].rstrip(". ")
    return not plain or plain in (".git", ".gitmodules", ".gitattributes") or bool(_SHORT_NAME.fullmatch(plain))
