from django.db import migrations, models

import memoryhub.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0059_imported_decisions'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditchain',
            name='key_name',
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name='auditchain',
            name='older_seq',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='auditchain',
            name='older_signature',
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name='installation',
            name='older_keys',
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name='webhook',
            name='keys',
            field=memoryhub.models.fields.PlainJSONField(default=list),
        ),
    ]
