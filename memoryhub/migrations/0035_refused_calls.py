from django.db import migrations, models

import memoryhub.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0034_cases_of_holds'),
    ]

    operations = [
        migrations.CreateModel(
            name='RefusedCalls',
            fields=[
                ('pk', models.CompositePrimaryKey('store', 'key', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('store', models.ForeignKey(db_index=False, on_delete=models.deletion.CASCADE, related_name='+', to='memoryhub.memorystore')),
                ('key', memoryhub.models.fields.IdField()),
                ('day', models.DateField()),
                ('count', models.BigIntegerField(default=0)),
                ('last_at', models.DateTimeField()),
            ],
            options={'abstract': False},
        ),
    ]
