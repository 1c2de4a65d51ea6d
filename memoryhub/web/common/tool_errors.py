"""Refusals of the memory tool in words for people: translated, and with paths without the tool's root."""

import re
from collections.abc import Callable

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.plain import without_root
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated


def for_people(error: ToolError) -> str:
    """Return the sentence of a refusal as plain text, with all characters visible."""
    return _said(error, lambda text: isolated(without_hidden(text)))


def why_not(error: ToolError | NoSuchStore) -> str:
    """Return why an act was not done in a memory store: the tool refused it, or the store was deleted."""
    return gettext("The memory store was deleted.") if isinstance(error, NoSuchStore) else for_people(error)


def in_words(error: ToolError) -> str:
    """Return the sentence of a refusal, for a template that shows the sentence with the filter `visible`."""
    return _said(error, str)


def of_call(answer: str) -> str:
    """Return why a call of an agent was refused. `answer` is the first line of the answer to the call. Show the result
    with the filter `visible`."""
    for pattern, sentence in _OF_CALLS:
        if match := pattern.fullmatch(answer):
            return str(sentence) % match.groupdict()
    return in_words(ToolError(answer))


def for_writer(error: ToolError) -> str:
    """Return the sentence of a refusal, and what a person can do who has the text in a form."""
    advice = next((str(advice) for pattern, advice in _ADVICE if pattern.fullmatch(error.message)), "")
    return f"{for_people(error)} {advice}".rstrip()


def is_about_text(error: ToolError) -> bool:
    """Return whether a refusal is about the text of a memory, and not about its path."""
    return any(pattern.fullmatch(error.message) for pattern in _OF_TEXT)


def _said(error: ToolError, show: Callable[[str], str]) -> str:
    """Return the translated sentence of a refusal, with `show` applied to each value in it."""
    for pattern, sentence in _SENTENCES:
        if match := pattern.fullmatch(error.message):
            return str(sentence) % {name: show(_shown(name, value)) for name, value in match.groupdict().items()}
    return show(without_root(error.message))


def _shown(name: str, value: str) -> str:
    if name == "refused":  # the path as the tool checked it, with the tool's root
        return value.removeprefix(paths.ROOT)
    if name == "kind":
        return gettext(value)
    return str(_REASONS.get(value, value)) if name == "why" else value


def _pattern(sentence: Callable[..., str], *names: str) -> re.Pattern[str]:
    """Return a pattern that matches every text that the function `sentence` can return.

    `sentence` is in the module `results`. `names` name its arguments; each argument is a group of the pattern.
    """
    escaped = re.escape(sentence(*(f"⟪{name}⟫" for name in names)))
    for name in names:
        escaped = escaped.replace(f"⟪{name}⟫", f"(?P<{name}>.*)", 1).replace(f"⟪{name}⟫", f"(?P={name})")
    return re.compile(escaped, re.DOTALL)


_OF_TEXT = (
    _pattern(results.blocked, "path", "kind", "line"),
    _pattern(results.too_much_like, "path", "kind"),
    _pattern(results.memory_too_large, "path", "size", "limit"),
    _pattern(results.store_too_large, "size", "limit"),
    _pattern(results.too_many_lines, "path"),
)

_ADVICE: tuple[tuple[re.Pattern[str], Promise], ...] = (
    (_pattern(results.blocked, "path", "kind", "line"), _("Remove it and save again.")),
    (_pattern(results.too_much_like, "path", "kind"), _("Save the text in parts.")),
    (
        _pattern(results.too_many_versions, "path", "count"),
        _("Write to another path, or delete it and create it again."),
    ),
)
"""(pattern of the tool's sentence, advice) for refusals of a text that a person has just written."""

_REASONS: dict[str, Promise] = {
    "'.' segments are not allowed": _("a part that is a single dot is not allowed"),
    "backslashes are not allowed": _("backslashes are not allowed"),
    "a file path must not end with /": _("the path of a memory must not end with /"),
    paths.UNSEEN: _("control, invisible and formatting characters are not allowed"),
    paths.SEPARATORS: _("characters that look like / are not allowed"),
    paths.ENCODED: _("an encoded / is not allowed"),
    paths.LEVELS: _("too many levels of percent-encoding"),
    paths.SPACES: _("names must not start or end with spaces"),
    paths.LONG: _("it is longer than 1024 bytes, or a name in it than 255"),
    paths.DEEP: _("it is deeper than 20 levels"),
}

