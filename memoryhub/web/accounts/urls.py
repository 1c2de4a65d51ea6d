"""URL patterns of people and their accounts."""

from django.urls import path

from memoryhub.web.accounts import (
    browsers,
    passkeys,
    people,
    profile,
    resets,
    second_step,
    sign_in,
    single_sign_on,
    theme,
)

urlpatterns = [
    path("sign-in", sign_in.sign_in, name="sign_in"),
    path("sign-in/provider", single_sign_on.start, name="provider"),
    path("sign-in/provider/back", single_sign_on.back, name="provider_back"),
    path("sign-in/code", second_step.code, name="code"),
    path("sign-in/passkey", passkeys.use, name="use_passkey"),
    path("sign-in/passkey/ask", passkeys.ask, name="ask_passkey"),
    path("sign-out", sign_in.sign_out, name="sign_out"),
    path("invitations/<slug:token>", sign_in.invitation, name="invitation"),
    path("password/forgotten", resets.forgotten, name="forgotten"),
    path("password/<slug:person_id>/<slug:token>", resets.reset, name="reset_password"),
    path("account", profile.account, name="account"),
    path("account/password", profile.change_password, name="change_password"),
    path("account/browsers", browsers.own, name="browsers"),
    path("account/browsers/others/end", browsers.end_others, name="end_other_browsers"),
    path("account/browsers/<slug:browser_id>/end", browsers.end, name="end_browser"),
    path("account/proofs", second_step.page, name="second_step"),
    path("account/proofs/app", second_step.app, name="add_app"),
    path("account/proofs/passkey/begin", passkeys.begin, name="begin_passkey"),
    path("account/proofs/passkey", passkeys.add, name="add_passkey"),
    path("account/proofs/<slug:authenticator_id>/remove", second_step.remove, name="remove_authenticator"),
    path("theme", theme.theme, name="theme"),
    path("people", people.people, name="people"),
    path("people/invite", people.invite, name="invite_person"),
    path("people/invitations/<slug:invitation_id>/withdraw", people.withdraw, name="withdraw_invitation"),
    path("people/<slug:user_id>/active", people.set_active, name="set_active"),
    path("people/<slug:user_id>/deactivate", people.deactivate, name="deactivate"),
    path("people/<slug:user_id>/browsers", browsers.of_person, name="browsers_of"),
    path("people/<slug:user_id>/proofs/remove", second_step.remove_all, name="remove_authenticators"),
    path("people/<slug:user_id>/password-link", people.password_link, name="password_link"),
]
