"""URL patterns of the background work."""

from django.urls import path

from memoryhub.web.background import background

urlpatterns = [
    path("settings/background", background.hub_background, name="hub_background"),
    path("settings/background/scrub", background.scrub_now, name="scrub_now"),
]
