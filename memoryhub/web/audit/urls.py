"""URL patterns of the audit."""

from django.urls import path

from memoryhub.web.audit import entries, entry, export, public_key, tail, verified

urlpatterns = [
    path("stores/<slug:store_id>/audit", entries.store_audit, name="store_audit"),
    path("audit", entries.audit, name="audit"),
    path("audit/verify", verified.verify_now, name="verify_now"),
    path("audit/export", export.export_audit, name="export_audit"),
    path("audit/key", public_key.page, name="public_key"),
    path("audit/key.pem", public_key.pem, name="public_key_pem"),
    path("audit/key/<slug:fingerprint>.pem", public_key.pem, name="older_public_key"),
    path("audit/<slug:chain>/<int:seq>", entry.entry, name="entry"),
    path("stores/<slug:store_id>/audit/new", tail.new_entries, name="new_entries"),
    path("audit/new", tail.new_anywhere, name="new_anywhere"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/news", tail.memory_news, name="memory_news"),
]
