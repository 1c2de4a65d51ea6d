"""The filter through which every text that an agent may have written reaches a page."""

from django import template
from django.template.defaultfilters import stringfilter
from django.utils.safestring import SafeString, mark_safe

from memoryhub.visible import to_html, without_hidden

register = template.Library()


@register.filter
def visible(value: object, show: str = "") -> SafeString:
    """The text escaped, hidden characters as labelled boxes; `|visible:"whitespace"` shows spaces and tabs as well."""
    return mark_safe(to_html(str(value), show_whitespace=show == "whitespace"))


@register.filter(is_safe=True)
@stringfilter
def plain(value: str) -> str:
    """For titles, attributes and options, where no box can stand: U+FFFD for each hidden character."""
    return without_hidden(value)
