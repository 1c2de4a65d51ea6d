"""The addresses of the dashboards and their tables."""

from django.urls import path

from memoryhub.web import dashboards

urlpatterns = [
    path("overview", dashboards.overview, name="overview"),
    path("overview/export", dashboards.export_overview, name="export_overview"),
    path("stores/<str:store_id>/overview", dashboards.store_overview, name="store_overview"),
    path("stores/<str:store_id>/overview/export", dashboards.export_store_overview, name="export_store_overview"),
]
