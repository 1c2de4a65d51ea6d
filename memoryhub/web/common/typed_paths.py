"""Paths that people type as agents write them: with the root of the memory tool, `/memories`, before the path."""

from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure.protocol import paths
from memoryhub.templatetags.visible import isolated


def root_problem(typed: str, stores: Collection[str]) -> str:
    """Return a sentence that asks to leave out the root of the tool, if a path or a pattern begins with the root.
    Otherwise, return "".

    Return "" also if one of the `stores` (ids) has or had a memory or a directory that is itself named like the root.
    """
    if typed != paths.ROOT and not typed.startswith(f"{paths.ROOT}/"):
        return ""
    versions = MemoryVersion.objects.filter(store_id__in=stores)
    if versions.at(paths.ROOT).exists() or versions.under(paths.ROOT).exists():
        return ""
    meant = "/" + typed.removeprefix(paths.ROOT).lstrip("/")
    if is_only_directory(meant, stores):
        meant += "/"
    return _("Leave out /memories at the beginning: did you mean %(path)s?") % {"path": isolated(meant)}


def is_only_directory(typed: str, stores: Collection[str]) -> bool:
    """Return whether a path without a slash at the end names a directory of one of the stores (ids), and no memory."""
    if not typed or typed.endswith("/") or "*" in typed:
        return False
    memories = Memory.objects.filter(store_id__in=stores)
    return memories.under(typed).exists() and not memories.at(typed).exists()


def require_below_root(typed: str, stores: Collection[str]) -> None:
    """Raise ValidationError if a path or a pattern begins with the root of the tool, but no memory or directory of the
    `stores` (ids) is or was named like it."""
    if problem := root_problem(typed, stores):
        raise ValidationError(problem, code="root")
