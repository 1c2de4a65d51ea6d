"""Words for webhooks: the meaning of each event, and why an attempt failed."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from memoryhub.pure.webhook_rules import chat

Words = str | Promise

GROUPS: Mapping[str, Words] = {
    "memory_store": gettext_lazy("The memory store"),
    "memory": gettext_lazy("Memories"),
    "memory_version": gettext_lazy("Memory versions"),
    "review": gettext_lazy("Review"),
    "proposal": gettext_lazy("Proposals"),
    "finding": gettext_lazy("Findings"),
    "retention_run": gettext_lazy("Retention runs"),
    "import": gettext_lazy("Imports"),
    "alarm": gettext_lazy("Alarms of the hub, after they have lasted five minutes"),
}

PROBLEMS: Mapping[str, Words] = {
    "malformed": gettext_lazy("This is not a valid URL, such as https://example.com/memoryhub."),
    "scheme": gettext_lazy("The address does not begin with https://."),
    "credentials": gettext_lazy("The address must not contain a user name or password."),
    "port": gettext_lazy("Webhooks cannot use this port. Leave it out, or use 1024 or higher."),
    "fragment": gettext_lazy("The address must not have a part after “#”."),
    "unresolved": gettext_lazy("The name of the receiver could not be looked up."),
    "private": gettext_lazy("The address is on a private or special network, which this webhook may not reach."),
    "unreachable": gettext_lazy("Nothing accepts connections at the address."),
    "timeout": gettext_lazy("The receiver did not answer in time."),
    "closed": gettext_lazy("The receiver closed the connection without an answer."),
    "tls": gettext_lazy("The certificate of the receiver could not be verified, or TLS failed."),
    "no_http": gettext_lazy("The response is not valid HTTP."),
    "redirect": gettext_lazy(
        "The receiver redirects to another address, and the hub does not follow redirects. Enter the other address."
    ),
    "status": gettext_lazy("The receiver refused it."),
}


def problem(code: str, status: int | None = None) -> str:
    """Return a sentence on why an attempt failed. `code` is the kind of the problem, `status` the HTTP status, if
    any."""
    if status == 410:
        return _("The receiver said that it no longer exists.")
    if code == "status" and status is not None and status >= 500:
        return _("The receiver failed.")
    return str(PROBLEMS.get(code, code))


def event(name: str) -> str:
    return _(chat.WORDS[name]) if name in chat.WORDS else name
