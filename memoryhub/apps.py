"""The Django application: its name, its system checks and the setup of each new database connection."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.core.checks import register
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

from memoryhub import checks
from memoryhub.database import connections, planner


class MemoryHubConfig(AppConfig):
    name = "memoryhub"
    verbose_name = "MemoryHub"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register(checks.environment, checks.OWN)
        # The sign-in action writes `last_login` itself, together with its audit entry.
        user_logged_in.disconnect(dispatch_uid="update_last_login")
        connection_created.connect(connections.configure, dispatch_uid="memoryhub.database.connections.configure")
        post_migrate.connect(
            planner.write_statistics, sender=self, dispatch_uid="memoryhub.database.planner.write_statistics"
        )
