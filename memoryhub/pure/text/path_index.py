"""An index of paths. It finds the paths that contain some words, the best first. With up to a hundred thousand paths,
it is fast enough to search while a person types.

Each pair and each triple of adjacent bytes in a path has a key. For each key there is a large integer, whose bits say
which paths have the key. A path that contains a word has all keys of the word, so a few `&` of such integers leave only
few paths to check. Of equally good paths, the shorter comes first.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice, pairwise
from operator import and_, or_

from memoryhub.pure.text.folding import fold

BLOCK = 4096
MOST_WORDS = 8
MOST_CHECKED = 1000
"""The most paths that are checked for one answer."""

NAME_IS, NAME_BEGINS, WORD_BEGINS, IN_NAME, IN_PATH = range(5)
_END = b"\xff"  # never a byte of UTF-8 text
_ONE, _THREE, _BEGIN, _WORD = (kind << 20 for kind in range(1, 5))


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A memory's id, its path, and its folded path. Entries can be compared, so that paths that differ only in case
    have an order."""

    id: str
    path: str
    folded: str

    @classmethod
    def of(cls, id: str, path: str) -> Entry:
        folded = fold(path)
        return cls(id, path, path if folded == path else folded)


Found = tuple[int, int, str, Entry]
"""How well an entry fits (the lowest number is the best), the length of its path, its folded path, and the entry.
Results are sorted by this."""


def words_of(query: str) -> list[str]:
    """Return the distinct folded words of a query; slashes alone are ignored."""
    return list(dict.fromkeys(word for word in fold(query).split() if word.strip("/")))[:MOST_WORDS]


def found(entry: Entry, words: Sequence[str]) -> Found | None:
    """Return (best fit of any word, length of the path, folded path, entry): results are sorted by this. None if the
    path lacks a word."""
    best = IN_PATH
    for word in words:
        if word not in entry.folded:
            return None
        if best > NAME_IS:
            best = min(best, _fit(entry.folded, word))
    return best, len(entry.folded), entry.folded, entry


def _fit(path: str, word: str) -> int:
    """Return how well a word fits the end of a path: NAME_IS, NAME_BEGINS, WORD_BEGINS, IN_NAME or IN_PATH.

    A word that consists of n names with slashes between them is compared with the last n names of the path.
    """
    tail = path
    if (depth := word.count("/") + 1) < path.count("/") + 1:
        tail = path.split("/", path.count("/") - depth + 1)[-1]
    if tail.startswith(word):
        return NAME_IS if tail == word else NAME_BEGINS
    at = tail.find(word)
    if at < 0:
        return IN_PATH
    while at > 0 and tail[at - 1].isalnum():
        at = tail.find(word, at + 1)
    return WORD_BEGINS if at > 0 else IN_NAME


def in_order(path: str, letters: str) -> bool:
    """Return whether a folded path contains `letters` in this order, with anything between them."""
    at = -1
    for letter in letters:
        at = path.find(letter, at + 1)
        if at < 0:
            return False
    return True


class PathIndex:
    """An index of entries. It does not change, so any number of threads may use it at once."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = sorted(entries, key=lambda entry: (len(entry.folded), entry.folded))
        starts = range(0, len(self.entries), BLOCK)
        self.blocks = [_Block.of(self.entries[start : start + BLOCK]) for start in starts]

    def __len__(self) -> int:
        return len(self.entries)

    def find(self, words: Sequence[str], limit: int, gone: Container[str] = ()) -> list[Found]:
        """Return the best entries that contain all words, at most `limit`; without words, the first entries.

        Entries whose id is in `gone` are left out.
        """
        answer: list[Found] = []
        places: list[list[int]] = [[] for _ in range(IN_PATH + 1)]
        for checked, (fit, place) in enumerate(self._candidates([_Keys.of(word) for word in words])):
            better = sum(map(len, places[:fit]))
            if checked == MOST_CHECKED or better + bisect_right(places[fit], place) >= limit:
                break
            entry = self.entries[place]
            if entry.id not in gone and (fits := found(entry, words)) is not None:
                answer.append(fits)
                insort(places[fits[0]], place)
        return sorted(answer)[:limit]

    def _candidates(self, words: Sequence[_Keys]) -> Iterator[tuple[int, int]]:
        """Yield (fit, position) of entries that may contain the words, the best fit first. Each entry is yielded
        once."""
        seen = [0] * len(self.blocks)
        for fit in range(IN_PATH + 1):
            for number, block in enumerate(self.blocks):
                bits = block.candidates(words, fit) & ~seen[number]
                seen[number] |= bits
                for at in _ones(bits):
                    yield fit, number * BLOCK + at

    def find_letters(self, letters: str, limit: int, gone: Container[str] = ()) -> list[Entry]:
        """Return the first entries, at most `limit`, that contain `letters` in this order.

        Entries whose id is in `gone` are left out.
        """
        keys = {_ONE | byte for byte in _bytes(letters)}
        answer: list[Entry] = []
        places = (n * BLOCK + at for n, block in enumerate(self.blocks) for at in _ones(block.having(keys)))
        for place in islice(places, MOST_CHECKED // 2):
            entry = self.entries[place]
            if in_order(entry.folded, letters) and entry.id not in gone:
                answer.append(entry)
                if len(answer) == limit:
                    break
        return answer


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of a word. A path with the word has all keys in `path`.

    For each fit, `by_fit` has the keys that a name must have if the word fits the name in this way.
    """

    path: frozenset[int]
    by_fit: tuple[frozenset[int], ...]

    @classmethod
    def of(cls, word: str) -> _Keys:
        data = _bytes(word)
        inner = frozenset(_inner(data))
        if b"/" in data:
            parts = data.split(b"/")
            sides = [*(part + b"/" for part in parts[:-1]), *(b"/" + part for part in parts[1:])]
            begins = frozenset(_inner(b"/" + parts[-1]))
            return cls(frozenset(key for side in sides for key in _inner(side)), (begins,) * IN_PATH)
        begins = inner | _inner(b"/" + data) | {_begin_key(data)}
        return cls(inner, (begins | _pairs(data + _END), begins, inner | {_word_key(data)}, inner))


