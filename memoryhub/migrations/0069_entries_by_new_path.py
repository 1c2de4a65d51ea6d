"""Adds an index of the entries by their new path: refused renames, and renames of directories."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0068_digests_of_findings")]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                condition=models.Q(("new_path__isnull", False)),
                fields=["chain", "new_path", "seq"],
                name="entry_by_new_path",
            ),
        ),
    ]
