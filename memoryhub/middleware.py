"""Middleware. The first answers programs; the others are for people: they set headers and the time zone of each
request."""

import secrets
import zoneinfo
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit, urlunsplit

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed, HttpResponseRedirect
from django.middleware.gzip import GZipMiddleware
from django.urls import is_valid_path, reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.encoding import escape_uri_path, iri_to_uri
from django.utils.http import escape_leading_slashes

from memoryhub.doors import door_at
from memoryhub.machines.errors import Problem, log_refusal
from memoryhub.pure import ids, proxies, request_ids
from memoryhub.web.accounts import known_browser, proxy_sign_in, single_sign_on
from memoryhub.web.common import errors, shown_texts
from memoryhub.web.search.keys import WHOLE, without_keys

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def machines_door(get_response: GetResponse) -> GetResponse:
    """Answer programs with JSON, without the middleware after this one, which only people need."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        door = door_at(request.path_info)
        if door is None:
            return get_response(request)
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            response = door.refusal(Problem.plain_http())
            log_refusal(request, response, response.headers["request-id"])
            return response
        return door.answer(request)

    return middleware


def request_id(get_response: GetResponse) -> GetResponse:
    """Give each request for a page an id, and write the id into a header of the answer and into the log."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        own = ids.new_id(ids.REQUEST, timezone.now())
        request_ids.current.set(own)
        response = get_response(request)
        response.headers["request-id"] = own
        return response

    return middleware


def forwarded_headers(get_response: GetResponse) -> GetResponse:
    """Remove X-Forwarded-Proto and X-Forwarded-For unless a trusted proxy sent the request: any client can write these
    headers.

    If a trusted proxy sent the request, keep only one protocol in X-Forwarded-Proto: the one that the outermost trusted
    proxy reports.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not proxies.is_trusted(str(request.META.get("REMOTE_ADDR") or ""), settings.TRUSTED_PROXIES):
            request.META.pop("HTTP_X_FORWARDED_PROTO", None)
            request.META.pop("HTTP_X_FORWARDED_FOR", None)
        elif "HTTP_X_FORWARDED_PROTO" in request.META:
            request.META["HTTP_X_FORWARDED_PROTO"] = proxies.protocol_of(request.META, settings.TRUSTED_PROXIES)
        return get_response(request)

    return middleware


def private_answers(get_response: GetResponse) -> GetResponse:
    """Forbid browsers and proxies to cache an answer or guess its type. A static file has its own header for how long
    it is cached."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return middleware


def compressed_pages(get_response: GetResponse) -> GetResponse:
    """Compress pages for browsers that accept it. Django adds random bytes, so that the length does not reveal what is
    on a page."""
    compressor = GZipMiddleware(get_response)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return compressor.process_response(request, response)

    return middleware


def no_nul(get_response: GetResponse) -> GetResponse:
    """Answer 404 to an address with a NUL: no address of the hub has one, and PostgreSQL refuses it in a query."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return errors.not_found(request)
        return get_response(request)

    return middleware


def no_keys(get_response: GetResponse) -> GetResponse:
    """If the query of an address contains a whole key, redirect to a page that says what to do about the key.

    A search for a key, for example, has such an address. After the redirect, no page repeats the key, and no browser
    keeps it in its history.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD") or not WHOLE.search(request.META.get("QUERY_STRING", "")):
            return get_response(request)
        keys = WHOLE.findall(request.META["QUERY_STRING"])
        return HttpResponseRedirect(reverse("palette", query={"q": without_keys(keys[0])}))

    return middleware


