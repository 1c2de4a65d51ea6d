"""The addresses of acts on several memories at once, of the trash, and of tables for a person's disk."""

from django.urls import path

from memoryhub.web import selection, selection_tables

_STORE = "stores/<slug:store_id>/"

urlpatterns = [
    path(_STORE + "selection", selection.answer, name="selection"),
    path(_STORE + "tables/trash", selection_tables.trash, name="export_trash"),
    path(_STORE + "memories/<slug:memory_id>/tables/versions", selection_tables.versions, name="export_versions"),
    path("tables/agents", selection_tables.agents, name="export_agents"),
]
