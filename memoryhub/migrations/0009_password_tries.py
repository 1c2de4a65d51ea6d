"""Counters of password attempts. Browser sessions are now stored under a hash of their key; they stay valid."""

import hashlib

import memoryhub.models.fields
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def hash_keys(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    sessions = apps.get_model("sessions", "Session").objects
    for key in list(sessions.values_list("session_key", flat=True)):
        sessions.filter(session_key=key).update(session_key=hashlib.sha256(key.encode()).hexdigest()[:40])


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0008_who_invites"), ("sessions", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="TryCounter",
            fields=[
                ("id", memoryhub.models.fields.IdField(primary_key=True, serialize=False)),
                ("tries", models.BigIntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.RunPython(hash_keys, migrations.RunPython.noop),
    ]
