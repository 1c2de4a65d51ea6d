"""Findings that an act closes: the act removed their text from the memory, so only older versions still have it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core import settling
from memoryhub.actions.core.plans import State, in_parts
from memoryhub.actions.history.replay import content_of
from memoryhub.models import AuditEntry, Finding, FindingState, Memory, Role
from memoryhub.pure.sensitive import Group
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.guards.erasers import who_erases
from memoryhub.web.common.request import Request
from memoryhub.web.common.texts import kinds

MOST = 20
"""The most open findings that are searched for in the texts of a preview, and that are named afterwards."""

MOST_LINKED = 3
"""The most versions that the message after an act offers to redact."""

STAYING = [name for name in kinds.KINDS if kinds.group_of(name) != Group.POISON]
"""The kinds whose text is harmful in an old version too. Signs of poisoning are not among them, because agents do not
see old versions."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A finding that an act closes: the label of its kind, and its memory's path."""

    label: str | Promise
    path: str


def closed_by(store_id: str, states: Mapping[str, State], but: str = "") -> list[Closed]:
    """Return the open findings whose text is no longer in their memory after an act, except the finding `but`. At most
    MOST findings are examined.

    `states` is {memory id: its state after the act}.
    """
    findings: list[Finding] = []
    for part in in_parts(states):
        found = Finding.objects.of_store(store_id).open().filter(memory_id__in=part, kind__in=STAYING)
        findings += found.filter(fingerprint__isnull=False).exclude(pk=but).order_by("pk")[: MOST - len(findings)]
    values = settling.values_of(store_id, findings)
    gone = []
    for finding in findings:
        state = states[finding.memory_id]
        text = (state.path if finding.in_path else content_of(store_id, state) if state.is_there else "") or ""
        if not settling.count_of(finding, values.get(finding.pk), text):
            gone.append(finding)
    return _named(store_id, gone)


def after(request: Request, store_id: str, seq: int) -> SafeString:
    """Return sentences on the findings that the act with the entry `seq` closed, and on how to erase their texts.
    Return "" if the act closed no finding."""
    entry = AuditEntry.objects.of_chain(store_id).filter(seq=seq + 1, command="resolve_finding").first()
    told: dict[str, Any] = json.loads(entry.input or "{}") if entry else {}
    ids = told.get("before", {}).get("open", ()) if told.get("entry") == seq else ()
    closed = Finding.objects.of_store(store_id).filter(
        pk__in=ids[:MOST] if isinstance(ids, list) else (), state=FindingState.RESOLVED, kind__in=STAYING
    )
    found = list(closed.order_by("pk").select_related("version", "memory"))
    named = _named(store_id, found)
    if not named:
        return mark_safe("")
    words = ngettext(
        "This closed the finding %(names)s, but its text stays in old versions.",
        "This closed the findings %(names)s, but their texts stay in old versions.",
        len(named),
    )
    names = [_("“%(label)s” in %(path)s") % {"label": one.label, "path": isolated(one.path)} for one in named]
    return format_html("{} {} ", words % {"names": ", ".join(names)}, _way_to_erase(request, store_id, found))


def _way_to_erase(request: Request, store_id: str, found: Sequence[Finding]) -> str:
    """Return links for a person who may erase; for others, a sentence that names people who may."""
    if request.role.includes(Role.ADMIN):
        return _ways_to_redact(store_id, found) or format_html(
            '<a href="{}">{}</a>', reverse("erase_everywhere", query={"store": store_id}), _("Erase the text for good…")
        )
    return _("To erase the text for good, ask %(who)s.") % {"who": who_erases([store_id])}


def _ways_to_redact(store_id: str, found: Sequence[Finding]) -> SafeString:
    """Return links to redact the versions in which the values of the findings were found first.

    At most MOST_LINKED versions have a link.
    """
    firsts = {one.version_id: one for one in found if one.version.text_id and one.version_id != one.memory.head_id}
    links = list[SafeString]()
    for id, one in list(firsts.items())[:MOST_LINKED]:
        words = _("Redact version %(number)s for good…") % {"number": one.version.number}
        links.append(format_html('<a href="{}">{}</a> ', reverse("redact_version", args=[store_id, id]), words))
        if one.memory.version_count > one.version.number + 1:
            url = reverse("versions", args=[store_id, one.memory_id])
            links.append(format_html('<a href="{}">{}</a> ', url, _("Later versions may have the text too")))
    return mark_safe("".join(links))


def _named(store_id: str, findings: list[Finding]) -> list[Closed]:
    paths = dict(Memory.objects.among(store_id, [one.memory_id for one in findings]).values_list("pk", "path"))
    return list(dict.fromkeys(Closed(kinds.label(one.kind), paths.get(one.memory_id, "")) for one in findings))
