"""Makes a small database as this version of the hub leaves it, for the test that later versions migrate: `make schema`.

It does each act that the random walks of the tests know; versions without these walks load their demo. Beside the
database, it writes what a reader that knows only SQLite finds in it. `--checkout` makes the database of an older
version, with the code of that checkout.
"""

import argparse
import hashlib
import json
import lzma
import os
import sqlite3
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
KEYS = {
    "MEMORYHUB_AUDIT_KEY": "the audit key of a database that only tests read",
    "SECRET_KEY": "the secret key of a database that only tests read, and no hub",
}
SEED = 11
LEFT_OUT = {"rotate", "delete store"}
"""Acts after which the database has another key than the one that the test knows, or no memories."""
FIRST, LAST = {"erase", "retention"}, {"active", "archive", "entries", "settings"}
"""Acts that a hold refuses, and acts after which others are refused."""
BEGAN = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)
LIKE_OTHERS = (
    "4422", "4426", "4430", "4434", "4438", "4442", "4446", "4450", "4454", "4458", "4462", "4466", "4470", "4474",
    "4478", "reading-2", "reading-3", "reading-4", "reading-5", "reading-6", "reading-7", "scraper-5", "scraper-6",
    "scraper-7", "scraper-8",
)  # fmt: skip
TABLES = "select name from sqlite_master where type = 'table' and name like 'memoryhub%' order by name"
TEXTS = """
    select m.store_id, m.path, t.content from memoryhub_memory m join memoryhub_memorytext t on t.id = m.text_id
    where m.deleted_at is null order by m.store_id, m.path
"""
VERSIONS = """
    select v.store_id, v.memory_id, v.id, v.operation, v.number, v.commitment, t.content from memoryhub_memoryversion v
    left join memoryhub_memorytext t on t.id = v.text_id order by v.store_id, v.memory_id, v.number
"""
ENTRIES = "select chain, seq, hash from memoryhub_auditentry order by chain, seq"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, default=HERE)
    parser.add_argument("--target", type=Path, default=HERE / "tests/schemas")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        file = _made(chosen.checkout.resolve(), Path(directory))
        with sqlite3.connect(file) as database:
            name = _write(database, chosen.target)
    print(f"{name}: {(chosen.target / f'{name}.sql.xz').stat().st_size:,} bytes")


def _made(checkout: Path, directory: Path) -> Path:
    """Fill a database with the code of the checkout, and return its file."""
    os.environ.update(KEYS, MEMORYHUB_DATA_DIR=str(directory), MEMORYHUB_STATIC_ROOT=str(directory))
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryhub.settings"
    os.environ.pop("DATABASE_URL", None)
    os.chdir(checkout)
    sys.path[0] = str(checkout)
    import_module("django").setup()
    settings, management = import_module("django.conf").settings, import_module("django.core.management")
    settings.ALLOWED_HOSTS = ["*"]
    if "calls" in getattr(settings, "MEMORYHUB_LIMITS", ()):
        settings.MEMORYHUB_LIMITS |= {"calls": None}
    management.call_command("migrate", verbosity=0)
    with suppress(ImportError):
        import_module("memoryhub.actions.core.hub.installation").keep_marks()
    try:
        walks = import_module("tests.redaction.test_random_walks")
    except ImportError:
        _load_demo()
    else:
        _walk(walks)
    management.call_command("verify_audit")
    import_module("django.db").connection.close()
    return directory / "memoryhub.sqlite3"


def _load_demo() -> None:
    """Load the demo of the first versions, without the sessions that are like others."""
    load, story = import_module("memoryhub.demo.load"), import_module("memoryhub.demo.story")
    told = [run for run in story.runs() if not run.session.endswith(LIKE_OTHERS)]
    for run in told[2:]:
        run.calls[:] = [call for call in run.calls if call["command"] != "view"]
    story.runs = lambda: told
    load.load(BEGAN)


def _walk(module: Any) -> None:
    """Do each act of people, agents and the hub that the random walks of the tests know, and again if it is refused."""
    refused = (*getattr(module, "REFUSED", ()), *getattr(import_module(module.Walk.__module__), "REFUSED", ()))
    walk = module.Walk(SEED)
    walk.at = BEGAN
    missing = set(module.ACTS) - LEFT_OUT
    for names in (FIRST, missing - LAST, missing - LAST, LAST):
        walk.begin()
        for name in walk.random.sample(sorted(names & missing), len(names & missing)):
            with suppress(*refused):
                module.ACTS[name](walk)
                missing.remove(name)
            walk.at += timedelta(hours=7)
    print(f"refused: {', '.join(sorted(missing)) or 'nothing'}")


# ---------------------------------------------------------------------------------------- what SQLite says of the file


def _write(database: sqlite3.Connection, target: Path) -> str:
    """Write the database and what is in it; return the name of its newest migration."""
    newest = "select max(name) from django_migrations where app = 'memoryhub'"
    name = str(database.execute(newest).fetchone()[0])
    text = "\n".join(line for line in database.iterdump() if "sqlite_stat" not in line and "ANALYZE" not in line)
    packed = lzma.compress(text.encode("utf-8", "surrogatepass"), preset=9 | lzma.PRESET_EXTREME)
    target.mkdir(exist_ok=True)
    (target / f"{name}.sql.xz").write_bytes(packed)
    found = facts(database, [table for (table,) in database.execute(TABLES)])
    (target / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return name


def facts(database: Any, tables: Iterable[str], most: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return how many rows these tables have, and digests of each text, of the versions of each memory store, and of
    the entries of each chain. `most` says for each chain how many entries count; later ones do not."""
    counts = {name: database.execute(f'select count(*) from "{name}"').fetchone()[0] for name in tables}  # noqa: S608
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for store, path, content in database.execute(TEXTS):
        texts[store][path] = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "counts": counts,
        "texts": texts,
        "versions": _digests(database.execute(VERSIONS), {}),
        "entries": _digests(database.execute(ENTRIES), most or {}),
    }


def _digests(rows: Iterable[tuple[Any, ...]], most: Mapping[str, int]) -> dict[str, list[Any]]:
    """Return {the first column: how many rows it has, and a digest of all their other columns}."""
    lines: dict[str, list[str]] = defaultdict(list)
    for first, *rest in rows:
        lines[first].append(json.dumps(rest))
    kept = {name: found[: most.get(name)] for name, found in lines.items()}
    return {name: [len(found), hashlib.sha256("\n".join(found).encode()).hexdigest()] for name, found in kept.items()}


if __name__ == "__main__":
    main()
