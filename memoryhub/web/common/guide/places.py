"""Which section of the guide, or of another document, belongs to a page."""

from django.urls import ResolverMatch

BEGINNING = ("guide", "a-few-words")

PLACES = {
    "today": ("guide", "the-morning-today"),
    "dashboards": ("guide", "the-overview"),
    "review": ("guide", "reviewing-what-agents-wrote"),
    "findings": ("guide", "the-morning-today"),
    "findings.rules": ("retention", "rules-for-sensitive-text-and-findings"),
    "findings.scans": ("retention", "scan-the-history"),
    "memories": ("guide", "the-life-line-of-a-memory"),
    "memories.tree": BEGINNING,
    "memories.selection": ("guide", "several-memories-at-once-and-the-trash"),
    "memories.trash": ("guide", "several-memories-at-once-and-the-trash"),
    "memories.conflict": ("guide", "editing-and-when-two-people-edit"),
    "history": ("guide", "the-store-as-it-was"),
    "history.blame": ("guide", "where-a-line-came-from"),
    "history.compare": ("guide", "versions"),
    "history.versions": ("guide", "versions"),
    "comments": ("guide", "comments"),
    "sessions": ("guide", "who-has-seen-it"),
    "claude_runs": ("runs", "start-a-run"),
    "claude_runs.evaluations": ("runs", "evaluate-memory"),
    "undo": ("guide", "taking-it-back-undo"),
    "tried": ("guide", "trying-a-call"),
    "search": ("guide", "finding-things"),
    "erasure": ("guide", "erasing-a-person"),
    "audit": ("guide", "the-audit"),
    "agents": ("agents", "before-you-start"),
    "proposals": ("proposals", "for-reviewers"),
    "path_rules": ("guide", "what-agents-may-see-and-change-path-rules"),
    "retention": ("retention", "a-first-policy"),
    "retention.held_export": ("retention", "hand-over-what-is-held"),
    "retention.holds": ("retention", "pins-and-holds"),
    "stores.limits": ("retention", "limits"),
    "transfer": ("import", "in-the-browser"),
    "transfer.exports": ("export", "how-to-export"),
    "webhooks": ("webhooks", "make-one"),
    "mail": ("guide", "e-mail"),
    "mail.hub": ("email", "sending-e-mail"),
    "accounts.profile": ("guide", "keys"),
}
"""The document and the section of a room of pages, or of one of its modules."""


def place_of(match: ResolverMatch | None) -> tuple[str, str]:
    """Return the document and the section for the page that an address leads to."""
    module = match.func.__module__.removeprefix("memoryhub.web.") if match else ""
    return PLACES.get(module) or PLACES.get(module.partition(".")[0]) or BEGINNING
