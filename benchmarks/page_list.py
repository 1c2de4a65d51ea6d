"""The measured pages of the people's door, one line each, and the reasons why other routes have no line."""

from benchmarks.page_line import (
    ADA,
    AUDIT,
    BLAME,
    LONGEST_SEARCH,
    SEARCH,
    TRIVIAL,
    Line,
    audit,
    keystroke,
    memory,
    moment,
    page,
    place,
    search,
    store,
    version,
)  # fmt: skip

HUB = (
    page(TRIVIAL), page("sign_in", who=""), page("today"),
    page("today", who=ADA, called="today (all)"), page("stores"), page("stores", who=ADA, called="stores (all)"),
    page("new_store", who=ADA), page("account"), page("api_docs"), page("people", who=ADA), page("agents"),
    page("mail_choices"), page("hub_mail", who=ADA), page("hub_background", who=ADA), page("hub_backups", who=ADA),
    Line("deactivate", "deactivate", {"user_id": "ben"}, who=ADA),
    page("agents", who=ADA, called="agents (all)"), page("new_agent", who=ADA), page("keys", who=ADA),
    page("hub_limits", who=ADA), page("hub_claude", who=ADA),
    Line("agent: common", "agent", {"agent_id": "agent"}), Line("agent: rare", "agent", {"agent_id": "rare_agent"}),
    Line("edit_agent", "edit_agent", {"agent_id": "agent"}, who=ADA),
    Line("issue_key", "issue_key", {"agent_id": "agent"}, who=ADA),
    Line("revoke_key", "revoke_key", {"key_id": "key"}, who=ADA),
    Line("replace_key", "replace_key", {"key_id": "key"}, who=ADA),
)  # fmt: skip

STORE = (
    store("store"), store("edit_store", who=ADA), store("archive_store", who=ADA), store("new_memory"),
    store("delete_store", who=ADA), store("export_store"), store("imports"), store("new_import"),
    store("copy_store", who=ADA),
    store("members", who=ADA), Line("leaving", "leaving", {"store_id": "store", "user_id": "ben"}, who=ADA),
    store("store_keys", who=ADA), store("limits"), store("trash"),
    store("trash", "?before={trash_middle}", "trash: middle"), store("trash", "?before={trash_last}", "trash: last"),
    place("directory", "wide"), place("directory", "wide", "?after=m/{wide_middle}", "wide, middle"),
    place("directory", "wide", "?after=m/{wide_last}", "wide, last"), place("directory", "many"),
    place("directory", "many", "?after=d/{many_middle}", "many directories, middle"), place("directory", "deep"),
    place("directory", "deepest", against="directory: wide"), place("directory", "japanese"),
    place("directory", "small"), place("directory", "nowhere", status=(404,)),
    place("tree_children", "wide", htmx=True), place("tree_children", "many", htmx=True),
    place("rename_directory", "wide"), place("delete_directory", "wide"),
)  # fmt: skip

ERASURE = (
    page("erase_everywhere", who=ADA), page("every_receipt", who=ADA),
    store("receipts", who=ADA), store("scans", who=ADA),
    store("remove_memories", "?id={typical}", who=ADA),
    version("redact_version", "typical_middle", who=ADA), version("redact_version", "handbook_middle", who=ADA),
)  # fmt: skip
RETENTION = (
    page("hub_retention", who=ADA), page("new_hub_policy", who=ADA), store("retention", who=ADA),
    store("new_policy", who=ADA), page("webhooks", who=ADA), page("new_webhook", who=ADA),
    store("store_webhooks", who=ADA), store("new_store_webhook", who=ADA), store("runs"), store("holds"),
    store("explain_path"),
    store("explain_path", "?path={typical_path}", "explain_path: typical"),
)  # fmt: skip

