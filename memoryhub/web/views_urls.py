"""The addresses of saved views and of what is new in the audit."""

from django.urls import path

from memoryhub.web import saved_views
from memoryhub.web.tail import memory_news, new_anywhere, new_entries

urlpatterns = [
    path("views", saved_views.listing, name="saved_views"),
    path("views/save", saved_views.save, name="save_view"),
    path("views/<slug:view_id>/rename", saved_views.rename, name="rename_view"),
    path("views/<slug:view_id>/delete", saved_views.delete, name="delete_view"),
    path("stores/<slug:store_id>/audit/new", new_entries, name="new_entries"),
    path("audit/new", new_anywhere, name="new_anywhere"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/news", memory_news, name="memory_news"),
]
