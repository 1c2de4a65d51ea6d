"""URL patterns of search, the path finder, the palette and saved views."""

from django.urls import path

from memoryhub.web.search import completions, export, finder, palette, saved_views, search

urlpatterns = [
    path("search", search.search, name="search"),
    path("search/export", export.export_search, name="export_search"),
    path("stores/<slug:store_id>/find", finder.find, name="find"),
    path("filters/completions", completions.completions, name="completions"),
    path("palette", palette.palette, name="palette"),
    path("views", saved_views.listing, name="saved_views"),
    path("views/save", saved_views.save, name="save_view"),
    path("views/<slug:view_id>/rename", saved_views.rename, name="rename_view"),
    path("views/<slug:view_id>/delete", saved_views.delete, name="delete_view"),
]
