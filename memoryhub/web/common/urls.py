"""URL pattern of the API documentation."""

from django.urls import path

from memoryhub.web.common import api_docs

urlpatterns = [
    path("api/docs", api_docs.api_docs, name="api_docs"),
]
