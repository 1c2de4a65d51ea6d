import django.db.models.deletion
import memoryhub.models.fields
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0039_claude_runs'),
    ]

    operations = [
        migrations.CreateModel(
            name='Alarm',
            fields=[
                ('key', memoryhub.models.fields.IdField(primary_key=True, serialize=False)),
                ('since', models.DateTimeField()),
                ('mailed_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='MailChoice',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='mail_choice', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('digest', models.CharField(choices=[('off', 'Nothing'), ('daily', 'A daily digest'), ('at_once', 'A daily digest, and each mention of me at once')], default='at_once', max_length=7)),
                ('hour', models.IntegerField(default=8)),
                ('warnings', models.BooleanField(default=True)),
                ('alarms', models.BooleanField(default=True)),
                ('next_at', models.DateTimeField(db_index=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('test', 'Test message'), ('invitation', 'Invitation'), ('reset', 'New password'), ('mention', 'Mention'), ('digest', 'Daily digest'), ('retention', 'Warning before a removal'), ('alarm', 'Alarm')], max_length=10)),
                ('store', memoryhub.models.fields.IdField(default='')),
                ('about', memoryhub.models.fields.IdField(default='')),
                ('nonce', models.TextField(default='')),
                ('created_at', models.DateTimeField()),
                ('next_at', models.DateTimeField()),
                ('tries', models.BigIntegerField(default=0)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Failed')], default='waiting', max_length=7)),
                ('problem', models.CharField(default='', max_length=40)),
                ('ended_at', models.DateTimeField(null=True)),
                ('to', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['next_at', 'id'], name='mail_due'), models.Index(fields=['ended_at'], name='mail_by_end')],
            },
        ),
    ]
