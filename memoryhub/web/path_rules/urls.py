"""URL patterns of path rules."""

from django.urls import path

from memoryhub.web.path_rules import edit, rules

urlpatterns = [
    path("stores/<slug:store_id>/path-rules", rules.page, name="path_rules"),
    path("stores/<slug:store_id>/path-rules/edit", edit.page, name="edit_path_rules"),
]
