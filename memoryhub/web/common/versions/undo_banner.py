"""The message after an act that can be undone, with links to its audit entry and to the undo."""

from django.contrib import messages
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import closing


def flag_link(store_id: str, memory_id: str = "") -> SafeString:
    """Return a link to the flag of a memory, or to all flagged memories of the store if `memory_id` is empty."""
    if memory_id:
        url, words = reverse("memory", args=[store_id, memory_id]) + "#flag", _("See the flag")
    else:
        url, words = reverse("search", query={"is": "flagged", "store": store_id}), _("See all flagged memories")
    return format_html('<a href="{}">{}</a>', url, words)


def tell_done(
    request: Request,
    store_id: str,
    said: str,
    seq: int,
    back: str = "",
    *,
    has_flagged: bool = False,
    is_at_entry: bool = False,
) -> None:
    """Add the success message `said` for the next page; `seq` is the audit entry of the act.

    `back` is the address of the page from which the person came. With `has_flagged`, the message links to the flagged
    memories. With `is_at_entry`, the message has no link to the entry, because the next page is the entry.
    """
    entry = format_html('<a href="{}">{}</a> ', reverse("entry", args=[store_id, seq]), _("Audit entry"))
    words = _("Back to Today") if back.partition("?")[0] == reverse("today") else _("Back")
    messages.success(
        request,
        format_html(
            '{} {}{} {}{}<a class="button button-small banner-undo" href="{}">{}</a>',
            said,
            closing.after(request, store_id, seq),
            flag_link(store_id) if has_flagged else "",
            "" if is_at_entry else entry,
            format_html('<a href="{}">{}</a> ', back, words) if back else "",
            reverse("undo_entry", args=[store_id, seq]),
            _("Undo"),
        ),
    )
