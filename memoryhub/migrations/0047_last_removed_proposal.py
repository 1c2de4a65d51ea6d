from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0046_claude_models'),
    ]

    operations = [
        migrations.AddField(
            model_name='memorystore',
            name='last_removed_proposal',
            field=models.BigIntegerField(default=0),
        ),
    ]
