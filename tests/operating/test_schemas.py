"""Every schema that was ever published migrates with its rows: texts, versions and the hash of each entry stay, its
tables become those of a new hub, its pages open, and the audit verifies. `make schema` makes the database of a release.
"""

import json
import lzma
import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from memoryhub.actions.backups import databases
from memoryhub.models import Memory, MemoryStore
from tests.api import server
from tests.operating.test_refusals_of_commands import assert_refused
from tests.operating.test_starting import free_port, manage as run_manage
from tests.support import starts
from tests.support.fixtures import new_person, signed_in
from tools import schema_fixture

pytestmark = pytest.mark.django_db
IS_SQLITE = "sqlite" in settings.DATABASES["default"]["ENGINE"]
SCHEMAS = starts.ROOT / "tests/schemas"
NAMES = sorted(path.name.removesuffix(".sql.xz") for path in SCHEMAS.glob("*.sql.xz"))
NEWEST = NAMES[-2:]
HUB_PAGES = (
    "", "stores", "review", "findings", "audit", "agents", "people", "acts", "settings/limits", "settings/retention",
)  # fmt: skip
STORE_PAGES = (
    "", "trash", "audit", "findings", "changes", "proposals", "retention", "holds", "receipts", "members",
    "keys", "settings", "claude",
)  # fmt: skip
MEMORY_PAGES = ("", "/versions", "/blame")
APPLIED = "select app || ' ' || name from django_migrations"
CATALOGUE = (
    """select table_name || '.' || column_name, data_type, character_maximum_length, is_nullable, column_default,
    is_identity, collation_name from information_schema.columns where table_schema = 'public'""",
    "select indexname, tablename, indexdef from pg_indexes where schemaname = 'public'",
    """select 'constraint ' || conname, conrelid::regclass::text, pg_get_constraintdef(oid), condeferrable, condeferred,
    convalidated from pg_constraint where connamespace = 'public'::regnamespace""",
)
"""What PostgreSQL says of all columns, indexes and constraints."""


@pytest.mark.push
@pytest.mark.skipif(not IS_SQLITE, reason="the databases are of SQLite")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in NEWEST else pytest.mark.long) for name in NAMES]
)
def test_a_database_of_an_older_version_migrates_with_all_that_is_in_it(name: str, tmp_path: Path) -> None:
    of_new_hub = structure(connection.cursor())
    with old_hub(name, tmp_path) as file:
        manage(tmp_path, "migrate", "--verbosity", "0")
        with closing(sqlite3.connect(file)) as database:
            assert structure(database) == of_new_hub
            assert what_is_missing(database, name) == []
        client = signed_in(new_person("Reader", is_superuser=True))
        assert [page for page in pages() if client.get(page).status_code != 200] == []
        assert "entries are right" in manage(tmp_path, "verify_audit")


@pytest.mark.push
@pytest.mark.skipif(not IS_SQLITE, reason="the databases are of SQLite")
def test_without_its_own_audit_key_a_database_of_an_older_version_stays_as_it_is(tmp_path: Path) -> None:
    """Its migrations would write entries with another key, and the hub would take that key for its own."""
    file = put("0001_initial", tmp_path)
    with closing(sqlite3.connect(file)) as database:
        before = list(database.iterdump())
    other = {"MEMORYHUB_AUDIT_KEY": "x" * 64}
    for command in (["migrate"], ["serve", "--port", str(free_port())]):
        assert_refused(run_manage(tmp_path, *command), 1, "secret_key is not there, and SECRET_KEY is not set.")
        assert_refused(
            run_manage(tmp_path, *command, **schema_fixture.KEYS | other),
            1,
            "MEMORYHUB_AUDIT_KEY is not the audit key of this database",
        )
        with closing(sqlite3.connect(file)) as database:
            assert list(database.iterdump()) == before
        assert not (tmp_path / "audit_key").exists()
    manage(tmp_path, "migrate", "--verbosity", "0")
    assert "entries are right" in manage(tmp_path, "verify_audit")


