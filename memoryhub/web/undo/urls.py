"""URL patterns of undo and restore."""

from django.urls import path

from memoryhub.web.undo import undo

urlpatterns = [
    path("stores/<slug:store_id>/at/<int:seq>/restore", undo.restore_moment, name="restore_moment"),
    path("stores/<slug:store_id>/sessions/<slug:session_id>/undo", undo.undo_session, name="undo_session"),
    path("stores/<slug:store_id>/undo/<int:seq>", undo.undo_entry, name="undo_entry"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/undo", undo.undo_version, name="undo_version"),
    path("stores/<slug:store_id>/imports/<slug:import_id>/undo", undo.undo_import, name="undo_import"),
]
