import json
from typing import Any

from django.db import migrations, models

from memoryhub.pure import chain


def write_as_before(apps: Any, schema_editor: Any) -> None:
    """Give entries with a proof the form that they had before: all salts and commitments as JSON."""
    entries = apps.get_model("memoryhub", "AuditEntry").objects
    for head in apps.get_model("memoryhub", "AuditChain").objects.order_by("pk"):
        found = entries.filter(chain=head.pk, proof__isnull=False).order_by("seq")
        for entry in found.iterator(500):
            salts, commitments = chain.unpacked(bytes(entry.proof))
            for field in salts.keys() - commitments.keys():
                value = getattr(entry, field)
                value = json.loads(value) if field == "message" else value
                commitments[field] = chain.commit(bytes.fromhex(salts[field]), value)
            entries.filter(chain=head.pk, seq=entry.seq).update(
                salts=salts, commitments={field: commitments[field] for field in chain.COMMITTED if field in commitments}
            )


class Migration(migrations.Migration):
    """Give entries a column for their salts and commitments as bytes. Those that are there keep theirs as JSON."""

    dependencies = [("memoryhub", "0063_conditions_together")]

    operations = [
        migrations.AddField("auditentry", "proof", models.BinaryField(null=True)),
        migrations.RunPython(migrations.RunPython.noop, write_as_before),
    ]
