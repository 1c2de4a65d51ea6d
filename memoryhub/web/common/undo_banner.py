"""The message after an act that can be undone, with links to its audit entry and to undo it."""

from django.contrib import messages
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from memoryhub.web.common.request import Request


def tell_done(request: Request, store_id: str, said: str, seq: int, back: str = "") -> None:
    """Add a success message for the next page that the person opens; `seq` is the audit entry of the act.

    `back` is the address of the page that the person came from; it gets a link.
    """
    words = _("Back to Today") if back.partition("?")[0] == reverse("today") else _("Back")
    messages.success(
        request,
        format_html(
            '{} <a href="{}">{}</a> {}<a class="button button-small banner-undo" href="{}">{}</a>',
            said,
            reverse("entry", args=[store_id, seq]),
            _("Audit entry"),
            format_html('<a href="{}">{}</a> ', back, words) if back else "",
            reverse("undo_entry", args=[store_id, seq]),
            _("Undo"),
        ),
    )
