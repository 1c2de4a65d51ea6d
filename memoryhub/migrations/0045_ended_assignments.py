from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0044_quoted_comments'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='ended_by',
            field=models.BigIntegerField(null=True),
        ),
    ]
