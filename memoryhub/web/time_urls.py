"""The addresses of a store as it was, of what changed between two moments, and of restoring and undoing."""

from django.urls import path

from memoryhub.web.changes import changes
from memoryhub.web.moments import moment, moments
from memoryhub.web.moments_memory import moment_memory
from memoryhub.web.undo import restore_moment, undo_entry, undo_session, undo_version

_STORE = "stores/<slug:store_id>/"
_MOMENT = _STORE + "at/<int:seq>/"

urlpatterns = [
    path(_STORE + "moments", moments, name="moments"),
    path(_MOMENT, moment, name="moment"),
    path(_MOMENT + "tree/<path:path>", moment, name="moment_directory"),
    path(_MOMENT + "memories/<slug:memory_id>", moment_memory, name="moment_memory"),
    path(_STORE + "changes", changes, name="changes"),
    path(_MOMENT + "restore", restore_moment, name="restore_moment"),
    path(_STORE + "sessions/<slug:session_id>/undo", undo_session, name="undo_session"),
    path(_STORE + "undo/<int:seq>", undo_entry, name="undo_entry"),
    path(_STORE + "versions/<slug:version_id>/undo", undo_version, name="undo_version"),
]
