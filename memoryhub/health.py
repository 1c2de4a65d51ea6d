"""Whether a call could be served and audited now."""

from django.db import Error, connection
from django.http import HttpRequest, JsonResponse

from memoryhub.actions import sql
from memoryhub.models import AuditChain


def healthz(request: HttpRequest) -> JsonResponse:
    """200 where the database answers and can be written to, else 503."""
    try:
        with connection.wrap_database_errors:
            AuditChain.objects.first()
            writable = sql.is_writable()
    except Error:
        return _unwell("the database does not answer")
    return JsonResponse({"status": "ok"}) if writable else _unwell("the database cannot be written to")


def _unwell(reason: str) -> JsonResponse:
    return JsonResponse({"status": "error", "reason": reason}, status=503)
