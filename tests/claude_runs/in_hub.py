"""Does something with a Claude run in the hub of the environment, as its pages would, in one short process."""

import json
import os
import sys

import django

if __name__ == "__main__":
    os.umask(0o077)
    django.setup()

    from django.utils import timezone

    from memoryhub.actions.accounts import keys_and_roles, people
    from memoryhub.actions.claude_runs import runs
    from memoryhub.actions.core.audit import Act, Actor
    from memoryhub.models import AuditEntry, ClaudeEvent, ClaudeRun, Door, MemoryStore, Role, User

    store, what = MemoryStore.objects.get(pk=sys.argv[1]), sys.argv[2]
    at = timezone.now()
    if what == "start":
        by = {"actor": Actor.system("tests"), "door": Door.COMMAND, "at": at}
        alice = people.create_user("alice@example.com", name="Alice", password="correct horse battery", **by)
        keys_and_roles.set_role(store, alice, Role.ADMIN, **by)
        act = Act(Actor.person(alice), Door.WEB, at)
        runs.start(store.id, runs.Asked("claude-sonnet-5-5", "Help me."), alice, act)
    elif what == "continue":
        run, alice = ClaudeRun.objects.get(), User.objects.get()
        runs.go_on(run.pk, store.id, "", Act(Actor.person(alice), Door.WEB, at))
    else:
        run = ClaudeRun.objects.get()
        events = ClaudeEvent.objects.of_run(run.pk)
        calls = AuditEntry.objects.of_chain(store.id).filter(command="create", replay_of=None, actor_kind="key")
        found = {
            "state": run.state, "worker": run.worker, "created": calls.count(), "tokens": run.tokens,
            "events": [event.kind for event in events.filter(is_cut=False)],
        }  # fmt: skip
        sys.stdout.write(json.dumps(found))
