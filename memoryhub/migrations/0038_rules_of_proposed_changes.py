from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0037_shown_proposals'),
    ]

    operations = [
        migrations.AddField(
            model_name='proposedchange',
            name='rule',
            field=models.BigIntegerField(null=True),
        ),
    ]
