"""The form for the path rules of a memory store.

A draft is tried on the changes of the last 30 days before it is saved.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.forms import BoundField
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.rules.sight import day_of
from memoryhub.actions.stores import path_rules
from memoryhub.actions.stores.path_rules import RulesChanged
from memoryhub.models import Memory, MemoryStore, Role
from memoryhub.pure.path_rules import (
    MOST_RULES,
    Effect,
    PathRule,
    PathRules,
    Verb,
    can_be_id,
    condition_of,
    names_one_memory,
)
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import pages
from memoryhub.web.common.forms import LONGEST_NOTE, NoteForm
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.path_rules import forms
from memoryhub.web.path_rules.forms import Rows
from memoryhub.web.path_rules.replay import replay
from memoryhub.web.path_rules.rules import asking, saved_by
from memoryhub.web.path_rules.sentences import Names, names_in, sentence
from memoryhub.web.retention.explain import about_patterns

SAVE, TRY = "save", "try"


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the form. A POST rearranges the rows, or tries the rules, or saves rules that were tried."""
    saved = path_rules.of_store(store)
    names = names_in(store, saved, seen_by=person(request))
    seen = request.POST.get("opened", path_rules.digest(saved))
    if request.method != "POST":
        draft = _draft(request, store, saved)
        is_complete = bool(request.GET.getlist("allow")) and draft != saved
        form = forms.unbound(forms.of_rules(draft), names, store)
        problem = forms.TOO_MANY % {"num": MOST_RULES} if len(draft) > MOST_RULES else ""
        tried = [*draft] if is_complete else None
        return _page(request, store, names, form, seen, tried=tried, problem=problem, is_begun=is_complete)
    asked = request.POST.get("act", TRY)
    if asked not in (SAVE, TRY):
        rows, shown = forms.rearranged(forms.typed(request.POST), asked, saved)
        return _page(request, store, names, forms.unbound(rows, names, store), seen, shown=shown)
    form = forms.bound(request.POST, names, store)
    if not form.is_valid():
        return _page(request, store, names, form, seen)
    rules = [row.rule() for row in form]
    if asked == TRY or request.POST.get("seen") != path_rules.digest(rules):
        return _page(request, store, names, form, seen, tried=rules, asks=asked == SAVE)
    return _save(request, store, names, form, rules, seen)


def _draft(request: Request, store: MemoryStore, saved: tuple[PathRule, ...]) -> tuple[PathRule, ...]:
    """Return the rules with which the form opens.

    If `from` in the query is the seq of an entry that saved rules, the form opens with the rules of this entry.
    Otherwise, it opens with the rules that the query adds, followed by the current rules of the store.
    """
    earlier = saved_by(store, request.GET.get("from", ""))
    if earlier is not None:
        return earlier
    known = {replace(rule, reason="", until=None, most=None) for rule in saved if not rule.until}
    begun = [rule for name, effect in _BEGUN.items() for rule in _begun(request, name, effect) if rule not in known]
    return (*begun[: forms.MOST_ROWS - len(saved)], *saved)


_BEGUN = {"protect": Effect.REFUSE, "allow": Effect.ALLOW, "ask": Effect.PROPOSE}


def _begun(request: Request, name: str, effect: Effect) -> Iterator[PathRule]:
    who, verbs, only_if = request.GET.get("who", ""), {*request.GET.getlist("verb")}, None
    with suppress(ValueError):
        only_if = condition_of(request.GET.get("only_if", ""))
    chosen = frozenset(verb for verb in Verb if verb in verbs) or frozenset(Verb)
    for pattern in request.GET.getlist(name):
        if pattern.startswith("/"):
            yield PathRule(
                effect, pattern[: forms.LONGEST_PATTERN], chosen, who if can_be_id(who) else "", only_if=only_if
            )


def _save(
    request: Request, store: MemoryStore, names: Names, form: Rows, rules: list[PathRule], seen: str
) -> HttpResponse:
    try:
        path_rules.save(store.pk, rules, seen, act(request, request.POST.get("note", "")[:LONGEST_NOTE]))
    except RulesChanged:
        problem = _(
            "Someone else has changed the rules in the meantime. Compare with the saved rules, then save again."
        )
        now = path_rules.of_store(MemoryStore.objects.get(pk=store.pk))
        return _page(request, store, names, form, path_rules.digest(now), tried=rules, problem=problem, now=now)
    except ToolError as error:
        return _page(request, store, names, form, seen, tried=rules, problem=for_people(error))
    said = ngettext("The rule was saved.", "The %(count)s rules were saved.", len(rules)) % {"count": len(rules)}
    messages.success(request, said if rules else _("There are no path rules now: agents may change everything."))
    return see_other("path_rules", store.pk)


def _page(
    request: Request,
    store: MemoryStore,
    names: Names,
    form: Rows,
    opened: str,
    *,
    tried: list[PathRule] | None = None,
    asks: bool = False,
    shown: int | None = None,
    problem: str = "",
    is_begun: bool = False,
    now: tuple[PathRule, ...] = (),
) -> HttpResponse:
    """Show the form. The rules in `tried` are replayed; the row with the index `shown` gets the focus."""
    context: dict[str, Any] = {"form": form, "opened": opened, "asks": asks, "shown": shown, "problem": problem}
    context["is_begun"] = is_begun
    rows = forms.typed(request.POST) if form.is_bound else form.initial or []
    context["is_limited"] = bool(forms.limited(rows, path_rules.of_store(store)))
    context["now"] = [sentence(rule, names) for rule in now]
    context["examples"] = [(f"example-{name}", words) for name, (words, _rows) in forms.EXAMPLES.items()]
    patterns = [str(row["pattern"].value() or "") for row in form]
    context["rows"] = list(zip(form, about_patterns(store, patterns), strict=True))
    if tried is not None:
        rules = PathRules(tried, day_of(timezone.now()))
        outcome = replay(store.pk, rules, timezone.now())
        context["unreachable"] = rules.unreachable().items()
        context |= asking(request.POST, store, rules, {**names})
        context["note"] = _note(request)
        groups = [
            (group, sentence(tried[group.number - 1], names), names.get(group.agent, "")) for group in outcome.groups
        ]
        context |= {"outcome": outcome, "groups": groups, "seen": path_rules.digest(tried)}
        context["of_no_memory"] = _of_no_memory(store, tried)
        context["only_proposes"] = {rule.effect for rule in tried} <= {Effect.ALLOW, Effect.PROPOSE}
    return render(request, "path_rules/edit.html", pages.context(request, store, **context))


def _note(request: Request) -> BoundField:
    """Return the field for the reason of the change.

    On the page, the field is outside the form element, so its attribute `form` names the form.
    """
    form = NoteForm(request.POST if "note" in request.POST else None)
    form.fields["note"].widget.attrs["form"] = "rules-form"
    return form["note"]


def _of_no_memory(store: MemoryStore, rules: list[PathRule]) -> list[tuple[int, str]]:
    """Return (number, pattern) of each rule whose pattern is a single path at which there is no memory."""
    alone = [(number, rule.pattern) for number, rule in enumerate(rules, start=1) if names_one_memory(rule.pattern)]
    there = Memory.objects.live().filter(store=store, path__in=[pattern for _number, pattern in alone])
    known = set(there.values_list("path", flat=True))
    return [(number, pattern) for number, pattern in alone if pattern not in known]
