"""Path patterns of retention policies. To match one takes bounded work, whatever the pattern and the path."""

import unicodedata


class BadPattern(ValueError):
    """A pattern that cannot be used; `code` is `start`, `empty`, `stars`, `dots`, `unseen`, `long`, `deep` or
    `many`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


MOST_BYTES = 1024
MOST_NAMES = 20
"""The most bytes and the most names of a pattern. These are also the limits of a path."""
MOST_STARS = 20
"""The most `*` and `**` of a pattern, because each of them needs a search in every name that is compared."""


def cleaned(pattern: str) -> str:
    """Return a pattern in its stored form, composed (NFC) as every path is. Raises BadPattern.

    A pattern that is only white space or `/` becomes "", which matches every path.
    """
    pattern = pattern.strip()
    if pattern in ("", "/"):
        return ""
    if not pattern.startswith("/"):
        raise BadPattern("start")
    if len(pattern) > MOST_BYTES:
        raise BadPattern("long")
    pattern = unicodedata.normalize("NFC", pattern)
    if len(pattern.encode(errors="replace")) > MOST_BYTES:
        raise BadPattern("long")
    if any(not (character.isprintable() or character == " ") for character in pattern):
        raise BadPattern("unseen")
    names = pattern.removesuffix("/")[1:].split("/")
    if len(names) > MOST_NAMES:
        raise BadPattern("deep")
    for name in names:
        _check_name(name)
    if pattern.replace("**", "*").count("*") > MOST_STARS:
        raise BadPattern("many")
    return pattern


def _check_name(name: str) -> None:
    if not name:
        raise BadPattern("empty")
    if name in (".", ".."):
        raise BadPattern("dots")
    if "**" in name and name != "**":
        raise BadPattern("stars")


class Matcher:
    """A prepared pattern. Matching compares each name of a path with each name of the pattern at most once.

    The names of the pattern are numbered. A position is the number of the name to be matched next; the last position is
    the end of the pattern. A set of positions is an integer with one bit for each position. `cost` is roughly the
    largest number of comparisons and searches for one name of a path.
    """

    __slots__ = ("beneath", "cost", "end", "names")

    def __init__(self, pattern: str) -> None:
        names = pattern.strip("/").split("/") if pattern.strip("/") else []
        while names and names[-1] == "**":
            names.pop()
        ends = pattern[len("/".join(names)) + 1 :]
        self.beneath = not names or bool(ends)
        self.names = [*names, "*"] if self.beneath else names
        self.end = 1 << len(self.names)
        self.cost = 1 + sum(map(cost_of, self.names))

    def start(self) -> int:
        return self._skipped(1)

    def _skipped(self, states: int) -> int:
        """Return the positions in `states`, and those that are reached from them if each `**` matches no name."""
        for number, name in enumerate(self.names):
            if name == "**" and states >> number & 1:
                states |= 1 << number + 1
        return states

    def after(self, states: int, name: str) -> int:
        """Return the positions that are reached from the positions in `states` when `name` is the next name of the
        path."""
        following = states & self.end if self.beneath else 0
        for number, wanted in enumerate(self.names):
            if states >> number & 1:
                if wanted == "**":
                    following |= 1 << number
                elif name_matches(wanted, name):
                    following |= 1 << number + 1
        return self._skipped(following)

    def in_directory(self, directory: str) -> int:
        """Return the positions that are reached by the names of a directory's path."""
        states = self.start()
        for name in directory.split("/")[1:]:
            states = self.after(states, name)
        return states

    def always(self, states: int) -> bool:
        """Return whether the pattern matches every memory directly in the directory that led to the positions in
        `states`."""
        return bool(self.beneath and states & self.end) or any(
            states >> number & 1 and wanted == "*" and number + 1 == len(self.names)
            for number, wanted in enumerate(self.names)
        )

    def last_names(self, states: int) -> list[str]:
        """Return [the last name of the pattern] if the position of this name is in `states`, otherwise []. The name may
        contain `*`."""
        return self.names[-1:] if self.names and states >> len(self.names) - 1 & 1 else []

    def accepts(self, states: int, name: str) -> bool:
        """Return whether the pattern matches a path whose last name is `name`, and whose names before it led to the
        positions in `states`."""
        return bool(self.after(states, name) & self.end)

    def matches(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return self.accepts(self.in_directory(directory), name)


def cost_of(wanted: str) -> int:
    """Return about how many comparisons and searches it takes to compare a name with `wanted`."""
    return 1 + wanted.count("*")


def name_matches(wanted: str, name: str) -> bool:
    """Return whether a name matches `wanted`, in which `*` stands for any characters."""
    if "*" not in wanted:
        return wanted == name
    first, *middle, last = wanted.split("*")
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def matches(pattern: str, path: str) -> bool:
    """Return whether a memory's path matches: "" matches all paths, `*` any part of a name, `**` any number of names,
    and a final `/` everything under the directory."""
    return Matcher(pattern).matches(path)
