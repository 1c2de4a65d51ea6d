"""URL patterns of sessions and readers."""

from django.urls import path

from memoryhub.web.sessions import compare, session
from memoryhub.web.sessions.readers import readers

urlpatterns = [
    path("stores/<slug:store_id>/memories/<slug:memory_id>/readers", readers.readers, name="readers"),
    path("stores/<slug:store_id>/sessions", session.store_sessions, name="store_sessions"),
    path("sessions/compare", compare.compare_sessions, name="compare_sessions"),
    path("sessions/<slug:session_id>", session.session, name="session"),
]
