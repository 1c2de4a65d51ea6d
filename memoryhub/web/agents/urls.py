"""URL patterns of agents and keys."""

from django.urls import path

from memoryhub.web.agents import agents, keys, replacing

urlpatterns = [
    path("agents", agents.agents, name="agents"),
    path("tables/agents", agents.table, name="export_agents"),
    path("agents/new", agents.new_agent, name="new_agent"),
    path("agents/<slug:agent_id>", agents.agent, name="agent"),
    path("agents/<slug:agent_id>/edit", agents.edit_agent, name="edit_agent"),
    path("agents/<slug:agent_id>/keys/new", keys.issue_key, name="issue_key"),
    path("keys", keys.every_key, name="keys"),
    path("keys/<slug:key_id>/first-call", keys.first_call, name="first_call"),
    path("keys/<slug:key_id>/replace", replacing.replace_key, name="replace_key"),
    path("keys/<slug:key_id>/revoke", keys.revoke_key, name="revoke_key"),
]
