"""Every exact sentence of the tool, defined once. Functions take paths in the API's form; the sentences show them under
/memories."""

import unicodedata
from collections.abc import Sequence

from memoryhub.pure.protocol.sensitive_kinds import kind_name

ROOT = "/memories"
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
LONGEST_ECHO = 200
MOST_LINES_NAMED = 100
LONGEST_LISTING = 2_000
MOST_LINES = 999_999

UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def echo(value: object) -> str:
    """Return a refused value in the form in which an error shows it: invisible characters are escaped, then it is cut
    after 200 characters."""
    if not isinstance(value, str):
        return str(value)
    shown = value[: LONGEST_ECHO + 1]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(map(_visible, shown))
    return shown if len(shown) <= LONGEST_ECHO else f"{shown[:LONGEST_ECHO]}..."


def _visible(character: str) -> str:
    if unicodedata.category(character) in UNSEEN_CATEGORIES:
        return character.encode("unicode_escape").decode()
    return character


# ------------------------------------------------------------------------------------------------ commands


def unrecognized_command(command: object) -> str:
    allowed = ", ".join(COMMANDS)
    return f"Error: Unrecognized command {echo(command)}. The allowed commands for the memory tool are: {allowed}"


def missing_parameter(name: str, command: str) -> str:
    return f"Error: Parameter `{name}` is required for command: {command}"


def empty_old_str() -> str:
    return "Error: Parameter `old_str` must not be empty for command: str_replace"


def not_a_string(name: str) -> str:
    return f"Error: Parameter `{name}` must be a string"


def has_nul(name: str) -> str:
    return f"Error: `{name}` contains a NUL character, which cannot be stored"


def not_unicode(name: str) -> str:
    return f"Error: `{name}` is not valid Unicode text (unpaired surrogate)"


# ------------------------------------------------------------------------------------------------ paths


def path_outside(path: object) -> str:
    return f"Error: Path must start with /memories, got: {echo(path)}"


def path_relative(path: str) -> str:
    """Return the API's error for a path that does not begin with a slash."""
    return f"Error: Path must start with /, got: {echo(path)}"


def path_escapes(path: str) -> str:
    return f"Error: Path {echo(path)} would escape /memories directory"


def path_not_allowed(path: str, why: str) -> str:
    return f"Error: Path {echo(path)} is not allowed: {why}"


# ------------------------------------------------------------------------------------------------ the tree


def created(path: str) -> str:
    return f"File created successfully at: {ROOT}{path}"


def edited(path: str) -> str:
    return f"The file {ROOT}{path} has been edited."


def edited_with_snippet(snippet: str) -> str:
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"


def deleted(path: str) -> str:
    return f"Successfully deleted {ROOT}{path}"


def renamed(path: str, new_path: str) -> str:
    return f"Successfully renamed {ROOT}{path} to {ROOT}{new_path}"


def path_not_found(path: str) -> str:
    """Return the error of str_replace for a path without a memory."""
    return f"Error: The path {ROOT}{path} does not exist. Please provide a valid path."


def view_not_found(path: str) -> str:
    """Return the error of the command `view` for a path without a memory or directory. It does not begin with `Error:
    `."""
    return f"The path {ROOT}{path} does not exist. Please provide a valid path."


def does_not_exist(path: str) -> str:
    """Return the error of insert, delete and rename for a path where there is nothing to change."""
    return f"Error: The path {ROOT}{path} does not exist"


def already_exists(path: str) -> str:
    return f"Error: File {ROOT}{path} already exists"


def cannot_create(path: str, parent: str) -> str:
    return f"Error: Cannot create {ROOT}{path}: {ROOT}{parent} is a file, not a directory"


def cannot_delete_root() -> str:
    return "Error: Cannot delete the /memories directory itself"


def cannot_rename_root() -> str:
    return "Error: Cannot rename the /memories directory itself"


def destination_exists(new_path: str) -> str:
    return f"Error: The destination {ROOT}{new_path} already exists"


def inside_itself(path: str, new_path: str) -> str:
    return f"Error: Cannot rename {ROOT}{path} to {ROOT}{new_path}: a path cannot be moved inside itself"


def cannot_rename(path: str, new_path: str, parent: str) -> str:
    return f"Error: Cannot rename {ROOT}{path} to {ROOT}{new_path}: {ROOT}{parent} is a file, not a directory"


# ------------------------------------------------------------------------------------------------ texts


def not_verbatim(path: str, old_str: str) -> str:
    return f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {ROOT}{path}."


