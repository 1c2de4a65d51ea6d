"""Creates a memory store."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.core.audit import Actor
from memoryhub.actions.stores import stores
from memoryhub.models import Door
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    help = "Creates a memory store and prints its id on the last line."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--description", default="")

    def handle(self, *, name: str, description: str, **_: Any) -> None:
        if not 1 <= len(name.strip()) <= 255 or not name.isprintable():
            raise CommandError("The name must have 1 to 255 printable characters.")
        settings = stores.StoreSettings(name=name.strip(), description=description)
        store = stores.create_store(settings, actor=Actor.system("create_store"), door=Door.COMMAND, at=timezone.now())
        self.stdout.write(store.id)
