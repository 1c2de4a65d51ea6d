"""The address of the home page."""

from django.urls import path

from memoryhub.web.today import today

urlpatterns = [path("", today.today, name="today")]
