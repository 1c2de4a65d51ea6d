from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0038_rules_of_proposed_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='ended_by',
            field=models.BigIntegerField(null=True),
        ),
    ]
