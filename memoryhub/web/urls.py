"""The addresses of the people's door."""

from django.urls import include, path

urlpatterns = [
    path("", include("memoryhub.web.accounts_urls")),
    path("", include("memoryhub.web.stores_urls")),
    path("", include("memoryhub.web.history_urls")),
    path("", include("memoryhub.web.review_urls")),
    path("", include("memoryhub.web.exposure_urls")),
    path("", include("memoryhub.web.time_urls")),
    path("", include("memoryhub.web.search_urls")),
    path("", include("memoryhub.web.selection_urls")),
    path("", include("memoryhub.web.views_urls")),
    path("", include("memoryhub.web.dashboard_urls")),
    path("", include("memoryhub.web.limits_urls")),
    path("", include("memoryhub.web.background_urls")),
    path("", include("memoryhub.web.erasure_urls")),
    path("", include("memoryhub.web.findings_urls")),
    path("", include("memoryhub.web.retention_urls")),
    path("", include("memoryhub.web.transfer_urls")),
    path("", include("memoryhub.web.webhooks_urls")),
    path("", include("memoryhub.web.api_docs_urls")),
]
