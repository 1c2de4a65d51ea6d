"""System checks: a wrong setting is an error with a hint at start, not a surprise later."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error


def environment(**_: object) -> list[CheckMessage]:
    """Looks at every value that comes from the environment."""
    return [*_url(), *_secrets(), *_sqlite(), *_limits()]


def _url() -> Iterator[CheckMessage]:
    url = urlsplit(settings.MEMORYHUB_URL)
    if url.scheme not in ("http", "https") or not url.hostname or url.path.strip("/"):
        yield Error(
            f"MEMORYHUB_URL is not the address of a hub: {settings.MEMORYHUB_URL!r}.",
            hint="Set it to scheme and host, for example https://hub.example.com.",
            id="memoryhub.E001",
        )


def _secrets() -> Iterator[CheckMessage]:
    if len(settings.MEMORYHUB_AUDIT_KEY) < 32:
        yield Error(
            "MEMORYHUB_AUDIT_KEY is shorter than 32 characters.",
            hint='Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))"',
            id="memoryhub.E002",
        )


def _sqlite() -> Iterator[CheckMessage]:
    if settings.SQLITE_SYNCHRONOUS not in ("FULL", "NORMAL", "EXTRA"):
        yield Error(
            f"MEMORYHUB_SQLITE_SYNCHRONOUS is not a mode the hub runs in: {settings.SQLITE_SYNCHRONOUS!r}.",
            hint="FULL (the default) keeps every acknowledged call through a power cut; NORMAL may lose the last ones.",
            id="memoryhub.E003",
        )


def _limits() -> Iterator[CheckMessage]:
    for name, value in settings.MEMORYHUB_LIMITS.items():
        if not isinstance(value, int) or value < 1:
            yield Error(f"The limit {name} is not a positive whole number: {value!r}.", id="memoryhub.E004")
