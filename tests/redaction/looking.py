"""Every place outside the hub where bytes of its database may lie, and what people can download from it."""

import io
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse

from memoryhub.models import Memory, MemoryStore
from tests.support import cluster
from tests.support.directory import run_directory
from tests.support.patience import wait_until


def on_disk() -> dict[str, bytes]:
    """Name -> bytes of the files in which the database lies."""
    return _sqlite_files() if connection.vendor == "sqlite" else _relation_files()


def _sqlite_files() -> dict[str, bytes]:
    """The file, the write-ahead log, its index and whatever else has the name."""
    path = Path(str(connection.settings_dict["NAME"]))
    return {file.name: file.read_bytes() for file in path.parent.glob(path.name + "*")}


def _relation_files() -> dict[str, bytes]:
    """Of the tests' own cluster, once it has written what it keeps in memory; else none."""
    with connection.cursor() as cursor:
        cursor.execute("checkpoint")
        cursor.execute("select setting from pg_settings where name = 'data_directory'")
        directory = cursor.fetchone()
        cursor.execute("select oid from pg_database where datname = current_database()")
        oid = cursor.fetchone()[0]
    base = Path(directory[0] if directory else "/nowhere") / "base" / str(oid)
    if not os.access(base, os.R_OK | os.X_OK):
        return {}
    return {_relation(file.name): file.read_bytes() for file in base.iterdir() if file.is_file()}


def _relation(file: str) -> str:
    """Name the relation that lies in a file, for the message of a test that failed."""
    node = file.split(".", maxsplit=1)[0].split("_", maxsplit=1)[0]
    with connection.cursor() as cursor:
        cursor.execute("select pg_filenode_relation(0, %s)::regclass::text", [int(node) if node.isdigit() else 0])
        found = cursor.fetchone()
    return f"{file} ({found[0] if found else None})"


def rewrite_relations() -> None:
    """Do what `docs/retention.md` tells the administrator of a PostgreSQL server to do.

    `VACUUM FULL` keeps the rows that a transaction which began before could still read, in any database of the server.
    The other processes of the tests have such transactions in theirs, so wait until they have ended.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("select pg_current_xact_id()")
        (now,) = cursor.fetchone()
        wait_until(lambda: _oldest_open(cursor) > int(now), 120)
        cursor.execute("analyze")
        cursor.execute("vacuum full")


def _oldest_open(cursor: Any) -> int:
    """Return the id of the oldest transaction that is open on the server; a session counts from its oldest snapshot."""
    cursor.execute(
        "select pg_snapshot_xmin(pg_current_snapshot()), (select count(*) from pg_stat_activity"
        " where datname = current_database() and backend_xmin is not null and pid <> pg_backend_pid())"
    )
    oldest, reading = cursor.fetchone()
    return 0 if reading else int(oldest)


def columns() -> Iterator[tuple[str, bytes]]:
    """Each column of every table of the hub with all its values as text or as bytes, asked for in SQL."""
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for table in tables:
            for column in connection.introspection.get_table_description(cursor, table):
                name = f'"{table}"."{column.name}"'
                type = column.type_code and connection.introspection.get_field_type(column.type_code, column)
                is_binary = type == "BinaryField"  # the tables of SQLite's planner have no types
                read = name if is_binary else f"cast({name} as text)"
                cursor.execute(f"select {read} from {table} where {name} is not null")
                values = [value if is_binary else str(value).encode("utf-8", "surrogatepass") for (value,) in cursor]
                yield f"{table}.{column.name}", b"\n".join(values)


def dump() -> bytes:
    """What a backup holds: a `pg_dump`, or SQLite's database as SQL."""
    if connection.vendor == "sqlite":
        return "\n".join(connection.connection.iterdump()).encode("utf-8", "surrogatepass")
    told = connection.settings_dict
    command = [cluster._binary("pg_dump"), "-h", str(told["HOST"]), "-p", str(told["PORT"] or 5432)]
    command += ["-U", str(told["USER"]), str(told["NAME"])]
    return subprocess.run(command, capture_output=True, check=True, cwd=run_directory()).stdout


def other_files() -> dict[str, bytes]:
    """What the hub has written beside its database: checkpoints, logs."""
    return {str(file): file.read_bytes() for file in Path(settings.DATA_DIR).rglob("*") if file.is_file()}


def downloads(client: Client, store: MemoryStore) -> Iterator[tuple[str, bytes]]:
    """Everything that somebody can take away from a store."""
    for form in ("csv", "json"):
        yield f"the audit as {form}", _body(client, reverse("export_audit"), {"format": form, "store": store.pk})
        yield f"the trash as {form}", _body(client, reverse("export_trash", args=[store.pk]), {"format": form})
    everything = {"q": "path:/", "store": store.pk, "trash": "yes"}
    yield "what a search finds", _body(client, reverse("export_search"), everything)
    memory = Memory.objects.live().filter(store=store, path__startswith="/names/").order_by("pk")[0]
    address = reverse("export_versions", args=[store.pk, memory.pk])
    yield "the versions of a memory", _body(client, address, {"format": "json"})
    for form in ("zip", "jsonl"):
        asked = {"format": form, "everything": "1", "in": ""}
        body = _body(client, reverse("selection", args=[store.pk]), asked)
        yield f"memories as {form}", _unpacked(body) if form == "zip" else body


def _body(client: Client, address: str, given: dict[str, Any]) -> bytes:
    answer = client.post(address, given)
    assert answer.status_code == 200, (address, answer.status_code)
    return bytes(answer.getvalue())


def _unpacked(body: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return b"\n".join(name.encode() + b"\n" + archive.read(name) for name in archive.namelist())


def pages(client: Client, store: MemoryStore, name_begins: str) -> Iterator[tuple[str, bytes]]:
    """Where paths and texts are looked for, with what the hub keeps in mind of them between two requests."""
    asked: Any = (
        ("search", {}, "path:/heads three"),
        ("find", {"store_id": store.pk}, name_begins),
        ("palette", {}, name_begins),
    )
    for page, parts, words in asked:
        answer = client.get(reverse(page, kwargs=parts), {"q": words, "store": store.pk})
        assert answer.status_code == 200
        yield f"the page {page}", re.sub(rb"</?mark[^>]*>", b"", answer.content)
