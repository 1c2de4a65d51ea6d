"""The addresses of versions, comparisons and the audit."""

from django.urls import path

from memoryhub.web.audit import audit, store_audit
from memoryhub.web.audit_entry import entry
from memoryhub.web.audit_export import export_audit
from memoryhub.web.compare import compare
from memoryhub.web.versions import version, versions
from memoryhub.web.versions_restore import restore_version

urlpatterns = [
    path("stores/<slug:store_id>/memories/<slug:memory_id>/versions", versions, name="versions"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/compare", compare, name="compare"),
    path("stores/<slug:store_id>/versions/<slug:version_id>", version, name="version"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/restore", restore_version, name="restore_version"),
    path("stores/<slug:store_id>/audit", store_audit, name="store_audit"),
    path("audit", audit, name="audit"),
    path("audit/export", export_audit, name="export_audit"),
    path("audit/<slug:chain>/<int:seq>", entry, name="entry"),
]