@pytest.mark.push
@pytest.mark.skipif(not IS_SQLITE, reason="the databases are of SQLite")
@pytest.mark.parametrize("name", ["0001_initial", "0013_imports_that_arrive", *NEWEST[-1:]])
def test_a_database_of_an_older_version_can_be_backed_up_before_it_migrates(name: str, tmp_path: Path) -> None:
    put(name, tmp_path)
    kept = schema_fixture.KEYS | {"MEMORYHUB_BACKUP_PASSPHRASE": "a passphrase that is long enough"}
    other = {"MEMORYHUB_AUDIT_KEY": "x" * 64}
    made = run_manage(tmp_path, "backup", str(tmp_path), **kept)
    assert (made.returncode, len(list(tmp_path.glob("*.backup")))) == (0, 1), made.stderr
    said = "MEMORYHUB_AUDIT_KEY is not the audit key of this database"
    assert_refused(run_manage(tmp_path, "backup", str(tmp_path), **kept | other), 1, said)


@pytest.mark.long
@pytest.mark.both_databases(each_case=True)
@pytest.mark.skipif(IS_SQLITE, reason="the rows are put into PostgreSQL")
@pytest.mark.parametrize("name", NEWEST)
def test_the_rows_of_an_older_version_migrate_on_postgresql(name: str, tmp_path: Path) -> None:
    with server._postgres() as (admin, address):
        admin.execute("create database schemas")
        try:
            url = f"{address}schemas"
            for words in (("memoryhub", name), ("sessions",)):
                manage(tmp_path, "migrate", *words, "--verbosity", "0", url=url)
            with closing(sqlite3.connect(put(name, tmp_path))) as old, psycopg.connect(url) as new:
                for table in json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))["counts"]:
                    copy_rows(table, old, new)
            manage(tmp_path, "migrate", "--verbosity", "0", url=url)
            with psycopg.connect(url) as new:
                assert what_is_missing(new, name) == []
            assert "entries are right" in manage(tmp_path, "verify_audit", url=url)
        finally:
            admin.execute("drop database schemas with (force)")


@pytest.mark.long
@pytest.mark.both_databases
def test_an_empty_database_gets_the_tables_that_the_migrations_make_one_by_one(tmp_path: Path) -> None:
    with empty(tmp_path / "at_once") as at_once, empty(tmp_path / "one_by_one") as one_by_one:
        manage(at_once.directory, "migrate", "--verbosity", "0", url=at_once.url)
        for words in (("contenttypes",), ()):  # the second finds a database that is not empty
            manage(one_by_one.directory, "migrate", *words, "--verbosity", "0", url=one_by_one.url)
        assert len(at_once.shape()) > 100 and at_once.shape() == one_by_one.shape()


class Empty(NamedTuple):
    """A directory for a hub, and the address of its database; empty for SQLite in the directory."""

    directory: Path
    url: str

    def shape(self) -> dict[str, Any]:
        """Return all that makes up the tables, also the migrations that were recorded."""
        if not self.url:
            with closing(sqlite3.connect(self.directory / "memoryhub.sqlite3")) as database:
                return structure(database) | {"applied": sorted(database.execute(APPLIED))}
        with psycopg.connect(self.url) as database:
            return {row[0]: row[1:] for query in (*CATALOGUE, APPLIED) for row in database.execute(query).fetchall()}


@contextmanager
def empty(directory: Path) -> Iterator[Empty]:
    """An empty database of the kind on which the tests run."""
    directory.mkdir()
    if IS_SQLITE:
        yield Empty(directory, "")
        return
    with server._postgres() as (admin, address):
        admin.execute(f"create database {directory.name}")
        try:
            yield Empty(directory, f"{address}{directory.name}")
        finally:
            admin.execute(f"drop database {directory.name} with (force)")


