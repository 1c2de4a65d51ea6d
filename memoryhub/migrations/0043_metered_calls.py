import memoryhub.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0042_copies_of_stores'),
    ]

    operations = [
        migrations.CreateModel(
            name='CallCount',
            fields=[
                ('pk', models.CompositePrimaryKey('command', 'door', 'outcome', blank=True, editable=False, primary_key=True, serialize=False)),
                ('command', memoryhub.models.fields.PathField()),
                ('door', memoryhub.models.fields.PathField()),
                ('outcome', memoryhub.models.fields.PathField()),
                ('count', models.BigIntegerField(default=0)),
                ('micros', models.BigIntegerField(default=0)),
                ('buckets', memoryhub.models.fields.PlainJSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='MeteredChain',
            fields=[
                ('chain', memoryhub.models.fields.IdField(primary_key=True, serialize=False)),
                ('seq', models.BigIntegerField()),
            ],
        ),
    ]
