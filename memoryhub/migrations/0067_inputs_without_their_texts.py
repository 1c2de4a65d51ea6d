"""Says that the inputs of new entries may lack a text, which their versions have.

No row and no table changes. An older program, which would take such an input for all of it, refuses the database.
"""

from typing import Any

from django.db import migrations

from memoryhub.models.inputs import InputField, lacks_text


def write_whole(apps: Any, schema_editor: Any) -> None:
    """Give each input its text again."""
    entries = apps.get_model("memoryhub", "AuditEntry").objects
    for head in apps.get_model("memoryhub", "AuditChain").objects.order_by("pk"):
        lacking = entries.filter(lacks_text(), chain=head.pk).order_by("seq").values_list("seq", flat=True)
        for seq in list(lacking):
            entry = entries.filter(chain=head.pk, seq=seq)
            entry.update(input=entry.values_list("input", flat=True).get())


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0066_states_of_alarms")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.AlterField("auditentry", "input", InputField(null=True))]
        ),
        migrations.RunPython(migrations.RunPython.noop, write_whole),
    ]
