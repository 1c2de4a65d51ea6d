"""Keys of agents that a person pasted or typed. They are searched by their last characters, so that no URL contains a
key."""

import re
from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.models import Key, MemoryStore, User

WHOLE = re.compile(r"mh_[A-Za-z0-9_-]{43}")
_SHORT = re.compile(r"mh_…([A-Za-z0-9_-]{4})")
_ENDING = re.compile(r"(?:mh_)?(?:…|\.\.\.)?([A-Za-z0-9_-]{4})")
FEW = 6


def without_keys(text: str) -> str:
    """Return a text in which each key is cut to the form that lists show, such as `mh_…a1b2`."""
    return WHOLE.sub(lambda key: f"mh_…{key[0][-4:]}", text)


def hint_in(text: str) -> str:
    """Return the last characters of the first key in a text, or "". The key is whole or shortened, as in `mh_…a1b2`."""
    found = _SHORT.search(without_keys(text))
    return found[1] if found else ""


def ending_of(text: str) -> str:
    """Return the last characters of a key if the text is nothing but these characters (`a1b2`) or a shortened key
    (`mh_…a1b2`). Else return ""."""
    found = _ENDING.fullmatch(text.strip())
    return found[1] if found else ""


def pasted_key(user: User, hint: str) -> Iterator[tuple[str, str]]:
    """Yield (URL, words) of the pages for a key that the person pasted. `hint` is the end of the key."""
    found = list(keys_ending(user, hint))
    yield from found
    if MemoryStore.objects.administered_by(user).exists():
        yield reverse("erase_everywhere"), _("Erase this key from memories: paste it on the page “Erase”")
    if not found:
        yield reverse("agents"), _("You may see no key that ends with …%(hint)s. See agents and keys") % {"hint": hint}


def keys_ending(user: User, hint: str) -> Iterator[tuple[str, str]]:
    """Yield (URL, words) of the pages for the visible keys that end with `hint`."""
    found = list(Key.objects.visible_to(user).filter(hint=hint).newest()[:FEW])
    governed = set(Key.objects.governed_by(user).filter(pk__in=[key.pk for key in found]).values_list("pk", flat=True))
    for key in found:
        words, url = _("The key …%(hint)s of %(agent)s"), reverse("agent", args=[key.agent_id])
        if key.revoked_at is not None:
            words = _("The key …%(hint)s of %(agent)s is already revoked")
        elif key.pk in governed:
            words, url = _("Revoke this key: …%(hint)s of %(agent)s"), reverse("revoke_key", args=[key.pk])
        yield url, words % {"hint": key.hint, "agent": f"{key.agent.name} {key.name}".strip()}
