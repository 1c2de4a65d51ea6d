"""The decisions about a version that an agent wrote: each verb with its state, words, icon and keyboard key.

The inbox and the badges of versions use this table. `web.review.acts` has the effect of each verb, and
`actions.core.audit.commands` the words of its entry.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _, ngettext

from memoryhub.models import Decision, ReviewState, Role

Words = str | Promise
Counted = Callable[[int], str]

WHO = Role.CURATOR
"""The lowest role that may decide."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One decision about versions or memories."""

    name: str  # the command of its entry
    decision: Decision
    icon: str
    done: Words
    state: ReviewState | None = None  # the version's new state (None: the decision is about the memory)
    label: Words = ""
    key: str = ""
    anyway: Words = ""
    by: Words = ""  # follows a person's name
    badge: Words = ""  # shown beside the version
    badge_class: str = "approved"
    selected: Words = ""
    everything: Words = ""
    ask: Counted | None = None  # `ask` and `did` return the words for a number of items (None: only for one)
    did: Counted | None = None
    is_answer: bool = False  # ends the wait for a review, and can be taken back
    takes_earlier: bool = False
    changes_text: bool = False
    needs_note: bool = False


APPROVE = Verb(
    "approve", Decision.APPROVED, "check", _("Approved version %(number)s of %(path)s."), ReviewState.APPROVED,
    label=_("Approve"), key="a", anyway=_("Approve anyway"),
    by=_("approved this version"), badge=_("approved"),
    selected=_("Approve selected"), everything=_("Approve all…"),
    ask=lambda n: ngettext("Approve %(count)s version", "Approve %(count)s versions", n),
    did=lambda n: ngettext("Approved %(count)s version.", "Approved %(count)s versions.", n),
    is_answer=True, takes_earlier=True,
)  # fmt: skip
REVERT = Verb(
    "revert", Decision.REVERTED, "rotate-ccw", _("Reverted version %(number)s of %(path)s."), ReviewState.REVERTED,
    label=_("Revert"), key="r", anyway=_("Revert anyway"),
    by=_("reverted this version"), badge=_("reverted"), badge_class="neutral",
    selected=_("Revert selected"), everything=_("Revert all…"),
    ask=lambda n: ngettext("Revert %(count)s version", "Revert %(count)s versions", n),
    did=lambda n: ngettext("Reverted %(count)s version.", "Reverted %(count)s versions.", n),
    is_answer=True, changes_text=True,
)  # fmt: skip
EDIT = Verb(
    "edit", Decision.EDITED, "pencil", _("Edited %(path)s."), ReviewState.EDITED,
    label=_("Edit and approve"), key="e",
    by=_("edited and approved this version"), badge=_("edited and approved"), changes_text=True,
)  # fmt: skip
FLAG = Verb(
    "flag", Decision.FLAGGED, "flag", _("Flagged %(path)s."),
    label=_("Flag"), key="f", selected=_("Flag selected"), everything=_("Flag all…"),
    ask=lambda n: ngettext("Flag %(count)s memory", "Flag %(count)s memories", n),
    did=lambda n: ngettext("Flagged %(count)s memory.", "Flagged %(count)s memories.", n),
    needs_note=True,
)  # fmt: skip
UNFLAG = Verb(
    "unflag", Decision.UNFLAGGED, "flag-off", _("Removed the flag from %(path)s."), label=_("Remove the flag")
)
REOPEN = Verb(
    "reopen", Decision.REOPENED, "undo-2", "", ReviewState.UNREVIEWED,
    by=_("set this version back to “awaits review”"), badge=_("awaits review"), badge_class="unreviewed",
)  # fmt: skip

VERBS = {verb.name: verb for verb in (APPROVE, REVERT, EDIT, FLAG, UNFLAG, REOPEN)}
OF_DECISION = {verb.decision.value: verb for verb in VERBS.values()}
OF_STATE = {verb.state.value: verb for verb in VERBS.values() if verb.state}
OF_SEVERAL = [verb for verb in VERBS.values() if verb.did]
ANSWERS = [verb for verb in VERBS.values() if verb.is_answer]
STATES = {verb.decision: verb.state for verb in VERBS.values() if verb.state}
"""The new state of a version by decision; flags do not change it."""
