"""Finds instructions to the model that reads the text, in the most common languages."""

import re
from collections.abc import Iterable, Iterator

from memoryhub.pure.sensitive.orders import ENGLISH, PARTS, Rows
from memoryhub.pure.sensitive.orders.abroad import (
    FRENCH,
    GERMAN,
    JAPANESE_CHINESE,
    PORTUGUESE_ITALIAN,
    RUSSIAN,
    SPANISH,
)
from memoryhub.pure.sensitive.text import Place, Text, apart

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_MARKS = (
    "無視", "忘れ", "破棄", "従わな", "ユーザ", "システムプロンプト", "あなた", "アシスタント", "モデル",
    "エージェント", "ai", "忽略", "无视", "忘记", "忘記", "不要", "抛弃", "别", "切勿", "禁止", "请勿",
    "从现在", "從現在", "你必须", "무시", "사용자에게",
)  # fmt: skip
_SEPARATORS = "\t\n\r\"'()[]{}*_`<>|-.,:;/#!?«»“”„‘’¡¿…"
_ASCII_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and code != 1}
_RARE_SEPARATORS = re.compile(
    "[\x00\x02-\x1f+=&~$%^@\\\\\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u206f\u2190-\u2bff"
    "\u3000-\u303f\u3164\ufe00-\ufe0f\ufeff\uff00-\uff0f\uff1a-\uff20\uffa0\ufff0-\uffff\U0001d173-\U0001d17a"
    "\U0001f000-\U0001faff\U000e0000-\U000e0fff]"
)
LONGEST_SPELT = 400
_SPELT = tuple(
    f" {' '.join(word)} "
    for word in ("ignore", "disregard", "forget", "override", "instructions", "reveal", "pretend", "obey", "prompt")
)
"""Words of instructions that are written with spaces between their letters, which is done only to avoid detection."""

_LETTERS = re.compile(r"(?: {1,3}\w(?!\w))+")
_LETTERS_BACKWARDS = re.compile(r" (?:\w {1,3}){0,100}")


