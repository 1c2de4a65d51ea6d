"""Compares tool calls without webhooks and with three, one of which hangs and one of which is down.

    .venv/bin/python -m benchmarks.webhooks [--operations 3000] [--rounds 5] [--connections 16]

Starts the server on a fresh hub in a temporary directory, and receivers in another process. The same views and edits
are timed in turns, with the webhooks paused and with all three active for every event. On a shared machine only the
ratios are meaningful.
"""

import argparse
import http.server
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.large_store import prepare
from benchmarks.retention import calls, server
from benchmarks.tool_calls import Hub


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers at once, or at `/hangs` only after a minute."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/hangs":
            time.sleep(60)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def receive(port: int) -> None:
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def webhooks_to(store: Any, port: int, down: int) -> list[str]:
    """Create three webhooks that receive every event, and return their ids. At the last one's address nothing
    listens."""
    from memoryhub.actions.webhooks import manage as webhooks
    from memoryhub.actions.webhooks.manage import WebhookSettings
    from memoryhub.pure.webhook_rules.events import EVENTS

    urls = (f"http://127.0.0.1:{port}/answers", f"http://127.0.0.1:{port}/hangs", f"http://127.0.0.1:{down}/")
    return [webhooks.create_webhook(store.pk, WebhookSettings(url[-10:], url, EVENTS, True), act()).pk for url in urls]


def act() -> Any:
    from django.utils import timezone

    from memoryhub.actions.core.audit import Act, Actor
    from memoryhub.models import Door

    return Act(Actor.system("benchmark"), Door.COMMAND, timezone.now())


def set_active(made: list[str], active: bool) -> None:
    from memoryhub.actions.webhooks import manage as webhooks

    for webhook in made:
        (webhooks.resume if active else webhooks.pause)(webhook, act())
    time.sleep(1)


def measure(directory: Path, arguments: argparse.Namespace) -> None:
    from django.core.management import call_command

    from memoryhub.actions.accounts import keys_and_roles as access
    from memoryhub.actions.stores import stores
    from memoryhub.models import Access, Delivery

    call_command("migrate", verbosity=0)
    by: dict[str, Any] = {"actor": act().actor, "door": act().door, "at": act().at}
    store = stores.create_store(stores.StoreSettings("Benchmark"), **by)
    agent = access.create_agent("benchmark", **by)
    hub = Hub(store.pk, access.issue_key(agent, stores=[store], access=Access.WRITE, **by)[1])
    port = free_port()
    receivers = subprocess.Popen([sys.executable, "-m", "benchmarks.webhooks", "--receive", str(port)])
    try:
        made = webhooks_to(store, port, free_port())
        set_active(made, False)
        with server(directory) as (serving, _):
            load.run(serving, hub.fill, 1, 16)
            calls(serving, hub, arguments.connections, arguments.operations)
            ratios = [turn(serving, hub, made, arguments) for _ in range(arguments.rounds)]
            end = time.monotonic() + 60
            while (waits := waiting(made[0])) and time.monotonic() < end:
                time.sleep(0.5)
        print(f"p50 {middle(ratios, 0):.2f}, p99 {middle(ratios, 1):.2f} times those without webhooks (medians)")
        states = Delivery.objects.filter(webhook=made[0])
        print(f"{states.filter(state='delivered').count()} events arrived where somebody answers; {waits} still wait")
    finally:
        receivers.terminate()
        receivers.wait(10)


def turn(port: int, hub: Hub, made: list[str], arguments: argparse.Namespace) -> tuple[float, float]:
    """Measure calls without webhooks, then with them. Print both, and return the ratios of p50 and p99.

    Before it returns, it waits (at most a minute) until the deliveries of the first webhook are sent.
    """
    without = calls(port, hub, arguments.connections, arguments.operations)
    set_active(made, True)
    told = calls(port, hub, arguments.connections, arguments.operations)
    end = time.monotonic() + 60
    while waiting(made[0]) and time.monotonic() < end:
        time.sleep(0.5)
    set_active(made, False)
    for name, measured in (("without", without), ("with", told)):
        p50, p99 = (measured.percentile(part) * 1000 for part in (0.5, 0.99))
        print(f"{name:<9}{measured.rate:>7.0f}/s{p50:>9.2f} ms p50{p99:>9.2f} ms p99")
    return tuple(told.percentile(part) / without.percentile(part) for part in (0.5, 0.99))  # type: ignore[return-value]


def waiting(webhook: str) -> int:
    from memoryhub.models import Delivery

    return Delivery.objects.waiting().filter(webhook=webhook).count()


def middle(ratios: list[tuple[float, float]], which: int) -> float:
    return statistics.median(ratio[which] for ratio in ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--receive", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.receive:
        receive(arguments.receive)
        return
    directory = Path(tempfile.mkdtemp(prefix="memoryhub-benchmark-"))
    try:
        prepare(directory)
        measure(directory, arguments)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
