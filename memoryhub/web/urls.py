"""The addresses of the people's door."""

from django.urls import include, path

urlpatterns = [
    path("", include("memoryhub.web.accounts_urls")),
    path("", include("memoryhub.web.stores_urls")),
    path("", include("memoryhub.web.history_urls")),
]
