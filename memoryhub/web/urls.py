"""URL patterns of the web pages, collected from the `urls.py` of each package."""

from django.urls import include, path

urlpatterns = [
    path("", include("memoryhub.web.today.urls")),
    path("", include("memoryhub.web.accounts.urls")),
    path("", include("memoryhub.web.agents.urls")),
    path("", include("memoryhub.web.stores.urls")),
    path("", include("memoryhub.web.memories.urls")),
    path("", include("memoryhub.web.history.urls")),
    path("", include("memoryhub.web.comments.urls")),
    path("", include("memoryhub.web.audit.urls")),
    path("", include("memoryhub.web.review.urls")),
    path("", include("memoryhub.web.sessions.urls")),
    path("", include("memoryhub.web.claude_runs.urls")),
    path("", include("memoryhub.web.undo.urls")),
    path("", include("memoryhub.web.tried.urls")),
    path("", include("memoryhub.web.search.urls")),
    path("", include("memoryhub.web.dashboards.urls")),
    path("", include("memoryhub.web.background.urls")),
    path("", include("memoryhub.web.erasure.urls")),
    path("", include("memoryhub.web.findings.urls")),
    path("", include("memoryhub.web.retention.urls")),
    path("", include("memoryhub.web.path_rules.urls")),
    path("", include("memoryhub.web.proposals.urls")),
    path("", include("memoryhub.web.transfer.urls")),
    path("", include("memoryhub.web.webhooks.urls")),
    path("", include("memoryhub.web.mail.urls")),
    path("", include("memoryhub.web.common.urls")),
]
