from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0043_metered_calls'),
    ]

    operations = [
        migrations.AddField(
            model_name='memorystore',
            name='mails_comments',
            field=models.BooleanField(default=False),
        ),
    ]
