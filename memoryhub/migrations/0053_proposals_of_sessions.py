from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0052_authenticators'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='proposal',
            index=models.Index(fields=['store', 'agent', 'session', 'opened_at'], name='proposal_of_session'),
        ),
    ]
