"""The page of a decision that takes several requests. It sends the next request by itself."""

from collections.abc import Mapping
from typing import Any

from django.core import signing
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone

from memoryhub.pure import ids
from memoryhub.web.common.pages import next_of
from memoryhub.web.common.request import Request

_SALT = "memoryhub.decision"


def number_in(form: QueryDict, name: str) -> int:
    """Return a number that a form passes on; 0 if it is missing or not valid."""
    value = str(form.get(name, ""))
    return int(value) if value.isascii() and value.isdigit() and len(value) < 15 else 0


def group_in(form: QueryDict) -> str:
    """Return the group id that the entries of all requests have in common. The form passes it on from one request to
    the next; if the form has no valid id, return a new one."""
    try:
        return signing.Signer(salt=_SALT).unsign(form.get("group", ""))
    except signing.BadSignature:
        return ids.new_id(ids.GROUP, timezone.now())


def signed_group(group: str) -> str:
    """Return a signed group for a form to pass on.

    The signature prevents a person from adding entries to another person's group.
    """
    return signing.Signer(salt=_SALT).sign(group)


def progress(request: Request, address: str, fields: Mapping[str, Any], said: str, share: int | None) -> HttpResponse:
    """Show the page with the sentence `said` and the progress `share` in per cent (None: not known).

    A script sends `fields` to `address` immediately; without scripts, there is a button.
    """
    shown = {"address": address, "fields": fields, "said": said, "share": share, "next": next_of(request, "review")}
    return render(request, "review/_progress.html" if request.htmx else "review/progress.html", shown)
