"""URL patterns of the guide and of the API documentation."""

from django.urls import path

from memoryhub.web.common import api_docs, guide

urlpatterns = [
    path("api/docs", api_docs.api_docs, name="api_docs"),
    path("guide", guide.guide, name="guide"),
    path("guide/<slug:topic>", guide.guide, name="guide"),
]
