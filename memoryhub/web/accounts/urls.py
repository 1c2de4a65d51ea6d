"""URL patterns of people and their accounts."""

from django.urls import path

from memoryhub.web.accounts import people, profile, resets, sign_in, theme

urlpatterns = [
    path("sign-in", sign_in.sign_in, name="sign_in"),
    path("sign-out", sign_in.sign_out, name="sign_out"),
    path("invitations/<slug:token>", sign_in.invitation, name="invitation"),
    path("password/forgotten", resets.forgotten, name="forgotten"),
    path("password/<slug:person_id>/<slug:token>", resets.reset, name="reset_password"),
    path("account", profile.account, name="account"),
    path("account/password", profile.change_password, name="change_password"),
    path("theme", theme.theme, name="theme"),
    path("people", people.people, name="people"),
    path("people/invite", people.invite, name="invite_person"),
    path("people/invitations/<slug:invitation_id>/withdraw", people.withdraw, name="withdraw_invitation"),
    path("people/<slug:user_id>/active", people.set_active, name="set_active"),
    path("people/<slug:user_id>/deactivate", people.deactivate, name="deactivate"),
    path("people/<slug:user_id>/password-link", people.password_link, name="password_link"),
]
