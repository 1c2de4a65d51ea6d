from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0056_claude_evaluations'),
    ]

    operations = [
        migrations.AddField(
            model_name='comment',
            name='author_name',
            field=models.TextField(blank=True, default=''),
        ),
    ]
