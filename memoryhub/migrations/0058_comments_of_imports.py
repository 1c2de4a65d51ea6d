from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0057_imported_comments'),
    ]

    operations = [
        migrations.AddField(
            model_name='importitem',
            name='comment_count',
            field=models.BigIntegerField(default=0),
        ),
    ]
