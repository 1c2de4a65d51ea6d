"""What a running hub's database holds of a store, told by a process beside the server's.

`python manage.py shell -c "from tests.doors.history import main; main('memstore_…')"` prints it as JSON.
"""

import json

from memoryhub.models import AuditEntry, MemoryVersion, Session


def main(store: str) -> None:
    """The store's entries and versions in the order of their making."""
    sessions = dict(Session.objects.values_list("id", "name"))
    entries = [
        {
            "seq": entry.seq, "actor": entry.actor_id, "session": sessions.get(entry.session or ""),
            "door": entry.door, "command": entry.command, "path": entry.path, "new_path": entry.new_path,
            "ok": entry.ok,
        }
        for entry in AuditEntry.objects.of_chain(store).oldest()
    ]  # fmt: skip
    versions = [
        {
            "seq": version.seq, "memory": version.memory_id, "number": version.number,
            "operation": version.operation, "path": version.path, "text": version.content,
        }
        for version in MemoryVersion.objects.filter(store_id=store).select_related("text").order_by("seq", "path")
    ]  # fmt: skip
    print(json.dumps({"entries": entries, "versions": versions}))  # noqa: T201 - what the tests read
