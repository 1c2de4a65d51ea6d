from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0064_proofs_of_entries'),
    ]

    operations = [
        migrations.AddField(
            model_name='memorystore',
            name='records_views',
            field=models.BooleanField(default=False),
        ),
    ]
