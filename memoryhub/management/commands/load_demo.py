"""Fills an empty hub with demo data."""

from typing import Any

from django.utils import timezone

from memoryhub.demo.load import load
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    help = "Fills a hub that has no memory store with two stores, three agents and three weeks of their calls."

    def handle(self, **_: Any) -> None:
        loaded = load(timezone.now())
        if loaded is None:
            self.stdout.write("The hub has memory stores already; the demo was not loaded.")
        else:
            self.stdout.write(
                f"Demo: {loaded.stores} memory stores, {loaded.agents} agents, {loaded.calls} calls"
                f" ({loaded.errors} of them answered with an error)."
            )
