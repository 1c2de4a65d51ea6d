"""Lookups of the memories and versions that a URL names, and of their texts."""

from django.http import Http404

from memoryhub.models import Memory, MemoryStore, MemoryVersion, Operation
from memoryhub.web.common.request import Request


def memory_of(store: MemoryStore, memory_id: str) -> Memory:
    """Return a memory of the store, even if it is in the trash; raise Http404 if there is none."""
    memory = Memory.objects.filter(store=store, pk=memory_id).select_related("head").first()
    if memory is None:
        raise Http404
    return memory


def version_of(store: MemoryStore, version_id: str) -> MemoryVersion:
    """Return a version of the store with its text; raise Http404 if there is none."""
    versions = MemoryVersion.objects.filter(store=store).select_related("text")
    found = None if "\0" in version_id else versions.filter(pk=version_id).first()
    if found is None:
        raise Http404
    return found


def number_of(request: Request, name: str) -> int | None:
    """Return a query parameter as a number, or None if it is missing or not a number."""
    value = request.GET.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else None


def text_of(version: MemoryVersion | None) -> str | None:
    """Return the text of a version for a comparison. It is "" if `version` is None or a deletion, and None if the text
    was redacted."""
    if version is None or version.operation == Operation.DELETED:
        return ""
    return version.content


def text_before(before: MemoryVersion | None, version: MemoryVersion) -> str | None:
    """Return the text of `before`, the version before `version`, for a comparison.

    It is "" if `version` is the first one or `before` is a deletion, and None if `before` was redacted or removed.
    """
    return None if before is None and version.number > 1 else text_of(before)


def moved_from(before: MemoryVersion | None, version: MemoryVersion) -> str | None:
    """Return the path of `before` if `version` has another path, else None.

    A redacted version has no path, so it is not known to have another one.
    """
    if before is None or None in (before.path, version.path) or before.path == version.path:
        return None
    return str(before.path)
