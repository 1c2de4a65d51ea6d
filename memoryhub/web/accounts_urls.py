"""The addresses of people, agents, keys and members."""

from django.urls import path

from memoryhub.web import accounts, accounts_profile, accounts_theme, agents, agents_keys, members, members_keys, people

urlpatterns = [
    path("sign-in", accounts.sign_in, name="sign_in"),
    path("sign-out", accounts.sign_out, name="sign_out"),
    path("invitations/<slug:token>", accounts.invitation, name="invitation"),
    path("account", accounts_profile.account, name="account"),
    path("account/password", accounts_profile.change_password, name="change_password"),
    path("theme", accounts_theme.theme, name="theme"),
    path("people", people.people, name="people"),
    path("people/invite", people.invite, name="invite_person"),
    path("people/invitations/<slug:invitation_id>/withdraw", people.withdraw, name="withdraw_invitation"),
    path("people/<slug:user_id>/active", people.set_active, name="set_active"),
    path("people/<slug:user_id>/deactivate", people.deactivate, name="deactivate"),
    path("people/<slug:user_id>/password-link", people.password_link, name="password_link"),
    path("agents", agents.agents, name="agents"),
    path("agents/new", agents.new_agent, name="new_agent"),
    path("agents/<slug:agent_id>", agents.agent, name="agent"),
    path("agents/<slug:agent_id>/edit", agents.edit_agent, name="edit_agent"),
    path("agents/<slug:agent_id>/keys/new", agents_keys.issue_key, name="issue_key"),
    path("keys/<slug:key_id>/revoke", agents_keys.revoke_key, name="revoke_key"),
    path("stores/<slug:store_id>/members", members.members, name="members"),
    path("stores/<slug:store_id>/members/<slug:user_id>/role", members.set_role, name="set_role"),
    path("stores/<slug:store_id>/members/<slug:user_id>/remove", members.remove_member, name="remove_member"),
    path("stores/<slug:store_id>/members/<slug:user_id>/leaving", members.leaving, name="leaving"),
    path(
        "stores/<slug:store_id>/invitations/<slug:invitation_id>/withdraw",
        members.withdraw,
        name="withdraw_store_invitation",
    ),
    path("stores/<slug:store_id>/keys", members_keys.store_keys, name="store_keys"),
]
