"""The addresses of limits and what a store uses of them."""

from django.urls import path

from memoryhub.web import limits

urlpatterns = [
    path("stores/<slug:store_id>/limits", limits.limits, name="limits"),
    path("settings/limits", limits.hub_limits, name="hub_limits"),
]
