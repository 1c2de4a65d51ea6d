"""The line that runs a command of the hub in a shell on the hub's machine."""

import shlex

from django.conf import settings
from django.db import connection


def line_of(command: str, *, needs: str = "") -> str:
    """Return the line that runs a command, with the environment variables in `needs`.

    Show it only to administrators: it contains the path of the data directory.
    """
    place, data = shlex.quote(str(settings.BASE_DIR)), shlex.quote(str(settings.DATA_DIR))
    database = "" if connection.vendor == "sqlite" else "DATABASE_URL=… "
    environment = f"{database}{f'{needs} ' if needs else ''}MEMORYHUB_DATA_DIR={data}"
    if settings.IS_INSTALLED:
        return f"{environment} memoryhub {command}"
    return f"cd {place} && {environment} .venv/bin/python manage.py {command}"
