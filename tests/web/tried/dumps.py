"""Every row of the hub's tables, to see that a try leaves each as it was."""

from django.apps import apps
from django.db import connection


def dump() -> dict[str, list[str]]:
    """{table: its rows as text, sorted} of the whole database, without the sign-ins of browsers."""
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True)]
    found = {}
    for table in sorted({*tables} - {"django_session", "memoryhub_browsersession"}):
        with connection.cursor() as cursor:
            cursor.execute(f'select * from "{table}"')
            found[table] = sorted(map(str, cursor.fetchall()))
    return found