MEMORY = (
    *(memory(route, name) for name in ("typical", "handbook", "in_wide", "in_deep", "moved") for route in (
        "memory", "versions",
    )),
    *(memory(route, name) for name in ("diary", "popular") for route in ("memory", "versions")),
    memory("memory", "typical", "?view=rendered", "typical, rendered"), memory("memory", "trashed"),
    *(memory(route, "typical") for route in ("edit_memory", "rename_memory", "delete_memory")),
    memory("versions", "handbook", "?before=250", "handbook, middle"),
    memory("versions", "handbook", "?before=20", "handbook, last"),
    memory("compare", "typical", "?from={typical_first}&to={typical_last}"),
    memory("compare", "handbook", "?from={handbook_first}&to={handbook_last}"),
    memory("compare", "typical", "?from={typical_first}&to={typical_last}&mode=split", "typical, split"),
    version("version", "typical_middle"), version("version", "handbook_middle"),
    version("restore_version", "typical_middle"),
)  # fmt: skip

# Each filter alone, first and last pages, and pairs of filters that few or no entries match.
FILTERS = (
    "", "agent:{agent}", "agent:{rare_agent}", "person:{ben}", "session:{session}", "session:{large_session}",
    "command:view", "command:delete", "command:rename", "command:never", "path:{typical_path}", "path:{wide_path}/",
    "path:/", "path:/reference/", "path:/nowhere/", "outcome:ok", "outcome:error", "door:tool", "door:api", "door:web",
    "door:mcp", "door:command", "from:{day_50}", "to:{day_50}", "from:{day_50} to:{day_49}", "from:{day_0}",
    "to:{day_89}", "from:{day_1} to:{day_0}",
)  # fmt: skip
PAIRS = (
    "agent:{agent} command:insert", "agent:{rare_agent} command:view", "agent:{rare_agent} command:create",
    "agent:{agent} door:api", "agent:{agent} door:mcp", "agent:{agent} outcome:error",
    "agent:{agent} path:{wide_path}/",
    "agent:{rare_agent} path:{wide_path}/", "agent:{agent} path:{typical_path}",
    "agent:{agent} from:{day_60} to:{day_30}",
    "agent:{rare_agent} from:{day_45}", "agent:{agent} session:{session}", "person:{ben} command:approve",
    "person:{ben} command:view",
    "person:{ben} door:tool", "session:{large_session} command:insert",
    "session:{large_session} path:{wide_path}/", "session:{large_session} path:/tickets/7001/",
    "session:{session} path:/", "command:delete outcome:error", "command:create outcome:error",
    "command:view outcome:error", "command:view door:web", "command:view door:mcp", "command:rename path:{wide_path}/",
    "command:rename path:/", "command:delete path:/reference/", "command:edit from:{day_60} to:{day_30}",
    "outcome:error door:mcp", "outcome:error path:{wide_path}/", "outcome:error path:/reference/",
    "outcome:error from:{day_60} to:{day_30}", "door:mcp path:/", "door:mcp from:{day_45}",
    "door:tool path:{wide_path}/",
    "door:web path:/tickets/7001/", "path:{wide_path}/ from:{day_60} to:{day_30}", "path:/ from:{day_80} to:{day_70}",
    "path:/nowhere/ from:{day_45}", "agent:{agent} command:view door:mcp outcome:error",
)  # fmt: skip

AUDITS = (
    *map(audit, FILTERS), *map(audit, PAIRS),
    audit("", "everything, middle", "&before={store}:{middle}"), audit("", "everything, last", "&before={store}:40"),
    audit("", "everything, newer", "&after={store}:{middle}"), audit("", "as a part", htmx=True),
    *(audit(words, f"{words}, middle", "&before={store}:{middle}") for words in FILTERS[1:]),
    Line("audit of all stores", "audit", query="?", bound=AUDIT),
    Line("audit of all chains", "audit", query="?", who=ADA, bound=AUDIT),
    Line("audit of all chains: middle", "audit", query="?before={store}:{middle}", who=ADA, bound=AUDIT),
    Line("audit of all chains: rare agent", "audit", query="?q=agent:{rare_agent}", who=ADA, bound=AUDIT),
    *(Line(f"entry: {seq}", "entry", {"chain": "store", "seq": seq}) for seq in (
        "first", "middle", "last", "a_view", "an_edit", "a_listing", "an_error", "a_move",
    )),
)  # fmt: skip