_SENTENCES: tuple[tuple[re.Pattern[str], Promise], ...] = (
    (_pattern(results.path_escapes, "refused"), _("The path %(refused)s would lead out of the memory store.")),
    (_pattern(results.path_not_allowed, "refused", "why"), _("The path %(refused)s is not allowed: %(why)s.")),
    (_pattern(results.does_not_exist, "path"), _("There is nothing at %(path)s any more.")),
    (_pattern(results.already_exists, "path"), _("A memory or a directory is already at %(path)s.")),
    (_pattern(results.destination_exists, "path"), _("A memory or a directory is already at %(path)s.")),
    (
        _pattern(results.cannot_create, "path", "parent"),
        _("A memory cannot be at %(path)s, because %(parent)s is a memory and not a directory."),
    ),
    (
        _pattern(results.cannot_rename, "path", "new", "parent"),
        _("%(path)s cannot be moved to %(new)s, because %(parent)s is a memory and not a directory."),
    ),
    (_pattern(results.inside_itself, "path", "new"), _("%(path)s cannot be moved inside itself, to %(new)s.")),
    (_pattern(results.cannot_delete_root), _("The root directory cannot be deleted.")),
    (_pattern(results.cannot_rename_root), _("The root directory cannot be renamed.")),
    (_pattern(results.store_archived), _("This memory store is archived and cannot be changed.")),
    (
        _pattern(results.memory_too_large, "path", "size", "limit"),
        _(
            "%(path)s would have %(size)s bytes, but the limit of this memory store "
            "is %(limit)s. Split it or shorten it."
        ),
    ),
    (
        _pattern(results.too_many_memories, "count"),
        _("This memory store has %(count)s memories, which is its limit. Delete or merge some of them."),
    ),
    (
        _pattern(results.store_too_large, "size", "limit"),
        _("This memory store would have %(size)s bytes, but its limit is %(limit)s. Delete or shorten some memories."),
    ),
    (
        _pattern(results.held, "path"),
        _("%(path)s is under a legal hold and cannot be deleted until the hold is released."),
    ),
    (
        _pattern(results.held_in, "path", "directory"),
        _("%(path)s cannot be moved, because %(directory)s is under a legal hold and its contents must stay in it."),
    ),
    (
        _pattern(results.frozen, "path", "reason"),
        _(
            "%(path)s is under a legal hold and cannot be changed, moved or deleted "
            "until the hold is released: %(reason)s"
        ),
    ),
    (
        _pattern(results.blocked, "path", "kind", "line"),
        _("Line %(line)s of %(path)s contains %(kind)s, which this memory store does not keep."),
    ),
    (
        _pattern(results.too_much_like, "path", "kind"),
        _("Too much of %(path)s looks like %(kind)s, so the check would take too long."),
    ),
    (
        _pattern(results.path_blocked, "kind"),
        _("This path contains %(kind)s, which this memory store does not keep. Choose another path."),
    ),
    (
        _pattern(results.too_many_versions, "path", "count"),
        _("%(path)s has %(count)s versions, which is the limit of this memory store."),
    ),
    (_pattern(results.nothing_to_restore), _("This memory version has no text that could be restored.")),
)

_NOTHING_AT = _("There is nothing at %(path)s.")

_OF_CALLS: tuple[tuple[re.Pattern[str], Promise], ...] = (
    (_pattern(results.view_not_found, "path"), _NOTHING_AT),
    (_pattern(results.path_not_found, "path"), _NOTHING_AT),
    (_pattern(results.does_not_exist, "path"), _NOTHING_AT),
    (
        re.compile("No replacement was performed, old_str .*", re.DOTALL),
        _("The text to replace is not there in exactly this form."),
    ),
    (
        re.compile("No replacement was performed. Multiple occurrences of old_str .*", re.DOTALL),
        _("The text to replace is there more than once."),
    ),
    (
        re.compile("Error: Invalid `(insert_line|view_range)`.*(within the range|second element).*", re.DOTALL),
        _("The call named lines that the memory does not have."),
    ),
    (
        re.compile("Error: Path must start with /memories, got: (?P<path>.*)", re.DOTALL),
        _("The path %(path)s does not begin with /memories."),
    ),
    (
        re.compile("Error: Parameter `(?P<name>[a-z_]+)` is required for command: .*"),
        _("The call lacks the parameter %(name)s."),
    ),
    (_pattern(results.key_may_not_write), _("The key of the agent may only read this memory store.")),
)
"""(pattern of the tool's sentence, sentence for people) for refusals of calls by agents. A refusal that matches no
pattern here has the sentence of `in_words`."""
