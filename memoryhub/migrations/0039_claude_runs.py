import django.db.models.deletion
import memoryhub.models.fields
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0038_rules_of_proposed_changes'),
    ]

    operations = [
        migrations.CreateModel(
            name='ClaudeDay',
            fields=[
                ('day', models.DateField(primary_key=True, serialize=False)),
                ('tokens', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name='agent',
            name='claude_for',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='hubsettings',
            name='claude_role',
            field=models.CharField(blank=True, db_default='admin', default='admin', max_length=7),
        ),
        migrations.CreateModel(
            name='ClaudeRun',
            fields=[
                ('id', memoryhub.models.fields.IdField(primary_key=True, serialize=False)),
                ('agent', memoryhub.models.fields.IdField()),
                ('key', memoryhub.models.fields.IdField()),
                ('model', models.CharField(max_length=100)),
                ('system', models.TextField(blank=True, default='')),
                ('task', models.TextField()),
                ('options', memoryhub.models.fields.PlainJSONField(default=dict)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('interrupted', 'Interrupted'), ('failed', 'Failed'), ('over_budget', 'Over budget')], default='waiting', max_length=11)),
                ('problem', models.CharField(blank=True, default='', max_length=30)),
                ('stop_asked', models.BooleanField(default=False)),
                ('worker', models.CharField(blank=True, default='', max_length=60)),
                ('seen_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('revision', models.BigIntegerField(default=0)),
                ('events', models.BigIntegerField(default=0)),
                ('turns', models.BigIntegerField(default=0)),
                ('input_tokens', models.BigIntegerField(default=0)),
                ('output_tokens', models.BigIntegerField(default=0)),
                ('tokens', models.BigIntegerField(default=0)),
                ('held', models.BigIntegerField(default=0)),
                ('budget', models.BigIntegerField(null=True)),
                ('context', models.BigIntegerField(default=0)),
                ('started_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('store', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryhub.memorystore')),
            ],
        ),
        migrations.CreateModel(
            name='ClaudeEvent',
            fields=[
                ('pk', models.CompositePrimaryKey('run', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.BigIntegerField()),
                ('kind', models.CharField(choices=[('message', 'Message'), ('text', 'Text'), ('thinking', 'Thinking'), ('compaction', 'Summary'), ('call', 'Call'), ('turn', 'Answer'), ('problem', 'Problem')], max_length=10)),
                ('at', models.DateTimeField()),
                ('content', memoryhub.models.fields.PlainJSONField(default=dict)),
                ('seq', models.BigIntegerField(null=True)),
                ('is_open', models.BooleanField(default=False)),
                ('is_cut', models.BooleanField(default=False)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memoryhub.clauderun')),
            ],
        ),
        migrations.AddIndex(
            model_name='clauderun',
            index=models.Index(fields=['store', 'id'], name='claude_run_of_store'),
        ),
        migrations.AddIndex(
            model_name='clauderun',
            index=models.Index(fields=['state'], name='claude_run_by_state'),
        ),
    ]
