"""Looks for the texts that cost the most to screen, and times a view of another store beside writers of the worst.

    .venv/bin/python -m benchmarks.screening [--seconds 60] [--length 100000] [--seed 1]

First it changes texts made of pieces of what the detectors look for, and keeps those that cost the most, as one write
would search them. Prints the ten worst, with the time of an ordinary text of the same length beside them. Then it
starts the server and times views of one store, first alone and then beside four keys that write the worst text to
another store, again and again. On a shared machine only the ratios are meaningful.
"""

import argparse
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPResponse
from itertools import count, cycle, islice
from pathlib import Path
from random import Random

from benchmarks import load
from benchmarks.tool_calls import Hub, running

PIECES = (
    "token:", "token: a1 ", "password: ", "password is ", "password for a ", "key-", "a_key=", "pin:1234 ", "secret = ",
    "пароль ", "密码：", '"auth": "', "bearer ", "curl -u a:", "--password=", "a@", "a@b.cd ", "4111 ", "4111-1111-",
    "4111 1111 1111 1111 ", "+49 30 ", "1.2.", "1.2.3.4 ", "::1 ", "::", ":", "DE89 ", "de89", "eyJ", "eyJhbGci.",
    "https://a:b@", "http://a?b={", "://a:", "-----BEGIN PRIVATE KEY-----", "ignore ", "ignore all previous ",
    "do not ", "忽略之前", "i g n o r e ", "system: ", "user: you must ", "<system>", "[inst]", "\u202e", "\u200e ",
    "\u200b", "\u200b ", "א\u200f", "ก\u200b", "👩\u200d", "1", "12 ", "0123456789 ", "1-", "A1", "AB12", "ssn 1",
    "tin 1", "cpf 11111111111 ", "ssn 123456789 ", "12345678z ", "010594y903", "AKIA", "sk-", "ghp_", "mh_", "YWFh",
    "aGVsbG8gd29ybGQg", "%41", "\\x41", "61 ", "\n", "4111\n1111 ", "card 41111111\n11111111 ", "{{", "<", "=", " ",
    "S1_API_KEY=0f9e8d7c6b5a49382716051423324150\n", "DB_PASSWORD=0f9e8d7c6b5a\n", "passphrase \"", "x-key=", "-key=",
    "cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "\\u0041", "&#65;", "&#x4e2d;", "-s", "_p",
    "1 ", "1\n", "(1) ", "12 0 1 85 05 00 ", "٠", "１", "İ", "ß", "é", "[redacted]", "[redacted:card]", "-us1", "8Q~",
    "AB-", "AB 12 ", "\r\n", "#", "###", "[", ": ", ": you ", "'", '"', ",", ".", "-", "/", "\\", "a ", "e ", "o ",
    "漢", "あなた", "以前の", "한", "не ", "ты ", "du ", "ne ", "wipe ", "throw away previous ", "\ud800",
    "PuTTY-User-Key-File-2:", "AGE-SECRET-KEY-1", "login a password b1 ", "authorization: ", "basic YWFhYTphYWFh ",
    "https://evil.", "?a=", "](http", "DE89370400440532013000 ", "123-45-6789 ", "111.111.111-11 ", "756.1234.5678.97 ",
    "\U000e0041", "क\u200d",
)  # fmt: skip
KEPT, PRINTED, LONGEST = 32, 10, 240
WRITERS = 4


def of_length(piece: str, length: int) -> str:
    return "".join(islice(cycle(piece), length))


def seconds(text: str) -> float:
    """Return the processor time of the search that one write makes."""
    from memoryhub.pure.sensitive import KINDS, STEPS, Action, TooMuch, joined, look

    kinds = frozenset(name for name, kind in KINDS.items() if kind.default != Action.OFF)
    begun = time.process_time()
    with suppress(TooMuch):
        joined(text, look(text, kinds, STEPS))
    return time.process_time() - begun


