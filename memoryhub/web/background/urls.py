"""URL patterns of the background work."""

from django.urls import path

from memoryhub.web.background import background, backups

urlpatterns = [
    path("settings/background", background.hub_background, name="hub_background"),
    path("settings/background/scrub", background.scrub_now, name="scrub_now"),
    path("settings/backups", backups.hub_backups, name="hub_backups"),
    path("settings/backups/now", backups.back_up_now, name="back_up_now"),
]
