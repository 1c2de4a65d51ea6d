"""The addresses of exports and imports."""

from django.urls import URLPattern, path

from memoryhub.web import exporting, importing, importing_acts, undo

_IMPORTS = "stores/<slug:store_id>/imports"
_IMPORT = _IMPORTS + "/<slug:import_id>"

urlpatterns: list[URLPattern] = [
    path("stores/<slug:store_id>/export", exporting.export_store, name="export_store"),
    path(_IMPORTS, importing.listing, name="imports"),
    path(_IMPORTS + "/new", importing.new, name="new_import"),
    path(_IMPORT, importing.page, name="import_"),
    path(_IMPORT + "/memories/<int:number>", importing.item, name="import_item"),
    path(_IMPORT + "/choose", importing_acts.choose, name="choose_import"),
    path(_IMPORT + "/start", importing_acts.start, name="start_import"),
    path(_IMPORT + "/cancel", importing_acts.cancel, name="cancel_import"),
    path(_IMPORT + "/undo", undo.undo_import, name="undo_import"),
]
