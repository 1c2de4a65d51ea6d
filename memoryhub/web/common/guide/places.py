"""Which section of the guide, or of another document, belongs to a page."""

from django.urls import ResolverMatch

from memoryhub.web.common.guide import DOCUMENTS, document

BEGINNING = ("guide", "a-few-words")
COLLEAGUES = ("guide", "memory-stores-colleagues-and-keys")
TRASH = ("guide", "several-memories-at-once-and-the-trash")
EDITING = ("guide", "editing-and-when-two-people-edit")

PLACES = {
    "today": ("guide", "the-morning-today"),
    "dashboards": ("guide", "the-overview"),
    "review": ("guide", "reviewing-what-agents-wrote"),
    "findings": ("retention", "rules-for-sensitive-text-and-findings"),
    "findings.removal": ("guide", "the-morning-today"),
    "findings.scans": ("retention", "scan-the-history"),
    "memories": ("guide", "the-life-line-of-a-memory"),
    "memories.tree": BEGINNING,
    "memories.selection": TRASH,
    "memories.trash": TRASH,
    "memories.conflict": EDITING,
    "history": ("guide", "the-store-as-it-was"),
    "history.blame": ("guide", "where-a-line-came-from"),
    "history.compare": ("guide", "versions"),
    "history.restore": ("guide", "versions"),
    "history.versions": ("guide", "versions"),
    "comments": ("guide", "comments"),
    "sessions": ("guide", "who-has-seen-it"),
    "claude_runs": ("runs", "start-a-run"),
    "claude_runs.compare": ("runs", "compare-two-runs"),
    "claude_runs.evaluations": ("runs", "evaluate-memory"),
    "claude_runs.hub": ("runs", "before-you-start"),
    "claude_runs.run": ("runs", "while-it-runs"),
    "undo": ("guide", "taking-it-back-undo"),
    "tried": ("guide", "trying-a-call"),
    "tried.session": ("guide", "replaying-a-session"),
    "search": ("guide", "finding-things"),
    "erasure": ("guide", "erasing-a-person"),
    "erasure.receipts": ("retention", "receipts"),
    "erasure.redact": ("retention", "redact-a-version"),
    "erasure.whole": TRASH,
    "audit": ("guide", "the-audit"),
    "audit.public_key": ("guide", "is-the-audit-true"),
    "audit.verified": ("guide", "is-the-audit-true"),
    "agents": COLLEAGUES,
    "proposals": ("proposals", "for-reviewers"),
    "path_rules": ("guide", "what-agents-may-see-and-change-path-rules"),
    "retention": ("retention", "a-first-policy"),
    "retention.certificate": ("retention", "certificate-of-retention"),
    "retention.explain": ("retention", "how-a-policy-decides"),
    "retention.held_export": ("retention", "hand-over-what-is-held"),
    "retention.holds": ("retention", "pins-and-holds"),
    "retention.rehearsal": ("retention", "rehearse-it"),
    "retention.runs": ("retention", "runs-and-their-guards"),
    "stores": COLLEAGUES,
    "stores.delete": ("retention", "delete-a-memory-store"),
    "stores.limits": ("retention", "limits"),
    "transfer": ("import", "in-the-browser"),
    "transfer.exports": ("export", "how-to-export"),
    "webhooks": ("webhooks", "make-one"),
    "webhooks.deliveries": ("webhooks", "when-a-receiver-does-not-answer"),
    "mail": ("guide", "e-mail"),
    "mail.hub": ("email", "sending-e-mail"),
    "background": ("operations", "what-to-watch"),
    "background.backups": ("operations", "backups"),
    "accounts": COLLEAGUES,
    "accounts.administrators": ("identity", "administrators-of-the-hub"),
    "accounts.browsers": ("identity", "signed-in-browsers"),
    "accounts.passkeys": ("identity", "second-step-and-passkeys"),
    "accounts.profile": ("guide", "keys"),
    "accounts.second_person": ("identity", "a-second-person"),
    "accounts.second_step": ("identity", "second-step-and-passkeys"),
    "common.api_docs": ("http", "authentication"),
}
"""{room, or module of a room: (document, section)} for the pages of the room or the module."""

OF_VIEWS = {
    "issue_key": ("agents", "before-you-start"),
    "edit_memory": EDITING,
    "new_memory": EDITING,
    "rename_memory": EDITING,
    "delete_memory": TRASH,
    "delete_directory": TRASH,
    "rename_directory": TRASH,
}
"""{route of a page: (document, section)}, for pages of modules with several pages."""


def place_of(match: ResolverMatch | None) -> tuple[str, str]:
    """Return the document and the section that belong to the page of the address `match`. For None, return
    BEGINNING."""
    if match is None:
        return BEGINNING
    if (topic := match.kwargs.get("topic")) in DOCUMENTS:
        return topic, next((section.id for section in document(topic).sections if section.id), "")
    module = match.func.__module__.removeprefix("memoryhub.web.")
    of_module = PLACES.get(module) or PLACES.get(".".join(module.split(".")[:2]))
    return OF_VIEWS.get(match.url_name or "") or of_module or PLACES.get(module.partition(".")[0]) or BEGINNING