def content_security_policy(get_response: GetResponse) -> GetResponse:
    """Set a policy without `unsafe-inline` and `unsafe-eval`; templates use `request.csp_nonce` for their scripts."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        nonce = request.csp_nonce = secrets.token_urlsafe(16)  # type: ignore[attr-defined]
        response = get_response(request)
        response.headers.setdefault(
            "Content-Security-Policy",
            f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}';"
            " img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
            " frame-ancestors 'none'; manifest-src 'self'",
        )
        return response

    return middleware


def signed_in_browser(get_response: GetResponse) -> GetResponse:
    """Sign a person out if the sign-in in this browser is no longer valid.

    A sign-in ends if it is too old; if the browser was not used for too long; if someone ended it on the page that
    lists the browsers; if the password was changed; if the person becomes inactive; or if the identity provider no
    longer confirms it.

    If the hub fails to handle a form (status 500 or more), the person can send the form again.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.session.get(SESSION_KEY):
            browser = known_browser.used(request)  # type: ignore[arg-type]
            if browser is None or not single_sign_on.is_confirmed(browser):
                logout(request)
            else:
                request.browser, request.user = browser, browser.user  # type: ignore[attr-defined]
        proxy_sign_in.admit(request)  # type: ignore[arg-type]
        response = get_response(request)
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            request.session.give_back()  # type: ignore[attr-defined]
        return response

    return middleware


def time_zone(get_response: GetResponse) -> GetResponse:
    """Show times in the time zone that the person has chosen."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        user = getattr(request, "user", None)
        name = user.time_zone if user is not None and user.is_authenticated else "UTC"
        try:
            zone = zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            zone = zoneinfo.ZoneInfo("UTC")
        with timezone.override(zone):
            return get_response(request)

    return middleware


def final_slash(get_response: GetResponse) -> GetResponse:
    """Redirect people who are signed in from an address with a slash too many at its end to the address without it."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        path = request.path_info.rstrip("/")
        if response.status_code != 404 or request.method not in ("GET", "HEAD") or path == request.path_info:
            return response
        if not path or not request.user.is_authenticated or not is_valid_path(path):
            return response
        query = request.META.get("QUERY_STRING", "")
        address = escape_leading_slashes(escape_uri_path(path))
        return HttpResponseRedirect(f"{address}?{iri_to_uri(query)}" if query else address)

    return middleware


def wrong_methods(get_response: GetResponse) -> GetResponse:
    """Replace the empty 405 of a view with a page that has the same status and `Allow` header."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not isinstance(response, HttpResponseNotAllowed):
            return response
        return errors.wrong_method(request, response.headers.get("Allow", ""))

    return middleware


def recorded_views(get_response: GetResponse) -> GetResponse:
    """Write the audit entry of a page that shows texts of memories, before the page is sent.

    A page that cannot be recorded is not sent.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.status_code == 200 and request.method != "HEAD":
            shown_texts.record(request)  # type: ignore[arg-type]
        return response

    return middleware


def back_to_the_page(get_response: GetResponse) -> GetResponse:
    """After the next sign-in, lead a person back to the page from which the request came.

    This is for requests whose sign-in has expired, and which ask for a part of a page or send a form. The address of
    such a request may not be the address of a page.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not _leads_to_sign_in(response) or (request.method in ("GET", "HEAD") and not _is_for_a_part(request)):
            return response
        page = _address(request.headers.get("HX-Current-URL") or request.headers.get("Referer", ""))
        if page and page.path and page.netloc == request.get_host():
            response.headers["Location"] = reverse("sign_in", query={"next": urlunsplit(("", "", *page[2:4], ""))})
        return response

    return middleware


def _address(written: str) -> SplitResult | None:
    try:
        return urlsplit(written)
    except ValueError:
        return None


def _leads_to_sign_in(response: HttpResponseBase) -> bool:
    return response.status_code == 302 and response.headers["Location"].startswith(reverse("sign_in"))


def _is_for_a_part(request: HttpRequest) -> bool:
    """Return whether htmx, or a script like it, asks for a part of a page."""
    return bool(getattr(request, "htmx", False) and not request.htmx.history_restore_request)  # type: ignore[attr-defined]


def answers_to_htmx(get_response: GetResponse) -> GetResponse:
    """Set `Vary: HX-Request`, and adapt the answers to requests of htmx for a part of a page.

    If the sign-in has expired, the browser opens the sign-in page. An error page is shown in the alerts of the current
    page.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        patch_vary_headers(response, ["HX-Request"])
        if _is_for_a_part(request):
            if _leads_to_sign_in(response):
                redirect = HttpResponse()
                redirect.headers["HX-Redirect"] = response.headers["Location"]
                return redirect
            if response.status_code >= 400:
                response.headers["HX-Retarget"] = "#alerts"
                response.headers["HX-Reswap"] = "innerHTML"
        return response

    return middleware
