"""URL patterns of directories, memories, selections and the trash."""

from django.urls import path

from memoryhub.web.memories import memory, selection, tables, trash, tree

urlpatterns = [
    path("stores/<slug:store_id>/", tree.page, {"path": ""}, name="store"),
    path("stores/<slug:store_id>/tree/<path:path>", tree.page, name="directory"),
    path("stores/<slug:store_id>/children/", tree.children, {"path": ""}, name="tree_children"),
    path("stores/<slug:store_id>/children/<path:path>", tree.children, name="tree_children"),
    path("stores/<slug:store_id>/tree-rename/<path:path>", tree.rename, name="rename_directory"),
    path("stores/<slug:store_id>/tree-delete/<path:path>", tree.delete, name="delete_directory"),
    path("stores/<slug:store_id>/trash", trash.page, name="trash"),
    path("stores/<slug:store_id>/new", memory.new, name="new_memory"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>", memory.page, name="memory"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/edit", memory.edit, name="edit_memory"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/rename", memory.rename, name="rename_memory"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/delete", memory.delete, name="delete_memory"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/download", memory.download, name="download_memory"),
    path("stores/<slug:store_id>/selection", selection.answer, name="selection"),
    path("stores/<slug:store_id>/tables/trash", tables.trash, name="export_trash"),
    path(
        "stores/<slug:store_id>/memories/<slug:memory_id>/tables/versions",
        tables.versions,
        name="export_versions",
    ),
    path(
        "stores/<slug:store_id>/memories/<slug:memory_id>/tables/life-line",
        tables.life,
        name="export_life_line",
    ),
]
