"""URL patterns of the dashboards and of their downloads."""

from django.urls import path

from memoryhub.web.dashboards import overview

urlpatterns = [
    path("overview", overview.overview, name="overview"),
    path("overview/export", overview.export_overview, name="export_overview"),
    path("stores/<slug:store_id>/overview", overview.store_overview, name="store_overview"),
    path("stores/<slug:store_id>/overview/export", overview.export_store_overview, name="export_store_overview"),
]