EXPOSURE = (
    memory("blame", "typical"), memory("blame", "typical", "?version=5", "typical, before"),
    memory("blame", "handbook", bound=BLAME, against="memory: handbook"),
    memory("blame", "handbook", called="handbook, small"), memory("blame", "in_wide"), memory("blame", "moved"),
    memory("readers", "typical"), memory("readers", "typical", "?version=12&line=5", "a line of typical"),
    memory("readers", "diary"), memory("readers", "popular"),
    memory("readers", "handbook"), memory("readers", "handbook", "?version=250&line=900", "a line of handbook"),
    store("store_sessions"), store("store_sessions", "?before={middle_session}", "store_sessions: before"),
    store("store_sessions", "?after={middle_session}", "store_sessions: after"),
    Line("session", "session", {"session_id": "session"}),
    Line("session: large", "session", {"session_id": "large_session"}),
    Line("session: large (all)", "session", {"session_id": "large_session"}, who=ADA),
    Line("session: large, raw", "session", {"session_id": "large_session"}, "?raw=1"),
)  # fmt: skip

TIME = (
    store("moments"), store("moments", "?at={day_45}", "moments: a day", status=(200, 302)),
    *(moment("moment", seq) for seq in ("first", "quarter", "middle", "last")),
    *(moment("moment_directory", "middle", called=place, path=place) for place in ("wide", "many", "deep", "small")),
    Line(
        "moment_directory: deepest", "moment_directory", {"store_id": "store", "seq": "middle", "path": "deepest"},
        against="moment_directory: wide",
    ),
    *(moment("moment_memory", "middle", called=name, memory_id=name) for name in (
        "typical", "handbook", "moved", "diary", "popular",
    )),
    # The last 100 entries changed 38 memories in the small store, and 97 in the large one.
    store("changes", "?from={before_last}&to={last}", against="changes: many"),
    store("changes", "?from={quarter}&to={middle}", "changes: many"),
    moment("restore_moment", "before_last"), moment("restore_moment", "middle", "?path=/reference", "a directory"),
    moment("restore_moment", "middle", "?memory={typical}", "a memory"),
    Line("undo_session", "undo_session", {"store_id": "store", "session_id": "session"}),
    Line("undo_entry", "undo_entry", {"store_id": "store", "seq": "an_edit"}),
    Line("undo_entry: a move", "undo_entry", {"store_id": "store", "seq": "a_move"}),
    *(version("undo_version", name) for name in ("typical_middle", "diary_middle", "popular_first")),
)  # fmt: skip

NEWS = (
    store("new_entries", "?after={before_last}"), store("new_entries", "?after={middle}", "new_entries: many"),
    store("new_entries", "?after={middle}&session={large_session}", "new_entries: of a session", status=(200, 204)),
    store("new_entries", "?after={middle}&q=agent:{rare_agent}", "new_entries: of a rare agent", status=(204,)),
    page("new_anywhere", "?after={middle}"), memory("memory_news", "typical", "?version={typical_middle}"),
)  # fmt: skip

