"""URL patterns of exports and imports."""

from django.urls import path

from memoryhub.web.transfer import copy, exports, imports
from memoryhub.web.transfer.imports import actions

urlpatterns = [
    path("stores/<slug:store_id>/export", exports.export_store, name="export_store"),
    path("stores/<slug:store_id>/copy", copy.copy_store, name="copy_store"),
    path("stores/<slug:store_id>/imports", imports.listing, name="imports"),
    path("stores/<slug:store_id>/imports/new", imports.new, name="new_import"),
    path("stores/<slug:store_id>/imports/<slug:import_id>", imports.page, name="import_"),
    path("stores/<slug:store_id>/imports/<slug:import_id>/memories/<int:number>", imports.item, name="import_item"),
    path("stores/<slug:store_id>/imports/<slug:import_id>/choose", actions.choose, name="choose_import"),
    path("stores/<slug:store_id>/imports/<slug:import_id>/folder", actions.leave_folder_out, name="leave_folder_out"),
    path("stores/<slug:store_id>/imports/<slug:import_id>/start", actions.start, name="start_import"),
    path("stores/<slug:store_id>/imports/<slug:import_id>/cancel", actions.cancel, name="cancel_import"),
]
