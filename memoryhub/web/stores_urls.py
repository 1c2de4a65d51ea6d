"""The addresses of memory stores, their directories and their memories."""

from django.urls import path

from memoryhub.web import deleting, memories, stores, trash, tree

_STORE = "stores/<slug:store_id>/"
_MEMORY = _STORE + "memories/<slug:memory_id>"

urlpatterns = [
    path("", stores.listing, name="stores"),
    path("stores/new", stores.new, name="new_store"),
    path(_STORE, tree.page, {"path": ""}, name="store"),
    path(_STORE + "settings", stores.edit, name="edit_store"),
    path(_STORE + "archive", stores.archive, name="archive_store"),
    path(_STORE + "delete", deleting.delete, name="delete_store"),
    path(_STORE + "tree/<path:path>", tree.page, name="directory"),
    path(_STORE + "children/", tree.children, {"path": ""}, name="tree_children"),
    path(_STORE + "children/<path:path>", tree.children, name="tree_children"),
    path(_STORE + "tree-rename/<path:path>", tree.rename, name="rename_directory"),
    path(_STORE + "tree-delete/<path:path>", tree.delete, name="delete_directory"),
    path(_STORE + "trash", trash.page, name="trash"),
    path(_STORE + "new", memories.new, name="new_memory"),
    path(_MEMORY, memories.page, name="memory"),
    path(_MEMORY + "/edit", memories.edit, name="edit_memory"),
    path(_MEMORY + "/rename", memories.rename, name="rename_memory"),
    path(_MEMORY + "/delete", memories.delete, name="delete_memory"),
    path(_MEMORY + "/download", memories.download, name="download_memory"),
]