@dataclass(frozen=True, slots=True)
class _Block:
    """Some entries of an index.

    For each key, one integer has the bits of the entries whose names have the key, and another integer the bits of the
    entries whose directories have it.
    """

    size: int
    in_name: dict[int, int]
    in_directory: dict[int, int]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> _Block:
        in_name: dict[int, bytearray] = {}
        directories: dict[str, int] = {}
        for at, entry in enumerate(entries):
            directory, _, name = entry.folded.rpartition("/")
            directories[directory] = directories.get(directory, 0) | 1 << at
            place, bit = at >> 3, 1 << (at & 7)
            for key in _name_keys(name):
                try:
                    in_name[key][place] |= bit
                except KeyError:
                    in_name[key] = bytearray(BLOCK >> 3)
                    in_name[key][place] = bit
        names = {key: int.from_bytes(bits, "little") for key, bits in in_name.items()}
        return cls(len(entries), _with_single_bytes(names), _with_single_bytes(_directory_bits(directories)))

    def candidates(self, words: Sequence[_Keys], fit: int) -> int:
        """Return the bits of those entries that may contain all words, and in which at least one word may have the fit
        `fit` or a better one."""
        bits = self.having([key for word in words for key in word.path])
        if fit == IN_PATH or not bits:
            return bits
        return bits & reduce(or_, (self._named(word.by_fit[fit]) for word in words), 0)

    def having(self, keys: Iterable[int]) -> int:
        """Return the bits of the entries that have each of these keys in their name or in their directory."""
        bits = (1 << self.size) - 1
        for key in keys:
            bits &= self.in_name.get(key, 0) | self.in_directory.get(key, 0)
            if not bits:
                break
        return bits

    def _named(self, keys: Iterable[int]) -> int:
        return reduce(and_, (self.in_name.get(key, 0) for key in keys), -1)


def _with_single_bytes(numbers: dict[int, int]) -> dict[int, int]:
    """Return the keys of pairs of bytes, with the keys of single bytes added."""
    for key, bits in list(numbers.items()):
        if key < _ONE:
            single = _ONE | key >> 8
            numbers[single] = numbers.get(single, 0) | bits
    return numbers


def _directory_bits(directories: Mapping[str, int]) -> dict[int, int]:
    """Return {key: bits of the entries whose directory has the key}.

    `directories` is {directory: bits of its entries}.
    """
    found: dict[int, int] = {}
    for directory, bits in directories.items():
        data = _bytes(directory) + b"/"
        for key in _pairs(data) | _triples(data):
            found[key] = found.get(key, 0) | bits
    return found


def _name_keys(name: str) -> set[int]:
    data = _bytes(name)
    keys = _pairs(b"/" + data) | _triples(b"/" + data)
    keys.add(data[-1] << 8 | _END[0] if data else 0)
    keys.add(_begin_key(data[:1]))
    keys.add(_begin_key(data[:2]))
    before = "x"
    for at, character in enumerate(name):
        if not before.isalnum():
            begin = _bytes(name[at : at + 2])
            keys.add(_word_key(begin[:1]))
            keys.add(_word_key(begin[:2]))
        before = character
    return keys


def _inner(data: bytes) -> set[int]:
    """Return the keys of `data` itself. Every path that contains these bytes has all of these keys."""
    if len(data) == 1:
        return {_ONE | data[0]}
    return _pairs(data) | _triples(data)


def _pairs(data: bytes) -> set[int]:
    return {first << 8 | second for first, second in pairwise(data)}


def _triples(data: bytes) -> set[int]:
    """Return the keys of the triples of bytes in `data`. There are only 4,096 such keys, so several triples share
    one."""
    return {
        _THREE | (169 * first + 13 * second + third) & 4095
        for first, second, third in zip(data, data[1:], data[2:], strict=False)
    }


def _begin_key(data: bytes) -> int:
    return _BEGIN | int.from_bytes(data[:2], "big") << 1 | (len(data) > 1)


def _word_key(data: bytes) -> int:
    return _WORD | int.from_bytes(data[:2], "big") << 1 | (len(data) > 1)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _ones(bits: int) -> Iterator[int]:
    """Yield the positions of the bits of a number that are 1, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
