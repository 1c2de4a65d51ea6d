"""The limits of a memory store as people read them."""

from typing import Any

from django.utils.translation import gettext_lazy as _

FIELDS: dict[str, tuple[Any, Any]] = {
    "limit_memories": (_("Memories"), _("Memories in the store.")),
    "limit_total_bytes": (_("Bytes in all"), _("Bytes of all its memories together.")),
    "limit_memory_bytes": (_("Bytes of a memory"), _("Bytes of the text of one memory.")),
    "limit_versions": (
        _("Versions of a memory"), _("Memory versions that one memory has; those that retention removed do not count."),
    ),
    "limit_view_characters": (
        _("Characters of a view"), _("Characters that an agent gets in one view; it reads the rest in further ones."),
    ),
    "limit_calls": (_("Calls a minute"), _("Tool calls of one key in any 60 seconds.")),
    "limit_body_bytes": (_("Bytes of a request"), _("Bytes of the body of one request.")),
    "limit_audit_bytes": (
        _("Bytes of the audit"), _("Bytes of the store’s audit entries. At the limit every call of a key is refused."),
    ),
}  # fmt: skip
