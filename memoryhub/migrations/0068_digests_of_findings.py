"""Adds a choice of what comes by e-mail: a digest of open findings alone. No row and no table changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0067_inputs_without_their_texts")]

    operations = [
        migrations.AlterField(
            "mailchoice",
            "digest",
            models.CharField(
                choices=[
                    ("off", "Nothing"),
                    ("danger", "A daily digest, of open findings alone"),
                    ("daily", "A daily digest"),
                    ("at_once", "A daily digest, and each mention of me at once"),
                ],
                default="at_once",
                max_length=7,
            ),
        )
    ]
