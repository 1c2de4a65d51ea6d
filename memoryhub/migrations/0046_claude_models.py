import memoryhub.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0045_ended_assignments'),
    ]

    operations = [
        migrations.CreateModel(
            name='ClaudeModel',
            fields=[
                ('id', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('max_tokens', models.BigIntegerField(null=True)),
                ('thinks', models.BooleanField(null=True)),
                ('edits', memoryhub.models.fields.PlainJSONField(null=True)),
                ('place', models.BigIntegerField()),
            ],
        ),
    ]
