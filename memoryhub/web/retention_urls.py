"""The addresses of retention policies, their rehearsals and runs, holds and pins."""

from django.urls import path

from memoryhub.web import holds, retention, retention_explain, retention_policies, retention_rehearsal, runs

_STORE = "stores/<slug:store_id>/"
_RETENTION = _STORE + "retention"
_RUN = "retention/runs/<slug:run_id>"

urlpatterns = [
    path(_RETENTION, retention.page, name="retention"),
    path("settings/retention", retention.hub_page, name="hub_retention"),
    path(_RETENTION + "/new", retention_policies.new, name="new_policy"),
    path("settings/retention/new", retention_policies.new_of_hub, name="new_hub_policy"),
    path("retention/policies/<slug:policy_id>", retention_policies.edit, name="policy"),
    path("retention/policies/<slug:policy_id>/delete", retention_policies.delete, name="delete_policy"),
    path(_RETENTION + "/pattern", retention_explain.pattern, name="retention_pattern"),
    path(_RETENTION + "/explain", retention_explain.page, name="explain_path"),
    path(_RETENTION + "/rehearsal", retention_rehearsal.page, name="rehearsal"),
    path(_RETENTION + "/rehearsal/weeks", retention_rehearsal.weeks, name="rehearsal_weeks"),
    path(_RETENTION + "/rehearsal/export", retention_rehearsal.export, name="export_rehearsal"),
    path(_RETENTION + "/runs", runs.listing, name="runs"),
    path(_RETENTION + "/runs/start", runs.start, name="start_run"),
    path(_RUN, runs.page, name="run"),
    path(_RUN + "/allow", runs.allow, name="allow_run"),
    path(_RUN + "/cancel", runs.cancel, name="cancel_run"),
    path(_RUN + "/undo", runs.undo, name="undo_run"),
    path(_STORE + "holds", holds.page, name="holds"),
    path(_STORE + "holds/<slug:hold_id>/release", holds.release, name="release_hold"),
]