def many_occurrences(old_str: str, lines: Sequence[int], more: bool) -> str:
    named = ", ".join(map(str, lines)) + (", ..." if more else "")
    return (
        f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {named}. "
        "Please ensure it is unique"
    )


def invalid_insert_line(insert_line: object, lines: int) -> str:
    return (
        f"Error: Invalid `insert_line` parameter: {echo(insert_line)}. "
        f"It should be within the range of lines of the file: [0, {lines}]"
    )


def invalid_range() -> str:
    return "Error: Invalid `view_range`. It should be a list of two integers."


def range_starts_past_end(view_range: object, first: int, lines: int) -> str:
    return (
        f"Error: Invalid `view_range`: {view_range}. Its first element `{first}` should be within the range of lines "
        f"of the file: [1, {lines}]"
    )


def range_ends_before_start(view_range: object, first: int, last: int) -> str:
    return (
        f"Error: Invalid `view_range`: {view_range}. Its second element `{last}` should be larger or equal than its "
        f"first `{first}`"
    )


def too_many_lines(path: str) -> str:
    return f"File {ROOT}{path} exceeds maximum line limit of {MOST_LINES:,} lines."


def content_header(path: str) -> str:
    return f"Here's the content of {ROOT}{path} with line numbers:\n"


def cut_lines(first: int, last: int, lines: int) -> str:
    return f"\n[Lines {first} to {last} of {lines} shown. Use view_range [{last + 1}, {lines}] for the rest.]"


def listing_header(path: str) -> str:
    return (
        f"Here're the files and directories up to 2 levels deep in {ROOT}{path}, excluding hidden items and "
        "node_modules:"
    )


def more_items(count: int) -> str:
    return f"[{count} more items not shown. View a directory beneath to see them.]"


# ------------------------------------------------------------------------------------------------ the hub's own


def key_may_not_write() -> str:
    return "Error: this key may not write to this memory store"


def store_archived() -> str:
    return "Error: this memory store is archived and cannot be changed"


def too_many_pairs(count: int, most: int) -> str:
    """Return the API's error for a patch that would make the metadata of a store too large."""
    return f"Error: this memory store would have {count} pairs of metadata; {most} are the most"


def held(path: str) -> str:
    return f"Error: A legal hold is on {ROOT}{path}, which cannot be deleted"


def held_in(path: str, directory: str) -> str:
    return f"Error: A legal hold is on {ROOT}{directory}: {ROOT}{path} cannot be moved out of what is held"


def frozen(path: str, reason: str) -> str:
    """Return the error for a frozen memory, which is the same at every door. `reason` is what the person who froze it
    wrote."""
    return f"Error: The memory {ROOT}{path} is held and cannot be changed, moved or deleted: {reason}"


BY_RULE = "A path rule does not let this agent "
"""How the refusal of a path rule begins, after `Error: `."""


def refused_by_rule(path: str, verb: str, reason: str) -> str:
    """Return the error for a change that a path rule refuses. `verb` is create, change, delete or rename."""
    return f"Error: {BY_RULE}{verb} {ROOT}{path}" + (f": {reason}" if reason else "")


def proposed_too_often(path: str, verb: str, opened: int, reason: str, has_session: bool = True) -> str:
    """Return the error for a session that has opened as many proposals as a path rule allows. `opened` is their number.

    If `has_session` is false, the error is for calls without a session. Then `opened` is the number of proposals that
    such calls of the key have opened on this day (UTC).
    """
    count = f"{opened:,} proposal" + ("" if opened == 1 else "s")
    said = f"this session has already made {count}, and may make no more here"
    if not has_session:
        said = f"calls of this key without a session have made {count} today (UTC), and may make no more here"
    said += ". Nothing was written or proposed, so go on without this change."
    return refused_by_rule(path, verb, said + (f" {reason}" if reason else ""))


PROPOSED = "Not written: this change is now part of proposal #"
"""The beginning of the answer to a change that waits for a person's decision."""
NO_ERROR = "It is not visible yet: a reviewer decides about it. Go on, and"
"""The text after PROPOSED and the number of the proposal, if the answer is no error of the tool."""


def proposed(number: int | str, reason: str, is_error: bool = True) -> str:
    """Return the answer to a change that waits for a person. `reason` is a person's text on one line, or empty.

    `is_error`: the answer is an error of the tool.
    """
    about = "It is not visible yet. A reviewer decides about it, so" if is_error else NO_ERROR
    return f"{PROPOSED}{number}. {about} do not repeat the change." + (f" {reason}" if reason else "")


def waiting(number: int, what: str) -> str:
    """Return a line to append to a view. `what` completes the sentence `you propose to …`."""
    return f"[Not there yet: in proposal #{number}, which waits for a reviewer, you propose to {what}]"


