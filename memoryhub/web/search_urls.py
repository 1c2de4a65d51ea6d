"""The addresses of search, the path finder and the palette."""

from django.urls import path

from memoryhub.web import finder, palette, search

urlpatterns = [
    path("search", search.search, name="search"),
    path("palette", palette.palette, name="palette"),
    path("stores/<slug:store_id>/find", finder.find, name="find"),
]
