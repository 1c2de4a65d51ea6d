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
)  # fmt: skip
KEPT, PARTS = 24, 8
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


def search(length: int, lasting: float, chance: Random) -> list[tuple[float, str]]:
    """Return (seconds, piece) of the worst pieces that were found, the worst first."""
    known: dict[str, float] = {piece: seconds(of_length(piece, length)) for piece in PIECES}
    end = time.monotonic() + lasting
    while time.monotonic() < end:
        worst = sorted(known, key=known.__getitem__, reverse=True)[:KEPT]
        one, other = chance.choice(worst), chance.choice((chance.choice(worst), chance.choice(PIECES)))
        at = chance.randrange(len(one) + 1)
        piece = chance.choice((one + other, one[:at] + other + one[at:], one[:at] + one[at + 1 :], one * 2 + other))
        if piece and len(piece) <= PARTS * max(map(len, PIECES)) and piece not in known:
            known[piece] = seconds(of_length(piece, length))
    worst = sorted(known, key=known.__getitem__, reverse=True)[:KEPT]
    again = sorted(((min(known[piece], seconds(of_length(piece, length))), piece) for piece in worst), reverse=True)
    return again[:10]


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
    parser.add_argument("--views", type=int, default=1000)
    parser.add_argument("--text", help="a piece of which the writers' text consists, in place of the worst found")
    arguments = parser.parse_args()
    guide = Path(__file__).parent.parent / "docs" / "guide.md"
    ordinary = of_length(guide.read_text(), arguments.length)
    usual = min(seconds(ordinary) for _ in range(5))
    print(f"an ordinary text of {arguments.length} characters: {usual * 1000:.0f} ms")
    piece = arguments.text
    if not piece:
        worst = search(arguments.length, arguments.seconds, Random(arguments.seed))
        for taken, found in worst:
            print(f"{taken * 1000:>8.0f} ms{taken / usual:>7.1f} times {found!r}")
        piece = worst[0][1]
    beside_writers(of_length(piece, arguments.length - 100), arguments.views)


if __name__ == "__main__":
    main()
