"""Runs the retention policies now, or prints what they would remove."""

from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions import pace
from memoryhub.actions.retention import rehearsal, runs
from memoryhub.actions.retention.rehearsal import Item, Totals
from memoryhub.models import Door, MemoryStore, RunState
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    help = "Applies the retention policies: moves memories to the trash, and permanently removes older ones from it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--store", help="one memory store's id (default: all, and the hub's own audit)")
        parser.add_argument("--dry-run", action="store_true", help="print what would be removed, and remove nothing")
        parser.add_argument("--allow", action="store_true", help="continue where a guard would stop and ask")

    def handle(self, *, store: str | None, dry_run: bool, allow: bool, **_: Any) -> None:
        if store is not None and not MemoryStore.objects.filter(pk=store).exists():
            raise CommandError(f"There is no memory store {store}.")
        now, refused = timezone.now(), []
        for store_id in [store] if store else [*MemoryStore.objects.by_name().values_list("pk", flat=True), None]:
            if dry_run:
                self._rehearse(store_id, now)
            else:
                refused += self._run(store_id, now, allow)
        if refused:
            raise CommandError("\n".join(refused))

    def _rehearse(self, store_id: str | None, at: datetime) -> None:
        counted = rehearsal.totals(self._printed(rehearsal.rehearse(store_id, at)))
        self.stdout.write(f"{store_id or 'hub'}: {_sentence(counted)} would go.")

    def _printed(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield the items unchanged, after printing each."""
        for item in items:
            what = item.path or "audit entries"
            self.stdout.write(
                f"{item.removal} {what} ({item.count}; {item.rule} {item.days}, since {item.since:%F %T})"
            )
            yield item

    def _run(self, store_id: str | None, at: datetime, allow: bool) -> list[str]:
        """Do the retention run of a store (None: of the hub) to its end and print the totals; return an empty list.

        If the run waits for permission, `allow` gives it; without `allow`, return a sentence that says so.
        """
        act = Act(Actor.system("expire_memories"), Door.COMMAND, at)
        try:
            run = runs.start(store_id, act, at)
        except runs.NothingDue:
            self.stdout.write(f"{store_id or 'hub'}: nothing is due.")
            return []
        except runs.AlreadyOpen as error:
            run = error.run
        if run.state == RunState.WAITING and allow:
            runs.allow(run.pk, act)
        elif run.state == RunState.WAITING:
            why = "the clock moved" if run.guard == "clock" else f"{run.expected} items would go at once"
            return [f"{store_id or 'hub'}: {why}. Look at it with --dry-run, then use --allow. Nothing was removed."]
        with pace.giving_way(to_other_processes=True):
            while not figures.catch_up():
                pass
            while runs.step(run.pk, timezone.now()):
                pass
        run.refresh_from_db()
        counted = Totals(run.expired, run.purged, run.versions, run.entries, run.bytes)
        self.stdout.write(f"{store_id or 'hub'}: {_sentence(counted)} went; {run.skipped} left.")
        return []


def _sentence(counted: Totals) -> str:
    return (
        f"{counted.memories} memories into the trash, {counted.purged} for good, {counted.versions} old versions, "
        f"{counted.entries} audit entries ({counted.bytes} bytes)"
    )
