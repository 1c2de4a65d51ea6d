"""Who made each invitation. Older invitations name no one and stop working; people must be invited again."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0007_seals")]

    operations = [
        migrations.AddField(
            "invitation",
            "made_by",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("invitation", "made_by_hub", models.BooleanField(default=False, db_default=False)),
    ]
