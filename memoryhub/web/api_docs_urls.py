"""The address of the API's page."""

from django.urls import path

from memoryhub.web.api_docs import api_docs

urlpatterns = [path("api/docs", api_docs, name="api_docs")]
