"""URL patterns of tried calls and replayed sessions."""

from django.urls import path

from memoryhub.web.tried import call, session

urlpatterns = [
    path("stores/<slug:store_id>/try", call.page, name="try_call"),
    path("stores/<slug:store_id>/sessions/<slug:session_id>/replay", session.page, name="replay_session"),
]
