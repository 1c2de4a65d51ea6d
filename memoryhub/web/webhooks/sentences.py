"""Words for webhooks: the meaning of each event, and the reason why an attempt failed."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

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
}

EVENTS: Mapping[str, Words] = {
    "memory_store.created": gettext_lazy("A memory store was created"),
    "memory_store.archived": gettext_lazy("It was archived"),
    "memory_store.deleted": gettext_lazy("It was deleted"),
    "memory_store.updated": gettext_lazy("Its name or settings changed"),
    "memory_store.unarchived": gettext_lazy("It was unarchived"),
    "memory.created": gettext_lazy("A memory was created"),
    "memory.modified": gettext_lazy("The text of a memory changed"),
    "memory.renamed": gettext_lazy("A memory was moved to another path"),
    "memory.deleted": gettext_lazy("A memory was deleted or expired"),
    "memory.restored": gettext_lazy("A memory came back from the trash"),
    "memory.purged": gettext_lazy("Retention removed a memory permanently"),
    "memory_version.redacted": gettext_lazy("The text of a version was redacted or erased"),
    "review.needed": gettext_lazy("An agent wrote something that awaits review"),
    "review.approved": gettext_lazy("Versions were approved"),
    "review.reverted": gettext_lazy("Versions were reverted"),
    "review.flagged": gettext_lazy("Memories were flagged"),
    "proposal.opened": gettext_lazy("An agent proposed something that waits for a person"),
    "proposal.decided": gettext_lazy("A proposal was merged or refused"),
    "proposal.withdrawn": gettext_lazy("An agent withdrew a proposal"),
    "finding.opened": gettext_lazy("Sensitive text or a sign of poisoning was found in what was written"),
    "finding.dismissed": gettext_lazy("Findings were dismissed"),
    "finding.resolved": gettext_lazy("Findings were resolved"),
    "retention_run.started": gettext_lazy("A run started"),
    "retention_run.blocked": gettext_lazy("A run stopped and waits for a decision"),
    "retention_run.finished": gettext_lazy("A run is done"),
    "retention_run.cancelled": gettext_lazy("A run was cancelled"),
    "import.finished": gettext_lazy("An import is done"),
    "import.failed": gettext_lazy("An import could not be done"),
    "webhook.test": gettext_lazy("Test event"),
}

PROBLEMS: Mapping[str, Words] = {
    "malformed": gettext_lazy("This is not a valid URL, such as https://example.com/memoryhub."),
    "scheme": gettext_lazy("The address does not begin with https://."),
    "credentials": gettext_lazy("The address must not hold a user name or password."),
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
    """Return what went wrong, as a sentence for people."""
    if status == 410:
        return _("The receiver said that it no longer exists.")
    if code == "status" and status is not None and status >= 500:
        return _("The receiver failed.")
    return str(PROBLEMS.get(code, code))


def event(name: str) -> str:
    return str(EVENTS.get(name, name))
