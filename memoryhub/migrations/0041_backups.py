from django.db import migrations, models

import memoryhub.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0040_email'),
    ]

    operations = [
        migrations.AddField(
            model_name='hubsettings',
            name='backups',
            field=memoryhub.models.fields.PlainJSONField(default=dict),
        ),
        migrations.AddField(
            model_name='hubsettings',
            name='backup_last',
            field=memoryhub.models.fields.PlainJSONField(default=dict),
        ),
        migrations.AddField(
            model_name='hubsettings',
            name='backup_asked',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='hubsettings',
            name='backup_begun_at',
            field=models.DateTimeField(null=True),
        ),
    ]
