"""URL patterns of the home page."""

from django.urls import path

from memoryhub.web.today import today

urlpatterns = [
    path("", today.today, name="today"),
    path("first-steps/hide", today.hide_first_steps, name="hide_first_steps"),
]
