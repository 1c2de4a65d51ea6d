"""File names for memories. They are unique, and characters that some file system refuses are escaped."""

import hashlib
import re
import unicodedata

from memoryhub.pure.transfer import obeyed_names

_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|$)", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"\\|?*%')
_LONGEST = 200
"""The most bytes of a name: less than the limit of every file system, with room for a hash."""


def safe_name(name: str, directory: str = "") -> str:
    """Return a file name for one name of a path. A long name is shortened.

    A character is escaped, as in `%41`, if Linux, macOS or Windows cannot store it, or if a program would obey a file
    with this name in `directory`.
    """
    obeyed = obeyed_names.to_escape(name, directory)
    escaped = "".join(
        escape(character) if at in obeyed or _is_forbidden(character) else character
        for at, character in enumerate(name)
    )
    escaped = escape_obeyed(escaped, directory)
    if escaped[-1:] in (".", " "):
        escaped = escaped[:-1] + escape(escaped[-1])
    if _RESERVED.match(escaped) or escaped[:1] == " ":
        escaped = escape(escaped[0]) + escaped[1:]
    return escaped if len(escaped.encode()) <= _LONGEST else _marked(escaped, name)


def _is_forbidden(character: str) -> bool:
    return character in _FORBIDDEN or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def escape(character: str) -> str:
    """Return the escape of a character: `%` and two hexadecimal digits for each of its UTF-8 bytes, as in `%41`."""
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def escape_obeyed(name: str, directory: str = "") -> str:
    """Return a name with escapes for the characters that would make a program obey the name.

    An earlier escape can make such a name: `:~1` becomes `%3A~1`, which has the form of a short name of Windows.
    """
    obeyed = obeyed_names.to_escape(name, directory)
    return "".join(escape(character) if at in obeyed else character for at, character in enumerate(name))


def _marked(safe: str, whole: str) -> str:
    """Return a name that is unique: it is shortened, and has a hash of `whole` before its extension."""
    stem, dot, ending = safe.rpartition(".") if "." in safe[1:] else (safe, "", "")
    if len(ending) > 20:
        stem, dot, ending = safe, "", ""
    mark = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = stem.encode()[: _LONGEST - 40].decode(errors="ignore")
    return f"{re.sub('%[0-9A-F]?$', '', kept)}~{mark}{dot}{ending}"


class Names:
    """Chooses a name in an archive for each path. Names are unique even on file systems that ignore case or compose
    marks.

    `reserved` is a name at the root of the archive ("": none). No path gets this name, or a name in a directory that
    has this name.
    """

    def __init__(self, reserved: str = "") -> None:
        self._memories = {_folded("/" + reserved)} if reserved else set()
        self._directories: set[bytes] = set()

    def of(self, path: str) -> str:
        """Return the name in the archive for a path, without a slash at its start. Pass each path only once."""
        place, whole, within = "", "", ""
        *above, last = path.split("/")[1:]
        for name in above:
            whole = f"{whole}/{name}"
            place = self._beneath(place, safe_name(name, within), whole, is_directory=True)
            self._directories.add(_folded(place))
            within = name
        place = self._beneath(place, safe_name(last, within), path, is_directory=False)
        self._memories.add(_folded(place))
        return place[1:]

    def _beneath(self, directory: str, safe: str, whole: str, *, is_directory: bool) -> str:
        """Return the place of the escaped name `safe` in a directory.

        If this place is taken, the name gets a hash of `whole`, the path up to this name.

        Directories whose names are equal for some file system share a place. A memory always gets a place of its own.
        """
        place = f"{directory}/{safe}"
        folded = _folded(place)
        is_taken = folded in self._memories or (not is_directory and folded in self._directories)
        return f"{directory}/{_marked(safe, whole)}" if is_taken else place


def _folded(place: str) -> bytes:
    """Return sixteen bytes, which are equal for two paths if some file system treats these as one."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", place).casefold())
    return hashlib.blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).digest()
