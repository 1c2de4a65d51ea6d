"""The addresses of blame, sessions and who has seen what."""

from django.urls import path

from memoryhub.web.blame import blame
from memoryhub.web.readers import readers
from memoryhub.web.sessions import session, store_sessions

urlpatterns = [
    path("stores/<slug:store_id>/memories/<slug:memory_id>/blame", blame, name="blame"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/readers", readers, name="readers"),
    path("stores/<slug:store_id>/sessions", store_sessions, name="store_sessions"),
    path("sessions/<slug:session_id>", session, name="session"),
]
