"""URL patterns of retention policies, rehearsals, runs and holds."""

from django.urls import path

from memoryhub.web.retention import certificate, explain, held_export, holds, policies, rehearsal, retention, runs

urlpatterns = [
    path("stores/<slug:store_id>/retention", retention.page, name="retention"),
    path("settings/retention", retention.hub_page, name="hub_retention"),
    path("stores/<slug:store_id>/retention/new", policies.new, name="new_policy"),
    path("settings/retention/new", policies.new_of_hub, name="new_hub_policy"),
    path("retention/policies/<slug:policy_id>", policies.edit, name="policy"),
    path("retention/policies/<slug:policy_id>/delete", policies.delete, name="delete_policy"),
    path("stores/<slug:store_id>/retention/pattern", explain.pattern, name="retention_pattern"),
    path("stores/<slug:store_id>/retention/explain", explain.page, name="explain_path"),
    path("stores/<slug:store_id>/retention/rehearsal", rehearsal.page, name="rehearsal"),
    path("stores/<slug:store_id>/retention/rehearsal/weeks", rehearsal.weeks, name="rehearsal_weeks"),
    path("stores/<slug:store_id>/retention/rehearsal/export", rehearsal.export, name="export_rehearsal"),
    path("stores/<slug:store_id>/retention/certificate", certificate.page, name="retention_certificate"),
    path("stores/<slug:store_id>/retention/runs", runs.listing, name="runs"),
    path("stores/<slug:store_id>/retention/runs/start", runs.start, name="start_run"),
    path("retention/runs/<slug:run_id>", runs.page, name="run"),
    path("retention/runs/<slug:run_id>/allow", runs.allow, name="allow_run"),
    path("retention/runs/<slug:run_id>/cancel", runs.cancel, name="cancel_run"),
    path("retention/runs/<slug:run_id>/undo", runs.undo, name="undo_run"),
    path("stores/<slug:store_id>/holds", holds.page, name="holds"),
    path("stores/<slug:store_id>/holds/<slug:hold_id>/release", holds.release, name="release_hold"),
    path("stores/<slug:store_id>/holds/<slug:hold_id>/export", held_export.page, name="export_held"),
]
