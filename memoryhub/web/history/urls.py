"""URL patterns of versions, comparisons, blame, changes and past moments."""

from django.urls import path

from memoryhub.web.history import blame, changes, compare, moments, restore, versions, viewed
from memoryhub.web.history.moments import memory

urlpatterns = [
    path("stores/<slug:store_id>/memories/<slug:memory_id>/versions", versions.versions, name="versions"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/compare", compare.compare, name="compare"),
    path("stores/<slug:store_id>/versions/<slug:version_id>", versions.version, name="version"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/restore", restore.restore_version, name="restore_version"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/blame", blame.blame, name="blame"),
    path("stores/<slug:store_id>/moments", moments.moments, name="moments"),
    path("stores/<slug:store_id>/at/<int:seq>/", moments.moment, name="moment"),
    path("stores/<slug:store_id>/at/<int:seq>/tree/<path:path>", moments.moment, name="moment_directory"),
    path(
        "stores/<slug:store_id>/at/<int:seq>/memories/<slug:memory_id>",
        memory.moment_memory,
        name="moment_memory",
    ),
    path("stores/<slug:store_id>/changes", changes.changes, name="changes"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/viewed", viewed.mark_viewed, name="viewed"),
]
