import django.db.models.deletion
import memoryhub.models.fields
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0060_audit_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='hubsettings',
            name='second_person',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='mail',
            name='kind',
            field=models.CharField(choices=[('test', 'Test message'), ('invitation', 'Invitation'), ('reset', 'New password'), ('mention', 'Mention'), ('digest', 'Daily digest'), ('retention', 'Warning before a removal'), ('alarm', 'Alarm'), ('second', 'Second person')], max_length=10),
        ),
        migrations.CreateModel(
            name='ActRequest',
            fields=[
                ('id', memoryhub.models.fields.IdField(primary_key=True, serialize=False)),
                ('act', models.CharField(max_length=40)),
                ('store', memoryhub.models.fields.IdField(null=True)),
                ('path', models.TextField()),
                ('content', models.TextField(null=True)),
                ('digest', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('allowed', 'Allowed'), ('refused', 'Refused'), ('withdrawn', 'Withdrawn'), ('used', 'Used')], default='waiting', max_length=9)),
                ('decided_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
    ]
