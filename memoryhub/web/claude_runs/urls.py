"""URL patterns of Claude runs."""

from django.urls import path

from memoryhub.web.claude_runs import compare, evaluations, hub, listing, presets, run

urlpatterns = [
    path("stores/<slug:store_id>/claude", listing.page, name="claude_runs"),
    path("stores/<slug:store_id>/claude/new", listing.new, name="new_claude_run"),
    path("stores/<slug:store_id>/claude/evaluations", evaluations.page, name="claude_evaluations"),
    path("stores/<slug:store_id>/claude/evaluations/start", evaluations.start, name="start_claude_evaluation"),
    path("stores/<slug:store_id>/claude/evaluations/stop", evaluations.stop, name="stop_claude_evaluation"),
    path("stores/<slug:store_id>/claude/presets/<slug:claude_preset_id>", presets.page, name="claude_preset"),
    path("stores/<slug:store_id>/claude/<slug:claude_run_id>", run.page, name="claude_run"),
    path("stores/<slug:store_id>/claude/<slug:claude_run_id>/stop", run.stop, name="stop_claude_run"),
    path("stores/<slug:store_id>/claude/<slug:claude_run_id>/continue", run.go_on, name="continue_claude_run"),
    path("stores/<slug:store_id>/claude/<slug:claude_run_id>/propose", run.propose, name="propose_claude_run"),
    path("stores/<slug:store_id>/claude/<slug:claude_run_id>/compare", compare.page, name="compare_claude_runs"),
    path("settings/claude", hub.page, name="hub_claude"),
]