REVIEW = (
    page("review"), page("review", who=ADA, called="review (all)"),
    page("review", "?group=memory", "review: by memory"),
    page("review", "?order=newest", "review: newest"), page("review", "?group=memory&order=newest", "review: both"),
    *(page("review", f"?q={words}", f"review: {words}") for words in (
        "agent:{agent}", "agent:{rare_agent}", "session:{session}", "path:{wide_path}/",
        "path:/nowhere/", "path:{typical_path}", "memory:{handbook}", "store:{store}", "before:{day_1}",
        "after:{day_2}", "is:pinned", "-agent:{agent}", "agent:{agent} path:{wide_path}/",
        "agent:{rare_agent} path:{wide_path}/",
    )),
    page("decided"), page("review_news", "?since=1", "review_news: many"),
    page("findings"), page("findings", who=ADA, called="findings (all)"), store("store_findings"),
    # The directory has 6 open findings of this kind in the small store, and a full page in the large one.
    page("findings", "?q=kind:card path:{wide_path}/", "findings: kind and path", against="findings"), store("rules"),
    *(page("findings", f"?{words}", f"findings: {words}", who=ADA) for words in (
        "state=resolved", "state=dismissed", "q=kind:email", "q=group:poison",
    )),
    *(Line(f"take_out: {name}", "take_out", {"store_id": "store", "finding_id": name}) for name in (
        "of_handbook", "of_diary",
    )),
    store("path_rules"), store("path_rules", "?path={typical_path}&verb=edit", "path_rules: which decides"),
    store("edit_path_rules", who=ADA),
    page("hub_rules", who=ADA),
    memory("flag", "typical"),
    Line("undo_decision", "undo_decision", {"store_id": "store", "seq": "a_decision"}),
)  # fmt: skip

PROPOSALS = (
    store("proposals"), store("proposals", "?is=mine", "proposals: mine"),
    store("proposals", "?is=unassigned", "proposals: unassigned"),
    store("proposals", "?after={proposal_middle}", "proposals: middle"),
    store("proposals", "?state=decided", "proposals: decided"),
    store("proposals", "?state=decided&after=60", "proposals: decided, last"),
    *(Line(f"proposal: {name}", "proposal", {"store_id": "store", "number": f"proposal_{name}"}) for name in (
        "first", "middle", "merged", "refused",
    )),
    Line(
        "proposal_elsewhere", "proposal_elsewhere", {"store_id": "store", "number": "proposal_first"}, bound=SEARCH,
        against=TRIVIAL, htmx=True, longest=LONGEST_SEARCH,
    ),
    store("proposals_together", "?n={proposal_first}&n={proposal_middle}"),
    *(page("review", f"?{words}", f"review: proposals, {words}", who=ADA) for words in (
        "q=is:mine", "q=is:unassigned", "q=agent:{rare_agent}", "q=path:/proposed/", "q=store:{store}",
    )),
)  # fmt: skip

FINDING = (
    *(keystroke("find", f"?q={typed}", store_id="store") for typed in (
        "c", "cu", "customer", "customer-0001", "bill", "proj dec ref", "東京", "zzzz", "crm", "quokka",
    )),
    store("find", "?q=bill", "find: page"), store("find", "", "find: nothing typed"),
    *(keystroke("palette", f"?store={{store}}&q={typed}") for typed in ("", "c", "bill", "agent 1", "zzzz")),
    keystroke("palette", "?store={store}&only=paths&q=bill", "paths alone"),
    *(keystroke("completions", f"?store={{store}}&keys=agent+person+session+path+store+when&q={typed}") for typed in (
        "", "a", "/c", "agent:a", "session:", "store:", "person:",
    )),
    page("palette", "?q=bill&store={store}", "palette: page"), page("search", called="search: nothing typed"),
    *(search(f"?q={words}") for words in (
        "invoice", "quokka", "axolotl", "pangolin", "nowhereatall", "返金", "customer-0001", "refund+contract",
        "quokka&in=paths", "invoice&agent={rare_agent}", "invoice&path={wide_path}", "quokka&store={store}",
        "invoice&from={day_45}&to={day_44}", "axolotl&versions=all", "pangolin&trash=yes", "invoice&versions=all",
        "nowhereatall&versions=all&trash=yes", "corrected&in=notes",
    )),
)  # fmt: skip

GLANCE = (
    page("overview"), page("overview", who=ADA, called="overview (all)"), page("overview", "?days=90", "overview: 90"),
    store("store_overview"), store("store_overview", "?days=90", "store_overview: 90"), page("saved_views"),
    store("try_call"),
)  # fmt: skip

