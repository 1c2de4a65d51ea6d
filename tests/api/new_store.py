"""Makes memory stores, each with a key of an agent that may write there, as commands would, in one short process."""

import os
import sys

import django

if __name__ == "__main__":
    os.umask(0o077)
    django.setup()  # without the checks of a command, which cost more than what is asked for

    from django.utils import timezone

    from memoryhub.actions.core.audit import Actor
    from memoryhub.actions.stores.stores import StoreSettings, create_store
    from memoryhub.management.commands.issue_key import issue
    from memoryhub.models import Access, Door

    for _ in range(int(sys.argv[1])):
        store = create_store(
            StoreSettings(name="Served", description=""), actor=Actor.system("create_store"), door=Door.COMMAND,
            at=timezone.now(),
        )  # fmt: skip
        sys.stdout.write(f"{store.id} {issue('Tester', [store], False, Access.WRITE, None)[1]}\n")