def copy_rows(table: str, old: sqlite3.Connection, new: Any) -> None:
    """Put the rows of a table of SQLite into the same table of PostgreSQL, each value in the type of its column."""
    types = dict(
        new.execute("select column_name, data_type from information_schema.columns where table_name = %s", [table])
    )
    rows = old.execute(f'select * from "{table}"')
    names = [column[0] for column in rows.description]
    columns = ", ".join(f'"{name}"' for name in names)
    statement = f'insert into "{table}" ({columns}) values ({", ".join(["%s"] * len(names))})'
    for row in rows.fetchall():
        values = zip(names, row, strict=True)
        new.execute(
            statement,
            [bool(value) if types[name] == "boolean" and value is not None else value for name, value in values],
        )


def what_is_missing(database: Any, name: str) -> list[str]:
    """What the older version said of its rows, and a database no longer has; rows may have come beside."""
    expected = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    counted = {chain: count for chain, (count, _) in expected["entries"].items()}
    found = schema_fixture.facts(database, expected["counts"], counted)
    fewer = [table for table, count in expected.pop("counts").items() if found["counts"][table] < count]
    return fewer + [part for part, facts in expected.items() if found[part] != facts]


@contextmanager
def old_hub(name: str, directory: Path) -> Iterator[Path]:
    """Let this process be a hub whose database an older version has left, and return the file."""
    file = put(name, directory)
    own = {
        "DATA_DIR": directory,
        "MEMORYHUB_CHECKPOINT_FILE": directory / settings.MEMORYHUB_CHECKPOINT_FILE.name,
        "MEMORYHUB_AUDIT_KEY": schema_fixture.KEYS["MEMORYHUB_AUDIT_KEY"].encode(),
        "SECRET_KEY": schema_fixture.KEYS["SECRET_KEY"],
    }
    with override_settings(**own), databases.on_file(file):
        yield file


def put(name: str, directory: Path) -> Path:
    """Put the database of an older version into a directory, and return its file."""
    file = directory / "memoryhub.sqlite3"
    statements = lzma.decompress((SCHEMAS / f"{name}.sql.xz").read_bytes()).decode("utf-8", "surrogatepass")
    with closing(sqlite3.connect(file)) as database:
        database.executescript(statements)
    return file


def manage(directory: Path, *words: str, url: str = "") -> str:
    """Run a command on this hub, as an administrator does, and return what it says."""
    own = {"MEMORYHUB_DATA_DIR": str(directory), "DATABASE_URL": url} | schema_fixture.KEYS
    command = [sys.executable, "manage.py", *words]
    done = starts.run(command, cwd=starts.ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr
    return str(done.stdout)


def structure(database: Any) -> dict[str, Any]:
    """Return the columns and constraints of each table, in no order, and the statement that makes each index."""
    made = database.execute("select name, sql from sqlite_master where name not like 'sqlite%'")
    return {name: _parts(sql) if sql.startswith("CREATE TABLE") else sql for name, sql in list(made)}


def _parts(statement: str) -> set[str]:
    """Return what the outer parentheses of a statement list, and what is after them."""
    body, _, after = statement.partition("(")[2].rpartition(")")
    parts, depth = [""], 0
    for token in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|.", body, re.DOTALL):
        depth += (token == "(") - (token == ")")
        if (token, depth) == (",", 0):
            parts.append("")
        else:
            parts[-1] += token
    return {part.strip() for part in [*parts, after]}


def pages() -> list[str]:
    """The main pages of the hub, of each memory store and of some memories."""
    found = [f"/{page}" for page in HUB_PAGES]
    for store in MemoryStore.objects.all():
        found += [f"/stores/{store.pk}/{page}" for page in STORE_PAGES]
        for memory in Memory.objects.filter(store=store)[:2]:
            found += [f"/stores/{store.pk}/memories/{memory.pk}{page}" for page in MEMORY_PAGES]
    return found
