"""The part of the guide that belongs to the current page."""

from dataclasses import dataclass

from django import template
from django.urls import reverse

from memoryhub.web.common.guide import GUIDE, document
from memoryhub.web.common.guide.places import place_of

register = template.Library()


@dataclass(frozen=True, slots=True)
class Place:
    """A section of the guide: `url` leads to the section in its whole document, `part_url` to the section alone."""

    url: str
    part_url: str
    title: str


@register.simple_tag(takes_context=True)
def guide_here(context: template.Context) -> Place:
    request = context.get("request")
    name, id = place_of(request.resolver_match if request else None)
    url = reverse("guide", args=() if name == GUIDE else (name,))
    title = next((section.title for section in document(name).sections if section.id == id), "")
    return Place(f"{url}#{id}", f"{url}?part={id}", title)
