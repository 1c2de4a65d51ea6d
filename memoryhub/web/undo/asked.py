"""The choices and ticks in the form of an undo."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.history.apply_plan import Plan
from memoryhub.models import MemoryStore, User
from memoryhub.web.comments import telling
from memoryhub.web.common.guards.access import person
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.versions import closing
from memoryhub.web.undo import rows
from memoryhub.web.undo.form import MOST_NOTE, Given, forbidden_in, rest_options
from memoryhub.web.undo.graph import drawn
from memoryhub.web.undo.spread import Spread, Ticks
from memoryhub.web.undo.stopped import over_limits
from memoryhub.web.undo.summary import brief_rows


@dataclass(frozen=True, slots=True)
class Asked:
    """The choices that a request makes. `sent` are the ticks in the request, some of which may be for writes that are
    no longer listed."""

    given: Given
    sent: Ticks
    spread: Spread | None

    @classmethod
    def by(cls, request: Request, spread: Callable[[User, Ticks], Spread | None] | None) -> "Asked":
        is_post = request.method == "POST"
        sent = request.POST if is_post else request.GET
        ticks = Ticks.of(sent, is_chosen=is_post or "shown" in sent)
        return cls(Given.of(sent), ticks, spread(person(request), ticks) if spread else None)

    @property
    def ticks(self) -> Ticks:
        """Return the ticks that take effect: those in the request whose writes are listed and can be ticked.

        If the person has not seen the ticks yet, the proposed ticks are added.
        """
        return self.spread.ticks if self.spread else Ticks()

    def problem(self, request: Request, plan: Plan) -> str:
        """Return why a posted form cannot be applied, as a sentence about its note, its ticks, or the choices that are
        forbidden now; "" if it can."""
        if len(self.given.note) > MOST_NOTE:
            return _("The note is too long. Use at most 1,000 characters.")
        if problem := telling.problem(self.given.note, self.given.tell):
            return problem
        if self.spread and (self.sent != self.ticks or request.POST.get("shown", "") != self.ticks.shown):
            return _(
                "Nothing was done yet. The page now shows what changes with your ticks. "
                "Check it and press the button again."
            )
        if plan.digest == self.given.digest and forbidden_in(plan) != self.given.forbidden:
            return _(
                "Nothing was done, because a legal hold or a rule has changed since you opened this page. "
                "Check the preview and try again."
            )
        return ""


def since_opened() -> str:
    """Return a sentence saying that the plan has changed since it was shown."""
    return _(
        "Nothing was done, because something was written since you opened this page. Check the preview and try again."
    )


def flagged_words(count: int) -> str:
    return ngettext("Flagged %(count)s memory.", "Flagged %(count)s memories.", count) % {"count": count}


def undone_words(count: int, path: str = "") -> str:
    """Return a sentence on how many memories were changed back. A single one is named by its `path`."""
    if path and count == 1:
        return _("Undid the change of %(path)s.") % {"path": path}
    message = ngettext("Undid changes in %(count)s memory.", "Undid changes in %(count)s memories.", count)
    return message % {"count": count}


def to_flag_words(count: int) -> str:
    return ngettext("flag %(count)s memory", "flag %(count)s memories", count) % {"count": count}


def shown(request: Request, store: MemoryStore, plan: Plan, asked: Asked, *, may_apply: bool) -> dict[str, Any]:
    """Return the part of a page's context for `undo/_changes.html` and `undo/_summary.html`."""
    preview = rows.preview(store, plan, asked.given, rows.Wanted.of(request.GET))
    shows(request, store, rows.in_diffs(store.pk, preview.whole))
    chosen = {change.memory: change.chosen(asked.given.choice(change)) for change in plan.changes}
    spread = asked.spread if asked.spread and asked.spread.readers else None
    over = over_limits(store, plan, asked.given.choice) if may_apply else {}
    return {
        "preview": preview,
        "over": next(iter(over.values()), ""),
        "forbidden": forbidden_in(plan),
        "closes": closing.closed_by(store.pk, chosen),
        "given": asked.given,
        "spread": spread,
        "may_have_spread": bool(asked.spread and asked.spread.more and not spread),
        "graph": drawn(spread) if spread else None,
        "may_apply": may_apply,
        "brief": brief_rows(store.id, preview.briefly, may_apply),
        "rest": rest_options(preview.unasked, asked.given),
        "most_note": MOST_NOTE,
    }
