from django.db import migrations

import memoryhub.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0038_rules_of_proposed_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='copied_from',
            field=memoryhub.models.fields.IdField(null=True),
        ),
    ]
