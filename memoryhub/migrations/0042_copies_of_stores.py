from django.db import migrations

import memoryhub.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0041_backups'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='copied_from',
            field=memoryhub.models.fields.IdField(null=True),
        ),
    ]
