"""URL patterns of e-mail."""

from django.urls import path

from memoryhub.web.mail import choices, hub

urlpatterns = [
    path("account/email", choices.page, name="mail_choices"),
    path("unsubscribe/<str:token>", choices.end, name="end_mail"),
    path("settings/email", hub.page, name="hub_mail"),
    path("settings/email/test", hub.test, name="test_mail"),
]