class _Following(dict[str, re.Pattern[str]]):
    """{beginning of a sentence: pattern of everything that may follow}. A pattern is compiled when it is first used."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._steps: dict[str, int] = {}

    def __missing__(self, beginning: str) -> re.Pattern[str]:
        self[beginning] = _following(self._rows, beginning)
        return self[beginning]

    def steps(self, beginning: str) -> int:
        """Return the cost of a search after `beginning`. It rises with the number of rows for this beginning."""
        if beginning not in self._steps:
            self._steps[beginning] = 2 + 2 * len(_rows_of(self._rows, beginning))
        return self._steps[beginning]


def _compiled(rows: Rows) -> tuple[re.Pattern[str], _Following]:
    """Return a pattern of the beginnings, each after a space, and a mapping of each beginning to the pattern of what
    follows it."""
    beginnings = sorted({beginning for begins, _ in rows for beginning in begins.split("|")})
    tree: dict[str, dict[str, list[str]]] = {}
    for beginning in beginnings:
        tree.setdefault(beginning[0], {}).setdefault(beginning[1], []).append(re.escape(beginning[2:]))
    words = "|".join(
        f"{first}(?:{'|'.join(f'{second}(?:{chr(124).join(rests)})' for second, rests in branches.items())})"
        for first, branches in tree.items()
    )
    return re.compile(f" (?:{words})"), _Following(rows)


def _following(rows: Rows, beginning: str) -> re.Pattern[str]:
    """Return one pattern made of all `rows` that may apply to a sentence with this `beginning`."""
    return _joined(_rows_of(rows, beginning))


def _rows_of(rows: Rows, beginning: str) -> list[str]:
    return [pattern for begins, pattern in rows if any(_agree(beginning, other) for other in begins.split("|"))]


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _joined(patterns: Iterable[str]) -> re.Pattern[str]:
    joined = "|".join(patterns)
    for name, part in PARTS.items():
        joined = joined.replace(name, part)
    return re.compile(joined)


_BEGINNING, _FOLLOWING = _compiled((*ENGLISH, *GERMAN, *FRENCH, *SPANISH, *PORTUGUESE_ITALIAN, *RUSSIAN))
_INSTRUCTION_CJK = _joined(JAPANESE_CHINESE)
_CJK_BEGINNINGS = (
    "以前", "これまで", "上記", "前", "今まで", "すべて", "全て", "あらゆる", "元", "先ほど", "従来", "ユーザ",
    "あなた", "アシスタント", "モデル", "エージェント", "ai", "システムプロンプト", "忽略", "无视", "無視", "忘记",
    "忘記", "不要", "抛弃", "别", "切勿", "禁止", "请勿", "从现在", "從現在", "你必须", "이전", "위의", "모든",
    "사용자에게",
)  # fmt: skip
"""The beginnings of the patterns of JAPANESE_CHINESE."""

_BEGINNING_CJK = re.compile(
    f"[{''.join(sorted({one[0] for one in _CJK_BEGINNINGS}))}](?<=(?={'|'.join(_CJK_BEGINNINGS)}).)"
)


def instructions(text: Text) -> Iterator[Place]:
    """Yield the places of instructions to ignore earlier instructions, hide something from people, play a role or send
    data away.

    Ordinary advice to a colleague (`always run the tests`, `do not deploy on Fridays`) is not yielded.
    """
    spaced = _spaced(text.low)
    text.spend(spaced.count(" ") // 20 + (0 if text.is_ascii else len(text.text) // 25))
    places = _with_spaces(text, spaced)
    if (" o " in spaced or " e " in spaced) and (letters := [*_letter_by_letter(text, spaced)]):
        places = iter(apart([*places, *letters]))
    if not text.text.isascii() and _CJK.search(text.text) and any(mark in text.low for mark in _CJK_MARKS):
        places = iter(sorted([*places, *_without_spaces(text)]))
    return places


def may_have_instructions(text: Text) -> bool:
    """Return False only if no line of the text has instructions. This test is quicker than `instructions`."""
    spaced = _spaced(text.low) + " "
    spelt = " o " in spaced or " e " in spaced
    return spelt or _BEGINNING.search(spaced) is not None or _CJK.search(text.text) is not None


def _letter_by_letter(text: Text, spaced: str) -> Iterator[Place]:
    """Yield the places of words of an instruction that are written letter by letter, as in `i g n o r e`."""
    for word in _SPELT:
        position = spaced.find(word)
        while position >= 0:
            text.spend(15)
            first = _LETTERS_BACKWARDS.match(spaced[max(0, position - LONGEST_SPELT) : position + 1][::-1])
            last = _LETTERS.match(spaced, position, position + len(word) + LONGEST_SPELT)
            if first and last:
                yield position - (len(first.group()) - 1), last.end() - 1
                position = spaced.find(word, last.end())
            else:
                position = spaced.find(word, position + 1)


def _with_spaces(text: Text, spaced: str) -> Iterator[Place]:
    low, end = text.low, 0
    for beginning in text.each(_BEGINNING.finditer(spaced), 1):
        start, word = beginning.start(), beginning.group()[1:]
        text.spend(_FOLLOWING.steps(word))
        if start >= end and (match := _FOLLOWING[word].match(low, start)):
            end = match.end()
            yield start, end


def _without_spaces(text: Text) -> Iterator[Place]:
    end = 0
    for beginning in text.each(_BEGINNING_CJK.finditer(text.low), 2):
        start = beginning.start()
        if start >= end and (match := _INSTRUCTION_CJK.match(text.low, start)):
            end = match.end()
            yield start, end


def _spaced(low: str) -> str:
    """Return the text `low` with a space before each word.

    The result is one character longer: its position n is position n - 1 in the text.
    """
    if low.isascii():
        return " " + low.translate(_ASCII_SEPARATORS)
    for separator in _SEPARATORS:
        low = low.replace(separator, " ")
    return " " + _RARE_SEPARATORS.sub(" ", low)
