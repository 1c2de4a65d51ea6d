from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0035_refused_calls'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhook',
            name='is_chat',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='attempt',
            name='said',
            field=models.TextField(db_default='', default=''),
        ),
    ]
