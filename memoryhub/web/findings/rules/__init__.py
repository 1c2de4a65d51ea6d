"""The rules for sensitive text of a store and of the hub, with a form that tries them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.findings.rules import UnknownRule, actions_of, save_rules
from memoryhub.models import HubSettings, MemoryStore, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import KINDS, Action, Group
from memoryhub.web.common import pages
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.guards.access import act, in_store, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.texts import kinds as findings_words
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.findings.rules.trial import LONGEST, tried

ACTION_WORDS: dict[Action, tuple[str | Promise, str | Promise]] = {
    Action.OFF: (gettext_lazy("Off"), gettext_lazy("The hub does not look for this kind of text.")),
    Action.FLAG: (
        gettext_lazy("Flag"),
        gettext_lazy("The text is stored as it is, and becomes a finding for people to decide about."),
    ),
    Action.MASK: (
        gettext_lazy("Mask"),
        gettext_lazy("In place of the value, [redacted:card] is stored, and the answer to the agent says so."),
    ),
    Action.BLOCK: (
        gettext_lazy("Block"),
        gettext_lazy("Nothing is stored. The agent gets an error with the kind and the line, never the value."),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice for the action of a rule. An empty `value` means that the rule inherits its action."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for a kind: its action, and the choices for it."""

    kind: str
    label: str
    finds: str
    example: str
    choices: list[Choice]
    action: Action
    is_own: bool


@dataclass(frozen=True, slots=True)
class Part:
    """The rules for one group of kinds."""

    group: Group
    label: str
    why: str
    icon: str
    rules: list[Rule]


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def rules(request: Request, store: MemoryStore) -> HttpResponse:
    """Show a store's rules to curators, who can try the rules on a text. Admins may also save the rules."""
    hubs = HubSettings.current().rules
    without = actions_of("{}", json.dumps(hubs))
    may_save = request.role.includes(Role.ADMIN) and not store.is_archived
    if request.method == "POST" and not _tries(request):
        if not request.role.includes(Role.ADMIN):
            raise PermissionDenied
        if store.is_archived:
            messages.error(request, _("This memory store is archived, so its rules cannot be changed."))
            return see_other("rules", store.pk)
        return _saved(request, store.pk, store.rules, "rules", store.pk)
    own = _chosen(request, store.rules) if may_save else store.rules
    shown = {
        "parts": _parts(own, without, _("Hub’s: %(action)s")),
        "may_save": may_save,
        **_tried(request, actions_of(json.dumps(own), json.dumps(hubs))),
    }
    return _private(render(request, "findings/rules/page.html", pages.context(request, store, **shown)))


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def hub_rules(request: Request) -> HttpResponse:
    """Show, try and save the hub's rules. A store's own rule for a kind takes precedence."""
    own = HubSettings.current().rules
    if request.method == "POST" and not _tries(request):
        return _saved(request, None, own, "hub_rules")
    own = _chosen(request, own)
    defaults = {kind.name: kind.default for kind in KINDS.values()}
    shown = {"parts": _parts(own, defaults, _("Default: %(action)s")), "may_save": True}
    return _private(
        render(request, "findings/rules/hub.html", shown | _tried(request, actions_of("{}", json.dumps(own))))
    )


def _tries(request: Request) -> bool:
    """Return whether the submitted form only tries a text and saves nothing."""
    return "text" in request.POST and "save" not in request.POST


def _chosen(request: Request, saved: Mapping[str, str]) -> dict[str, str]:
    """Return {kind: action}. If the request has a choice for a kind, the choice is used, else the saved action.

    A kind is left out if it inherits its action.
    """
    given = {kind: request.POST.get(f"rule-{kind}", saved.get(kind, "")) for kind in KINDS}
    return {kind: action for kind, action in given.items() if action in ACTION_WORDS}


def _private(response: HttpResponse) -> HttpResponse:
    """Forbid caching of the page, so that the browser does not keep the tried text."""
    response.headers["Cache-Control"] = "no-store"
    return response


def _parts(own: Mapping[str, str], without: Mapping[str, Action], inherits: str) -> list[Part]:
    parts = []
    for group, (label, why, icon) in findings_words.GROUPS.items():
        kinds = [kind.name for kind in KINDS.values() if kind.group == group]
        found = [_rule(kind, own.get(kind, ""), without[kind], inherits) for kind in kinds]
        parts.append(Part(group, str(label), str(why), icon, found))
    return parts


def _rule(kind: str, own: str, without: Action, inherits: str) -> Rule:
    words = findings_words.KIND_WORDS[kind]
    inherited = Choice("", inherits % {"action": str(ACTION_WORDS[without][0]).lower()}, not own)
    choices = [Choice(action.value, str(name), own == action) for action, (name, _means) in ACTION_WORDS.items()]
    action = Action(own) if own else without
    return Rule(kind, str(words.label), str(words.finds), words.example, [inherited, *choices], action, bool(own))


def _saved(request: Request, store_id: str | None, before: Mapping[str, str], *page: str) -> HttpResponse:
    """Save the rules, and redirect with a message that names the changed kinds."""
    given = {kind: request.POST.get(f"rule-{kind}", "") for kind in KINDS}
    note = request.POST.get("note", "")[:LONGEST_NOTE]
    try:
        save_rules(store_id, given, act(request, note))
    except UnknownRule:
        return HttpResponseBadRequest(_("There is no such rule."))
    except ToolError as error:
        messages.error(request, for_people(error))
        return see_other(*page)
    changed = [kind for kind in KINDS if given[kind] != before.get(kind, "")]
    if not changed:
        messages.info(request, _("Nothing was changed, because the rules are the same."))
    else:
        words = ngettext(
            "The rule for %(count)s kind was changed: %(kinds)s.",
            "The rules for %(count)s kinds were changed: %(kinds)s.",
            len(changed),
        )
        kinds = ", ".join(findings_words.label(kind) for kind in changed)
        messages.success(request, words % {"count": len(changed), "kinds": kinds})
    return see_other(*page)


def _tried(request: Request, actions: Mapping[str, Action]) -> dict[str, Any]:
    """Return the template context for a tried text: its result, and the meanings of the actions."""
    meanings = [
        {"value": action.value, "label": label, "means": means} for action, (label, means) in ACTION_WORDS.items()
    ]
    if request.method != "POST":
        return {"meanings": meanings}
    text = request.POST.get("text", "").replace("\r\n", "\n")
    kept = {"meanings": meanings, "note": request.POST.get("note", "")}
    if len(text) > LONGEST:
        return kept | {"text": text[:LONGEST], "too_long": True}
    return kept | {"text": text, "tried": tried(text, actions)}
