"""The line with which a command of the hub is run in a shell of its machine."""

import shlex

from django.conf import settings
from django.db import connection


def line_of(command: str, *, needs: str = "") -> str:
    """Return the line of a command, after the variables that it `needs`. It contains the path of the data directory, so
    only administrators see it."""
    place, data = shlex.quote(str(settings.BASE_DIR)), shlex.quote(str(settings.DATA_DIR))
    database = "" if connection.vendor == "sqlite" else "DATABASE_URL=… "
    environment = f"{database}{f'{needs} ' if needs else ''}MEMORYHUB_DATA_DIR={data}"
    if settings.IS_INSTALLED:
        return f"{environment} memoryhub {command}"
    return f"cd {place} && {environment} .venv/bin/python manage.py {command}"