LINES: tuple[Line, ...] = (
    *HUB, *STORE, *RETENTION, *ERASURE, *MEMORY, *AUDITS, *EXPOSURE, *TIME, *NEWS, *REVIEW, *PROPOSALS, *FINDING,
    *GLANCE,
)  # fmt: skip

NOT_PAGES = {
    **dict.fromkeys(
        ("administrator", "browsers", "browsers_of", "second_step"), "a few rows of one person by an index"
    ),
    **dict.fromkeys(("provider", "provider_back"), "lead to the identity provider and back"),
    "add_app": "a form", "acts": "some requests of people", "act_request": "one row by its id",
    "invitation": "the page of a secret link, which has no store", "receipt": "one row by its id",
    "erase": "leads to erase_everywhere", "erasure_letter": "the receipts of one act by their ids",
    "scan": "one row by its id", "save_view": "a form about one filter",
    "rename_view": "a form about one filter", "delete_view": "a form about one filter",
    "policy": "one row by its id", "delete_policy": "reads every memory, as the rehearsal does",
    "rehearsal": "reads every memory: benchmarks/retention.py measures it", "release_hold": "one row by its id",
    "rehearsal_weeks": "reads every memory, as the rehearsal does",
    "import_": "a page of its items by their key", "import_item": "two texts by their keys",
    "undo_import": "as undo_session", "claude_runs": "a page of runs by their index",
    "claude_evaluations": "a page of evaluations by their index",
    "start_claude_evaluation": "an act", "stop_claude_evaluation": "an act",
    "new_claude_run": "a form", "claude_run": "one row by its id, with its events",
    "stop_claude_run": "an act", "continue_claude_run": "an act", "propose_claude_run": "an act",
    "claude_preset": "one row by its id, with its versions", "compare_claude_runs": "two rows by their ids",
    "compare_sessions": "two rows by their ids",
    "retention_certificate": "reads every memory, as the rehearsal does",
    "export_held": "counts the memories that are held, which may be all of the store",
    "webhook": "a page of its deliveries by their index", "edit_webhook": "one row by its id",
    "delete_webhook": "one row by its id", "delivery": "one row by its id",
    "replay_session": "one row by its id; a replay is a POST, bounded in calls and time",
    "comment": "the comments of one memory, at most 500",
    "guide": "a document of the checkout, and no rows",
    **dict.fromkeys(("public_key", "public_key_pem", "older_public_key"), "follow from the audit keys alone"),
    "first_call": "a key by its id, and few entries of its agent",
    "retention_pattern": "a bounded part of a form", "run": "one row by its id, and a page of its items",
} | dict.fromkeys((
    "hide_first_steps", "allow_act", "refuse_act", "withdraw_act", "set_second_person",
    "undo_decisions", "code", "use_passkey", "ask_passkey", "begin_passkey", "add_passkey",
    "end_browser", "end_other_browsers", "remove_authenticator", "remove_authenticators",
    "sign_out", "scrub_now", "change_password", "theme", "invite_person", "withdraw_invitation", "set_active",
    "password_link", "forgotten", "reset_password", "end_mail", "test_mail", "verify_now", "back_up_now",
    "comments", "answer_comment", "put_away_comment",
    "set_role", "withdraw_store_invitation", "download_memory", "decide", "decide_many",
    "assign", "assign_proposal", "claim", "claim_proposal", "viewed", "choose_import", "start_import", "cancel_import",
    "leave_folder_out",
    "start_run", "allow_run", "cancel_run", "undo_run", "pause_webhook", "resume_webhook", "rotate_webhook",
    "reveal_webhook", "test_webhook", "replay_failed", "replay_delivery",
    "selection", "reveal", "decide_findings", "decide_all_findings", "cancel_scan", "download_receipt",
), "POST") | dict.fromkeys((
    "export_audit", "export_trash", "export_versions", "export_life_line", "export_agents", "export_overview",
    "export_store_overview", "export_rehearsal", "export_search",
), "POST, streams")  # fmt: skip
"""Routes without a line, with the reason."""
