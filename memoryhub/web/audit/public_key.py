"""The public key that verifies a signed download, with the commands for the verification. The page needs no account."""

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from memoryhub.actions.core.audit import signing
from memoryhub.pure import statement
from memoryhub.web.common.request import Request

FILE = "memoryhub-key.pem"


_VERIFY = f"openssl pkeyutl -verify -pubin -inkey {FILE} -rawin"
COMMANDS = (
    f"{_VERIFY} \\\n  -in {statement.NAME} -sigfile {statement.SIGNATURE}",
    f"sha256sum -c {statement.NAME}",
)
"""The commands that check the signature of a statement, and then the file that the statement names."""


@require_safe
def page(request: Request) -> HttpResponse:
    """Show the current public key and the older ones, with the commands that use these keys."""
    current, *older = signing.public_keys()
    address = f"{settings.MEMORYHUB_URL.rstrip('/')}{reverse('public_key_pem')}"
    shown = {"key": current, "older": older, "file": FILE, "address": address, "commands": "\n".join(COMMANDS)}
    return render(request, "audit/public_key.html", shown)


@require_safe
def pem(request: Request, fingerprint: str = "") -> HttpResponse:
    """Send the public key with the `fingerprint` as a PEM file; without a fingerprint, send the current key."""
    keys = signing.public_keys()
    key = next((one for one in keys if one.fingerprint == fingerprint), None) if fingerprint else keys[0]
    if key is None:
        raise Http404
    response = HttpResponse(key.pem, content_type="application/x-pem-file")
    response.headers["Content-Disposition"] = f'attachment; filename="{FILE}"'
    return response