def search(length: int, lasting: float, chance: Random) -> list[str]:
    """Return the worst pieces that were found. The worst so far are changed again and again."""
    known: dict[str, float] = {piece: seconds(of_length(piece, length)) for piece in PIECES}
    end = time.monotonic() + lasting
    while time.monotonic() < end:
        worst = sorted(known, key=known.__getitem__, reverse=True)[:KEPT]
        piece = changed(chance.choice(worst), chance.choice((chance.choice(worst), chance.choice(PIECES))), chance)
        if piece and len(piece) <= LONGEST and piece not in known:
            known[piece] = seconds(of_length(piece, length))
    return sorted(known, key=known.__getitem__, reverse=True)[:KEPT]


def changed(one: str, other: str, chance: Random) -> str:
    """Return a text that differs from `one` by something of `other`, or by a part that is missing or there twice."""
    at, to = sorted(chance.choices(range(len(one) + 1), k=2))
    return chance.choice(
        (
            one + other,
            one[:at] + other + one[at:],
            one[:at] + one[at + 1 :],
            one[:at] + one[to:],
            one[:at] + other + one[to:],
            one[:to] + one[at:],
            one * chance.randrange(1, 6) + other * chance.randrange(1, 6),
        )
    )


def by_turns(texts: Sequence[str], rounds: int = 5) -> list[float]:
    """Return the least time of each text, all measured in each round: on a busy machine some rounds are slow."""
    return [min(times) for times in zip(*([seconds(text) for text in texts] for _ in range(rounds)), strict=True)]


def beside_writers(text: str, views: int) -> None:
    """Print how long views of one store take, alone and beside writers of this text in another store."""
    with running(16) as served:
        store, other = (served.command("create_store", name) for name in ("Views", "Writers"))
        hub = Hub(store, served.command("issue_key", "reader", "--store", store))
        writers = [
            Hub(other, served.command("issue_key", f"writer {number}", "--store", other)) for number in range(WRITERS)
        ]
        load.run(served.port, hub.fill, 1, 16)
        quiet = load.run(served.port, lambda n, c: hub.view(n + 100_000, c), 1, views)
        stop = threading.Event()
        threads = [threading.Thread(target=write, args=(served.port, one, text, stop)) for one in writers]
        for thread in threads:
            thread.start()
        time.sleep(2)
        beside = load.run(served.port, lambda n, c: hub.view(n + 200_000, c), 1, views)
        stop.set()
        for thread in threads:
            thread.join()
    for name, measured in (("alone", quiet), ("beside writers", beside)):
        p50, p99 = measured.percentile(0.5) * 1000, measured.percentile(0.99) * 1000
        print(f"view, {name:<15}{p50:>8.2f} ms p50{p99:>9.2f} ms p99")
    print(f"p99 beside writers: {beside.percentile(0.99) / quiet.percentile(0.5):.1f} times the quiet p50")


def write(port: int, hub: Hub, text: str, stop: threading.Event) -> None:
    """Create memories of this text over one connection until `stop` is set. An answer may be a refusal."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for number in count():
            path = f"/memories/{hub.turn}/{number}.md"
            connection.sendall(hub.call(number, command="create", path=path, file_text=text))
            response = HTTPResponse(connection)
            response.begin()
            response.read()
            if stop.is_set():
                return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of the search for texts")
    parser.add_argument("--length", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--views", type=int, default=1000, help="how many are timed; 0: none")
    parser.add_argument("--text", help="a piece of which the writers' text consists, in place of the worst found")
    arguments = parser.parse_args()
    guide = Path(__file__).parent.parent / "docs" / "guide.md"
    ordinary = of_length(guide.read_text(), arguments.length)
    pieces = [arguments.text] if arguments.text else search(arguments.length, arguments.seconds, Random(arguments.seed))
    usual, *times = by_turns([ordinary, *(of_length(piece, arguments.length) for piece in pieces)])
    print(f"an ordinary text of {arguments.length} characters: {usual * 1000:.0f} ms")
    worst = sorted(zip(times, pieces, strict=True), reverse=True)[:PRINTED]
    for taken, piece in worst:
        print(f"{taken * 1000:>8.0f} ms{taken / usual:>7.1f} times {piece!r}")
    if arguments.views:
        beside_writers(of_length(worst[0][1], arguments.length - 100), arguments.views)


if __name__ == "__main__":
    main()
