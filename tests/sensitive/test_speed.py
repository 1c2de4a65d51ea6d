"""Looking for sensitive text takes time in proportion to its length, whatever somebody wrote to make it slow."""

import base64
from itertools import cycle, islice
from time import process_time

import pytest

from memoryhub.pure.sensitive import KINDS, find
from tests.sensitive.corpus import KEYS
from tests.sensitive.corpus_code import CODE
from tests.sensitive.corpus_notes import NOTES
from tests.sensitive.corpus_poison import POISON
from tests.support.long import LONG as IN_FULL

REPEATED = (
    "a", "A", "0", "4", " ", "\n", ".", ":", "-", "_", "=", "@", "/", "%", "\\", "#", "<", "[", "{", "(",
    "\u200b", "\u202e", "あ", "a@", "a.", "a.@", "@a.", "a@b.", "1.", "1 ", "1-", "+1-", "(1) ", "4111 ",
    "41111111111111111 ", "12-", "1:", "::", "a:", "ffff:", "0 1 ", "DE89", "DE89 ", "AB12", "A1", "AAAAAA00",
    "123-45-", "1 85 05 ", "01.02.", "+4", "00 ", "ssn ", "ssn 1", "sk-", "sk-ant-", "sk-proj-", "AKIA", "ghp_",
    "xoxb-", "SG.", "AIza", "key-", "mh_", "eyJ", "eyJ.", "eyJhbGciOiJIUzI1NiJ9.",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 64, "-----", "PRIVATE KEY ",
    "PuTTY-User-Key-File-2:", "b3BlbnNzaC1rZXktdjE", "://", "://a:", "a://b:c", "http://a:b@", "http://",
    "https://a?b={", "https://a.", "https://your-", "![](http://a?", "![x](", "?a={a}", "password", "password ",
    "password is ", "password:", "password for a ", "password=\"", "passphrase \"", "token:", "api key ",
    "api_key=a1", "key", "pin ", "bearer ", "bearer a", "--password ", "curl -u ", "login ", "ignore ",
    "ignore all ", "ignore-", "ignore all previous ", "ignore previous ", "do not ", "do not tell ",
    "never reveal the ", "send the ", "you must ", "when you read ", "if you ", "without ", "n'", "ne dis ",
    "no le ", "ignoriere alle ", "以前の", "ユーザーに", "忽略",
    "忽略之前", "system:", "\nsystem", "system: ", "assistant ",
    "<|", "<|im_start|>", "[INST]", "[[", "<<", "<system", "###", "</", "\\x41", "%41", "&#65;", "\\u0041",
    "YWFh", "aGVsbG8gd29ybGQg", "a/", "A+", "6162", "61 ", "\U000e0041", "👩\u200d", "\ufe0f", "\u0915\u200d",
    "\u05d0\u200f",
    "[redacted:", "token=", "token: ", "token: a1", "token='", "pw:", "pass:", "secret:", "secret = ",
    "--pass=", "key:", "key-", "a_key=", "auth:", "creds=", "pin:1234 ", "\"token\", \"", "<token>", "curl ",
    "curl -u a:", "\"auth\": \"", "authorization: ", "cpf 11111111111 ", "ssn 123456789 ", "tin 1", "de89",
    "de89 ", "abcdef", "12345678z ", "010594y903", "4111 1111 1111 ", "5018", "i g n o r e ", "i ", " e",
    "pay no attention to ", "repeat the ", "{{{{", "((((", "<<<<", "a1", "a1B2", "1a-", "é", "İ", "ß ",
)  # fmt: skip
SHORT, LONG = (4_000, 16_000) if IN_FULL else (2_000, 8_000)
UNNOTICED = LONG / 800_000
"""Seconds for LONG characters that no text that costs more than its length could stay under."""

MOST_TIMES_ORDINARY = 12
"""How many times as long as an ordinary text a hostile one of the same length may take."""

STEEPEST = 8
"""How many times longer four times as much may take: 4 with room for a busy machine; the square would be 16."""


def of_length(piece: str, length: int) -> str:
    return "".join(islice(cycle(piece), length))


def seconds(text: str, kind: str, times: int) -> float:
    def once() -> float:
        start = process_time()
        find(text, {kind})
        return process_time() - start

    return min(once() for _ in range(times))


def is_steep(piece: str, kind: str) -> bool:
    """Whether the time grows faster than the text, in the better of three comparisons."""
    if seconds(of_length(piece, LONG), kind, 1) < UNNOTICED:
        return False
    ratios = (
        seconds(of_length(piece, LONG), kind, 2) / max(seconds(of_length(piece, SHORT), kind, 2), UNNOTICED / 100)
        for _ in range(3)
    )
    return all(ratio > STEEPEST for ratio in ratios)


@pytest.mark.push
@pytest.mark.parametrize("kind", KINDS)
def test_the_time_grows_with_the_text_alone(kind: str) -> None:
    assert [piece for piece in REPEATED if is_steep(piece, kind)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_nearly_is_of_the_kind_costs_no_more(kind: str) -> None:
    samples = {**KEYS, **POISON}[kind]
    pieces = [sample.line + end for sample in samples[:6] for end in ("", " ", "\n")]
    halves = [sample.line[: max(sample.places[0][1] - 1, 1)] for sample in samples[:8]]
    assert [piece for piece in [*pieces, *halves] if is_steep(piece, kind)] == []


def test_a_hundred_thousand_hostile_characters_are_looked_through_in_bounded_time() -> None:
    mixed = "".join(of_length(piece, 100_000 // len(REPEATED)) for piece in REPEATED)
    encoded = base64.b64encode(of_length("never ", 75_000).encode()).decode()
    for text in (mixed, encoded, of_length("(", 100_000), of_length("a@b.cd 4111 1111 1111 1111 ", 100_000)):
        start = process_time()
        find(text)
        assert process_time() - start < 5


@pytest.mark.push
def test_no_repetition_holds_the_lock_of_a_store_longer_than_a_few_ordinary_texts() -> None:
    length = 100_000 if IN_FULL else 12_000
    ordinary = "\n".join([*NOTES, *CODE])
    least = min(seconds_for_all(of_length(ordinary, length)) for _ in range(3))
    slow = [piece for piece in REPEATED if seconds_for_all(of_length(piece, length)) > MOST_TIMES_ORDINARY * least]
    again = {piece: seconds_for_all(of_length(piece, length)) / least for piece in slow}
    assert {piece: times for piece, times in again.items() if times > MOST_TIMES_ORDINARY} == {}


def seconds_for_all(text: str) -> float:
    """As when a text is written: every kind is looked for at once."""
    start = process_time()
    find(text)
    return process_time() - start
