"""Compares the blame of a memory with its plain page: 2,000 lines and 500 versions, in one process and one run.

    .venv/bin/python -m benchmarks.blame [--lines 2000] [--versions 500] [--rounds 15]

Makes the versions through the hub's own actions in a fresh SQLite database in a temporary directory: changes in one
place, in several places, and with renames and restores between them. Prints the median of each page and their ratio; on
a shared machine only the ratio is meaningful.
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.conf import settings
from django.core.management import call_command


@contextmanager
def fresh_hub() -> Iterator[None]:
    """Set up a database of this process's own."""
    directory = tempfile.mkdtemp(prefix="memoryhub-benchmark-")
    os.environ |= {"MEMORYHUB_DATA_DIR": directory, "MEMORYHUB_STATIC_ROOT": f"{directory}/static", "DATABASE_URL": ""}
    os.environ |= {"DJANGO_SETTINGS_MODULE": "memoryhub.settings", "MEMORYHUB_URL": "http://127.0.0.1:8000"}
    try:
        django.setup()
        settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
        call_command("migrate", verbosity=0)
        yield
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--versions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with fresh_hub():
        pages = importlib.import_module("benchmarks.blame_pages")  # needs the settings
        worst = pages.measure_all(arguments.lines, arguments.versions, arguments.rounds)
    print(f"worst ratio {worst:.1f} (promised: at most 10)")
    return 0 if worst <= 10 else 1


if __name__ == "__main__":
    sys.exit(main())
