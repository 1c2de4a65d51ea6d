import memoryhub.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0058_comments_of_imports'),
    ]

    operations = [
        migrations.AddField(
            model_name='proposal',
            name='origin',
            field=memoryhub.models.fields.PlainJSONField(null=True),
        ),
        migrations.AddField(
            model_name='proposedchange',
            name='became',
            field=memoryhub.models.fields.IdField(null=True),
        ),
        migrations.AddIndex(
            model_name='proposedchange',
            index=models.Index(condition=models.Q(('became__isnull', False)), fields=['store', 'became'], name='proposed_change_became'),
        ),
    ]
