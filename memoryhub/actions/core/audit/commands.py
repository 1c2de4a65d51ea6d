"""The registry of commands that an audit entry may name: their chains, their words and their webhook events.

A new command needs a line here or in `hub_commands`, and the code that performs it. Words contain `%(name)s` for values
of the entry. `words` can be a tuple of sentences: the hub uses the first sentence for which the entry has all values.
A command without words has a function in `web.audit.sentences`.
"""

from django.utils.translation import gettext_lazy as _, ngettext

from memoryhub.actions.core.audit import hub_commands
from memoryhub.actions.core.audit.command import Command, Scope

_NOTED = _("left a note for %(tells)s on %(subject)s")
_ALL = (
    # Memories
    Command("view", _("viewed %(path)s"), _("tried to view %(path)s"), by_agents=True, did=_("viewed")),
    Command("create", _("created %(path)s"), _("tried to create %(path)s"), by_agents=True, did=_("created")),
    Command(
        "str_replace", _("replaced text in %(path)s"), _("tried to replace text in %(path)s"), by_agents=True,
        did=_("replaced text"),
    ),
    Command("insert", _("inserted text into %(path)s"), _("tried to insert text into %(path)s"), by_agents=True,
            did=_("inserted text")),
    Command(
        "delete", _("deleted %(path)s"), _("tried to delete %(path)s"),
        lambda n: ngettext("deleted %(count)s memory: %(paths)s", "deleted %(count)s memories: %(paths)s", n),
        "memories", by_agents=True, did=_("deleted")
    ),
    Command(
        "rename", _("renamed %(path)s to %(new_path)s"), _("tried to rename %(path)s to %(new_path)s"),
        by_agents=True, did=_("renamed"),
    ),
    Command(
        "search", (_("searched for “%(query)s” under %(beneath)s"), _("searched for “%(query)s”")), by_agents=True,
        did=_("searched"),
    ),
    Command("history", _("viewed the history of %(path)s"), by_agents=True, did=_("viewed the history")),
    Command(
        "edit", _("edited %(path)s"), _("tried to edit %(path)s"), also={"reviewed": "review.approved"},
        did=_("edited"),
    ),
    Command(
        "take_out", (_("took a line out of %(path)s: %(kinds)s"), _("took a line out of %(path)s")), "",
        lambda n: ngettext(
            "took %(count)s line out of %(path)s: %(kinds)s", "took %(count)s lines out of %(path)s: %(kinds)s", n
        ),
        "lines", also={"reverted": "review.reverted", "flagged": "review.flagged"}, did=_("took a line out"),
    ),
    Command(
        "move", _("moved %(path)s to %(new_path)s"), _("tried to move %(path)s to %(new_path)s"),
        lambda n: ngettext(
            "moved %(count)s memory to %(into)s: %(paths)s", "moved %(count)s memories to %(into)s: %(paths)s", n
        ),
        "memories", did=_("moved"),
    ),
    Command(
        "restore", _("restored %(path)s to what it was in version %(version)s"), _("tried to restore %(path)s"),
        lambda n: ngettext(
            "restored %(count)s memory from the trash: %(paths)s",
            "restored %(count)s memories from the trash: %(paths)s", n,
        ),
        "memories", did=_("restored")
    ),
    Command("restore_moment", did=_("restored to a moment")),
    Command("undo", also={"reverted": "review.reverted", "flagged": "review.flagged"}, did=_("undid")),
    Command("download", _("downloaded %(path)s"), did=_("downloaded")),
    Command(
        "view_text", _("read %(path)s on the page “%(page)s”"), "",
        lambda n: ngettext(
            "read %(count)s memory on the page “%(page)s”", "read %(count)s memories on the page “%(page)s”", n
        ),
        "memories", did=_("read on a page"),
    ),
    # Proposals
    Command(
        "merge_proposal",
        several=lambda n: ngettext(
            "merged %(count)s memory of proposal #%(number)s by %(agent)s",
            "merged %(count)s memories of proposal #%(number)s by %(agent)s", n,
        ),
        counts="merged", event="proposal.decided", did=_("merged a proposal"),
    ),
    Command(
        "edit_and_merge_proposal", _("edited what %(agent)s proposed in #%(number)s, and merged it"),
        event="proposal.decided", did=_("edited and merged a proposal"),
    ),
    Command(
        "refuse_proposal", _("refused proposal #%(number)s by %(agent)s"), event="proposal.decided",
        did=_("refused a proposal"),
    ),
    Command("reopen_proposal", _("opened proposal #%(number)s by %(agent)s again"), did=_("opened a proposal again")),
    Command(
        "assign_proposal",
        (_("assigned proposal #%(number)s to %(person)s"), _("took proposal #%(number)s from %(before)s")),
        did=_("assigned a proposal"),
    ),
    Command("list_proposals", _("listed its proposals"), by_agents=True),
    Command("view_proposal", _("viewed its proposal #%(number)s"), _("tried to view its proposal #%(number)s"),
            by_agents=True, did=_("viewed its proposal")),
    Command(
        "withdraw_proposal", _("withdrew its proposal #%(number)s"), _("tried to withdraw its proposal #%(number)s"),
        event="proposal.withdrawn", by_agents=True, did=_("withdrew its proposal"),
    ),
    # Claude runs
    Command("start_claude_run", _("started the Claude run %(run)s with %(model)s"),
            _("tried to start a Claude run with %(model)s"), did=_("started a Claude run")),
    Command("continue_claude_run", _("continued the Claude run %(run)s"), did=_("continued a Claude run")),
    Command("stop_claude_run", _("stopped the Claude run %(run)s"), did=_("stopped a Claude run")),
    Command(
        "propose_claude_run", _("proposed what the Claude run %(run)s made of a copy, as #%(number)s"),
        by_agents=True, event="proposal.opened", did=_("proposed what a Claude run made of a copy"),
    ),
    Command("archive_dream", _("archived the dream %(run)s"), did=_("archived a dream")),
    Command("keep_dream", _("made the memory store “%(name)s” from the copy that the dream %(run)s reorganised"),
            did=_("made a memory store from a dream")),
    Command("keep_copy", _("made this throw-away copy a memory store of its own, “%(name)s”"),
            did=_("made a copy a memory store of its own")),
    Command("start_evaluation", _("started to evaluate how %(model)s keeps memories"),
            did=_("started to evaluate how a model keeps memories")),
    Command("stop_evaluation", _("stopped the evaluation of how %(model)s keeps memories"),
            did=_("stopped an evaluation of how a model keeps memories")),
    Command("evaluate_memory", _("evaluated how %(model)s keeps memories: %(passed)s of %(count)s cases passed"),
            did=_("evaluated how a model keeps memories")),
    Command("save_claude_preset", _("saved version %(number)s of the preset “%(name)s” of Claude runs"),
            did=_("saved a preset of Claude runs")),
    Command("delete_claude_preset", _("deleted the preset “%(name)s” of Claude runs"),
            did=_("deleted a preset of Claude runs")),
    Command(
        "copy_memories",
        several=lambda n: ngettext(
            "copied %(count)s memory of the original", "copied %(count)s memories of the original", n
        ),
        counts="count", did=_("copied memories"),
    ),
    # Review
    Command(
        "approve", _("approved a version of %(path)s"),
        several=lambda n: ngettext("approved %(count)s version", "approved %(count)s versions", n),
        counts="versions", event="review.approved", did=_("approved")
    ),
    Command(
        "revert", _("reverted a version of %(path)s"),
        several=lambda n: ngettext("reverted %(count)s version", "reverted %(count)s versions", n),
        counts="versions", event="review.reverted", did=_("reverted")
    ),
    Command(
        "flag", _("flagged %(path)s"),
        several=lambda n: ngettext("flagged %(count)s memory", "flagged %(count)s memories", n),
        counts="versions", event="review.flagged", did=_("flagged")
    ),
    Command(
        "unflag", _("removed the flag from %(path)s"),
        several=lambda n: ngettext(
            "removed the flag from %(count)s memory", "removed the flag from %(count)s memories", n
        ),
        counts="versions", did=_("removed the flag"),
    ),
    Command("reopen", _("undid the decision of entry %(entry)s"), event="review.needed", did=_("undid a decision")),
    Command(
        "assign",
        (_("assigned the review of %(path)s to %(person)s"), _("took the review of %(path)s from %(before)s")),
        did=_("assigned the review"),
    ),
    # Comments
    Command("comment", (_NOTED, _("commented on %(subject)s")), did=_("commented")),
    Command("reply", (_NOTED, _("replied to a comment on %(subject)s")), did=_("replied")),
    Command("withdraw_note", _("withdrew a note to %(tells)s on %(subject)s"), did=_("withdrew a note")),
    Command("edit_comment", _("edited a comment on %(subject)s"), did=_("edited a comment")),
    Command("delete_comment", _("deleted a comment on %(subject)s"), did=_("deleted a comment")),
    Command("resolve_comments", _("resolved a conversation about %(subject)s"), did=_("resolved a conversation")),
    Command("reopen_comments", _("reopened a conversation about %(subject)s"), did=_("reopened a conversation")),
    # The store
    Command("create_store", _("created the store “%(name)s”"), event="memory_store.created", did=_("created a store")),
    Command(
        "edit_store", _("changed the store’s settings: %(changes)s"), _("could not change the store’s settings"),
        event="memory_store.updated", did=_("changed the settings of a store"),
    ),
    Command("archive_store", _("archived the store"), _("tried to archive the store"), event="memory_store.archived",
            did=_("archived a store")),
    Command(
        "unarchive_store", _("unarchived the store"), _("tried to unarchive the store"),
        event="memory_store.unarchived", did=_("unarchived a store"),
    ),
    Command(
        "delete_store", _("deleted the store “%(name)s”"), _("could not delete the store"),
        event="memory_store.deleted", did=_("deleted a store"),
    ),
    Command(
        "edit_path_rules", refused=_("tried to take over path rules"),
        several=lambda n: ngettext(
            "changed the path rules: there is now %(count)s rule", "changed the path rules: there are now "
            "%(count)s rules", n
        ),
        counts="after", did=_("changed the path rules"),
    ),
    Command("set_role", (_("gave %(person)s the role %(role)s"), _("removed the role %(before)s from %(person)s")),
            did=_("gave or removed a role")),
    Command("share_view", _("shared the view “%(name)s” with the members of the store"), did=_("shared a view")),
    Command("rename_view", _("renamed the shared view “%(name)s” to “%(new_name)s”"), did=_("renamed a shared view")),
    Command("delete_view", _("deleted the shared view “%(name)s”"), did=_("deleted a shared view")),
    # Memories that leave a store and that come in
    Command(
        "export", _("exported %(path)s"), _("tried to export %(path)s"),
        lambda n: ngettext(
            "exported %(count)s memory as %(format)s: %(paths)s",
            "exported %(count)s memories as %(format)s: %(paths)s", n),
        "memories", did=_("exported"),
    ),
    Command("export_audit", _("exported the audit as %(format)s, filtered by: %(filter)s"), scope=Scope.BOTH,
            did=_("exported the audit")),
    Command("export_table", scope=Scope.BOTH, did=_("exported a table")),
    Command(
        "prepare_import",
        several=lambda n: ngettext(
            "uploaded %(name)s with %(count)s memory, to be imported into %(place)s",
            "uploaded %(name)s with %(count)s memories, to be imported into %(place)s", n),
        counts="memories", did=_("uploaded an import"),
    ),
    Command(
        "start_import",
        several=lambda n: ngettext(
            "started the import of %(name)s: %(count)s memory into %(place)s",
            "started the import of %(name)s: %(count)s memories into %(place)s", n),
        counts="take beside", did=_("started an import"),
    ),
    Command(
        "import", _("imported %(path)s"), _("tried to import %(path)s"),
        lambda n: ngettext(
            "imported %(path)s", "imported %(path)s with its history of %(count)s versions", n
        ),
        "versions", did=_("imported"),
    ),
    Command(
        "import_proposal", _("imported the open proposal #%(number)s"), event="proposal.opened",
        did=_("imported a proposal"),
    ),
    Command(
        "import_decision", _("imported proposal #%(number)s with the decision about it"),
        did=_("imported a decided proposal"),
    ),
    Command("cancel_import", _("cancelled the import %(import)s"), did=_("cancelled an import")),
    # Sensitive text
    Command("edit_rules", _("changed the rules for sensitive text: %(rules)s"), scope=Scope.BOTH,
            did=_("changed the rules for sensitive text")),
    Command(
        "dismiss_finding",
        several=lambda n: ngettext(
            "dismissed %(count)s finding: %(kinds)s", "dismissed %(count)s findings: %(kinds)s", n
        ),
        counts="before", event="finding.dismissed", did=_("dismissed a finding"),
    ),
    Command(
        "resolve_finding",
        several=lambda n: ngettext(
            "resolved %(count)s finding: %(kinds)s", "resolved %(count)s findings: %(kinds)s", n
        ),
        counts="before", event="finding.resolved", did=_("resolved a finding"),
    ),
    Command(
        "reopen_finding",
        several=lambda n: ngettext(
            "reopened %(count)s finding: %(kinds)s", "reopened %(count)s findings: %(kinds)s", n
        ),
        counts="before", event="finding.opened", did=_("reopened a finding"),
    ),
    Command("reveal", _("revealed the text of %(path)s in version %(version)s"), did=_("revealed the text")),
    Command(
        "redact", _("redacted version %(number)s of a memory"), event="memory_version.redacted", did=_("redacted")
    ),
    Command("erase", event="memory_version.redacted", did=_("erased a text")),
    Command(
        "collect",
        several=lambda n: ngettext(
            "downloaded %(count)s place with a text about a person",
            "downloaded %(count)s places with a text about a person", n),
        counts="places", did=_("downloaded what is stored about a person"),
    ),
    Command("start_scan", _("started a scan of the history for: %(kinds)s"), did=_("started a scan")),
    Command(
        "cancel_scan",
        several=lambda n: ngettext(
            "stopped the scan of the history after %(checked)s versions, with %(count)s new finding",
            "stopped the scan of the history after %(checked)s versions, with %(count)s new findings", n),
        counts="found", did=_("stopped a scan"),
    ),
    Command(
        "end_scan",
        several=lambda n: ngettext(
            "scanned the history, %(checked)s versions, with %(count)s new finding",
            "scanned the history, %(checked)s versions, with %(count)s new findings", n),
        counts="found", did=_("ended a scan"),
    ),
    Command(
        "note_findings",
        several=lambda n: ngettext(
            "found %(count)s new finding in the history", "found %(count)s new findings in the history", n
        ),
        counts="found", did=_("noted new findings"),
    ),
    # Retention
    Command(
        "set_policy",
        (
            _("created the retention policy “%(label)s” for %(which)s: %(settings)s"),
            _("changed the retention policy “%(label)s”: %(changes)s"),
        ),
        scope=Scope.BOTH, did=_("created or changed a retention policy"),
    ),
    Command("delete_policy", _("deleted the retention policy “%(label)s” for %(which)s"), scope=Scope.BOTH,
            did=_("deleted a retention policy")),
    Command("hold", did=_("placed a legal hold or a pin")),
    Command("release", did=_("released a legal hold or a pin")),
    Command("expire", _("moved %(path)s to the trash: %(why)s"), did=_("moved to the trash")),
    Command(
        "purge",
        (_("removed %(path)s permanently: %(why)s"), _("removed %(path)s permanently, with its history")),
        did=_("removed permanently"),
        event="memory.purged",
    ),
    Command(
        "prune_versions",
        several=lambda n: ngettext(
            "removed %(count)s old version of %(path)s", "removed %(count)s old versions of %(path)s", n
        ),
        counts="versions", did=_("removed old versions"),
    ),
    Command(
        "remove_entries",
        several=lambda n: ngettext(
            "removed %(count)s audit entry, up to %(up_to)s", "removed %(count)s audit entries, up to %(up_to)s", n
        ),
        counts="entries", scope=Scope.BOTH, did=_("removed audit entries"),
    ),
    Command("start_run", _("started a retention run"), scope=Scope.BOTH),
    Command("allow_run", _("allowed a retention run to continue"), scope=Scope.BOTH),
    Command("cancel_run", _("cancelled a retention run"), scope=Scope.BOTH),
    Command(
        "undo_run",
        several=lambda n: ngettext(
            "undid a retention run: %(count)s memory came back",
            "undid a retention run: %(count)s memories came back", n),
        counts="memories", did=_("undid a retention run"),
    ),
    Command(
        "certify", _("signed the export of what is on legal hold: %(paths)s"),
        several=lambda n: ngettext(
            "signed a certificate of retention: %(count)s removal is overdue",
            "signed a certificate of retention: %(count)s removals are overdue", n),
        counts="overdue", did=_("signed a certificate of retention"),
    ),
    # Webhooks
    Command("create_webhook", _("created the webhook “%(name)s” to %(url)s"), scope=Scope.BOTH,
            did=_("created a webhook")),
    Command("edit_webhook", _("changed the webhook “%(name)s”: %(changes)s"), scope=Scope.BOTH,
            did=_("changed a webhook")),
    Command("pause_webhook", scope=Scope.BOTH, did=_("paused a webhook")),
    Command("resume_webhook", _("resumed the webhook “%(name)s”"), scope=Scope.BOTH, did=_("resumed a webhook")),
    Command("rotate_webhook", _("made a new secret for the webhook “%(name)s”"), scope=Scope.BOTH,
            did=_("made a new secret for a webhook")),
    Command("reveal_webhook", _("viewed the secret of the webhook “%(name)s”"), scope=Scope.BOTH,
            did=_("viewed the secret of a webhook")),
    Command("delete_webhook", _("deleted the webhook “%(name)s”"), scope=Scope.BOTH, did=_("deleted a webhook")),
    Command("test_webhook", _("sent a test event to the webhook “%(name)s”"), scope=Scope.BOTH,
            did=_("sent a test event")),
    Command(
        "replay_webhook", _("sent a delivery of the webhook “%(name)s” again"),
        several=lambda n: ngettext(
            "sent %(count)s failed delivery of the webhook “%(name)s” again",
            "sent %(count)s failed deliveries of the webhook “%(name)s” again", n),
        counts="deliveries", scope=Scope.BOTH, did=_("sent a delivery again"),
    ),
    *hub_commands.ALL,
)  # fmt: skip

COMMANDS = {command.name: command for command in _ALL}
BY_AGENTS = tuple(command.name for command in _ALL if command.by_agents)
"""The commands that agents can give. They change memories, and nothing else on which a plan depends."""
EVENTS = {command.name: command.event for command in _ALL if command.event}
"""The webhook event of each command. Events for changed memories are made from versions, and are not listed here."""

FURTHER_EVENTS = {command.name: command.also for command in _ALL if command.also}
"""{command: {field of its input that names versions: webhook event about these versions}}."""


def of(scope: Scope) -> tuple[str, ...]:
    """Return the names of the commands that chains of this kind can contain."""
    return tuple(command.name for command in _ALL if command.scope & scope)
