"""What the addresses of memories and versions name, and their texts."""

from django.http import Http404

from memoryhub.models import Memory, MemoryStore, MemoryVersion, Operation
from memoryhub.web.common.request import Request


def memory_of(store: MemoryStore, memory_id: str) -> Memory:
    """A memory of the store, also one in the trash; else 404."""
    memory = Memory.objects.filter(store=store, pk=memory_id).select_related("head").first()
    if memory is None:
        raise Http404
    return memory


def version_of(store: MemoryStore, version_id: str) -> MemoryVersion:
    """A version of the store with its text, else 404."""
    versions = MemoryVersion.objects.filter(store=store).select_related("text")
    found = None if "\0" in version_id else versions.filter(pk=version_id).first()
    if found is None:
        raise Http404
    return found


def number_of(request: Request, name: str) -> int | None:
    """A number of the address; null where it is missing or is not one."""
    value = request.GET.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else None


def text_of(version: MemoryVersion | None) -> str | None:
    """The text to compare: empty before the first version and after a deletion; null where it has been redacted."""
    if version is None or version.operation == Operation.DELETED:
        return ""
    return version.content


def text_before(before: MemoryVersion | None, version: MemoryVersion) -> str | None:
    """The text of the version before; null too where that one has been removed."""
    return None if before is None and version.number > 1 else text_of(before)