def too_many_proposals(count: int) -> str:
    return f"Error: too many proposals wait for a reviewer of this memory store: {count:,}. Try again later."


def too_many_proposals_of_agent(count: int) -> str:
    return f"Error: too many proposals of this agent wait for a reviewer: {count:,}. Try again later."


def too_much_proposed(size: str, most: str) -> str:
    return f"Error: too many changes for one proposal: {size}; {most} are the most. Make a smaller change."


def too_many_for_rules(count: int) -> str:
    """Return the error for a change of so many memories that it would take too long to check the path rules."""
    return f"Error: too many memories for the path rules of this memory store: {count:,}. Change fewer at once."


def too_many_to_see() -> str:
    return "Error: too many memories for the path rules of this memory store. View a smaller directory."


def memory_too_large(path: str, size: int, limit: int) -> str:
    return (
        f"Error: {ROOT}{path} would be {size} bytes; the limit of this memory store is {limit}. Split it or shorten it."
    )


def too_many_memories(count: int) -> str:
    return f"Error: this memory store holds {count} memories, which is its limit. Delete or merge some."


def store_too_large(size: int, limit: int) -> str:
    return f"Error: this memory store would hold {size} bytes; its limit is {limit}. Delete or shorten some memories."


def precondition_failed(path: str) -> str:
    """Return the API's error for a write that expects a text which the memory does not have."""
    return f"Error: the precondition failed: {ROOT}{path} has another text than the request expects"


def too_many_versions(path: str, count: int) -> str:
    return (
        f"Error: {ROOT}{path} has {count} versions, which is the limit of this memory store. Write to another path, or "
        "delete it and create it again."
    )


def cannot_redact_newest() -> str:
    """Return the error for a redaction of a memory's current text. Whoever may redact can first write another text."""
    return "Error: the newest version of a memory cannot be redacted: write another text first, or delete the memory"


def blocked(path: str, kind: str, line: int) -> str:
    """Return the error for a text that contains a forbidden value. It names the value's kind and line, but not the
    value itself."""
    return (
        f"Error: line {line} of {ROOT}{path} would hold {kind_name(kind)}, which this memory store does not keep. "
        "Leave it out."
    )


def too_much_like(path: str, kind: str) -> str:
    """Return the error for a text that has so many near matches of a kind of sensitive text that a search would take
    too long."""
    return (
        f"Error: too much of {ROOT}{path} looks like {kind_name(kind)}, and it would take too long to search it. "
        "Save it in parts."
    )


def path_blocked(kind: str) -> str:
    """Return the error for a path that itself contains a sensitive value. The error does not show the path."""
    return f"Error: this path would hold {kind_name(kind)}, which this memory store does not keep. Choose another path."


def masked(kinds: Sequence[str]) -> str:
    """Return a line to append to an answer. It names the kind of each value that was stored masked."""
    names = [f"[redacted:{kind}]" for kind in dict.fromkeys(kinds)]
    shown = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
    number, was, it = (1, "passage was", "it") if len(kinds) == 1 else (len(kinds), "passages were", "them")
    return f"\n[{number} {was} stored as {shown}, because this memory store does not keep {it}.]"


def note(text: str, lines: tuple[int, int] | None) -> str:
    """Return a line to append to a view: a person's text, and the `lines` that the text is about, if known."""
    about = "" if lines is None else f" about line {lines[0]}" + (f" to {lines[1]}" if lines[1] > lines[0] else "")
    return f"[Not part of this memory, but a note of a reviewer to you{about}: {text}]"


def cannot_erase(term: str, least: int) -> str:
    """Return the error for a text that cannot be erased: it is too short, or the mark for erased text contains it."""
    if len(term) < least:
        return f"Error: a text to erase needs at least {least} characters"
    return "Error: this text is a part of the mark that would stand in its place"


def nothing_to_restore() -> str:
    """Return the error for a version that cannot be restored: it has no text, or is of another memory."""
    return "Error: this memory version has no text that could be restored"


def lives_elsewhere(path: str, place: str) -> str:
    """Return the API's error for a restore of a live memory to another path. For a deleted memory, this is possible."""
    return f"Error: Path {ROOT}{path} is not where the memory is, which is {ROOT}{place}: rename it instead"


def choice_missing(path: str) -> str:
    """Return the error for a plan that lacks a choice: what to do with the later changes of a memory."""
    return f"Error: choose what is to become of {ROOT}{path}"


def redacted() -> str:
    """Return the text that an answer shows in place of a text that has been redacted."""
    return "[redacted]"
