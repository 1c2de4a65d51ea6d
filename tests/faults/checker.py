"""Compares what clients wrote down with what stands in the database: nothing lost, doubled or falsely acknowledged.

It knows the tables and nothing of the hub's code.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from tests.faults.clients import SHARED, Call
from tests.faults.hub import Hub

Row = tuple[Any, ...]


def rows(hub: Hub, text: str, *values: object) -> list[Row]:
    """What a statement with `?` finds."""
    if hub.url:
        import psycopg

        with psycopg.connect(hub.url) as server:
            return server.execute(text.replace("?", "%s"), values).fetchall()  # type: ignore[arg-type]
    with sqlite3.connect(f"file:{hub.file}?mode=ro", uri=True) as database:
        return database.execute(text, values).fetchall()


def problems(hub: Hub, store: str, calls: Sequence[Call]) -> list[str]:
    """Sentences on everything that is not as the clients were told."""
    entries = rows(
        hub, "select seq, token, command, path, ok, replay_of, message, previous_hash, hash, version"
        " from memoryhub_auditentry where chain = ? order by seq", store,
    )  # fmt: skip
    return [*_chain(entries), *_calls(entries, calls), *_versions(hub, store, entries), *_texts(hub, store, calls)]


def _chain(entries: Sequence[Row]) -> list[str]:
    found = []
    for place, entry in enumerate(entries):
        if entry[0] != place + 1:
            found.append(f"entry {place + 1} is missing")
            break
        if place and entry[7] != entries[place - 1][8]:
            found.append(f"entry {entry[0]} does not follow the one before it")
    return found


def _calls(entries: Sequence[Row], calls: Sequence[Call]) -> list[str]:
    """Each acknowledged call was made once, with that end; each other one once or never; and nothing else was made."""
    found: list[str] = []
    made: dict[str, list[Row]] = defaultdict(list)
    for entry in entries:
        if entry[1] is not None:
            made[entry[1]].append(entry)
    sent = {call.id: call for call in calls}
    found += [f"{token} was made and never sent" for token in made.keys() - sent.keys()]
    for call in calls:
        firsts = [entry for entry in made[call.id] if entry[5] is None]
        if len(firsts) > 1:
            found.append(f"{call.id} was made {len(firsts)} times")
        if call.acknowledged and not firsts:
            found.append(f"{call.id} was acknowledged and is not there")
        for text, is_error in call.acknowledged:
            if firsts and bool(firsts[0][4]) == is_error and call.input["command"] != "view":
                found.append(f"{call.id} was answered {text!r}, and the audit says otherwise")
        if len({text for text, _ in call.acknowledged}) > 1 and call.input["command"] != "view":
            found.append(f"{call.id} was answered in two ways")
        if any(is_error for _, is_error in call.acknowledged):
            found.append(f"{call.id} was refused: {call.acknowledged}")
    return found


def _versions(hub: Hub, store: str, entries: Sequence[Row]) -> list[str]:
    """Each write that succeeded made one version, and no version came of anything else."""
    writes = {entry[0] for entry in entries if entry[2] in WRITES and entry[4] and entry[5] is None}
    made = Counter(seq for (seq,) in rows(hub, "select seq from memoryhub_memoryversion where store_id = ?", store))
    found = [f"entry {seq} made {made[seq]} versions" for seq in sorted(writes) if made[seq] != 1]
    return found + [f"a version was made by entry {seq}, which is no write" for seq in made.keys() - writes]


WRITES = frozenset({"create", "insert", "str_replace", "delete"})


def _texts(hub: Hub, store: str, calls: Sequence[Call]) -> list[str]:
    """What stands in the memories is what the acknowledged calls wrote."""
    live = dict(
        rows(
            hub, "select m.path, t.content from memoryhub_memory m join memoryhub_memorytext t on t.id = m.text_id"
            " and t.store_id = m.store_id where m.store_id = ? and m.deleted_at is null", store,
        )
    )  # fmt: skip
    found: list[str] = []
    lines = Counter(live.get(SHARED.removeprefix("/memories"), "").splitlines())
    expected: dict[str, str | None] = {}
    unsure: set[str] = set()
    for call in calls:
        path, command = call.input["path"].removeprefix("/memories"), call.input["command"]
        if command == "insert":
            line, count = call.input["insert_text"].strip(), lines[call.input["insert_text"].strip()]
            if count > 1 or (call.acknowledged and not count):
                found.append(f"the line {line!r} stands {count} times")
        elif command in WRITES and path != SHARED.removeprefix("/memories"):
            if not call.acknowledged:
                unsure.add(path)
            expected[path] = _after(expected.get(path), call)
    for path, text in expected.items():
        if path not in unsure and live.get(path) != text:
            found.append(f"{path} is {live.get(path)!r} and should be {text!r}")
    return found


def _after(text: str | None, call: Call) -> str | None:
    given = call.input
    if given["command"] == "create":
        return str(given["file_text"])
    if given["command"] == "delete" or text is None:
        return None
    return text.replace(given["old_str"], given["new_str"], 1)
