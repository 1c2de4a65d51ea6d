"""The icon under its traditional URL, for programs that ask for it without reading a page."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from memoryhub.web.common.request import Request


@require_safe
@cache_control(public=True, max_age=86_400)
def favicon(request: Request) -> HttpResponse:
    return redirect(static("favicon.svg"))
