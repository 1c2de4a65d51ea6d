"""The limits of a memory store, in one list for settings, SQL, forms, meters and the sentences of the audit.

Each limit has a column `limit_<name>` in `models.stores.Governed` (null: not set).
"""

from dataclasses import dataclass


def _(text: str) -> str:
    """Mark a text for translation, which happens where the text is shown."""
    return text


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. `default` applies if neither the store nor the hub has set the limit.

    The environment variable with the name `variable` replaces the default. `meter` is the label of the usage that pages
    compare with the limit. `full` says what happens when the limit is reached.
    """

    name: str
    default: int
    label: str
    sentence: str
    is_bytes: bool = False
    is_of_writes: bool = True
    least: int = 1
    variable: str = ""
    meter: str = ""
    full: str = ""

    @property
    def column(self) -> str:
        return f"limit_{self.name}"


LIMITS = {
    limit.name: limit
    for limit in (
        Limit(
            "memories", 10_000, _("Memories"), _("Memories in the store."),
            meter=_("Memories"), full=_("No memory can be created until some memories are deleted or merged."),
        ),
        Limit(
            "total_bytes", 100 * 1024 * 1024, _("Bytes in all"), _("Bytes of all memories of the store together."),
            is_bytes=True, meter=_("Bytes"), full=_("No memory can grow until some memories are deleted or shortened."),
        ),
        Limit("memory_bytes", 102_400, _("Bytes of a memory"), _("Bytes of the text of one memory."), is_bytes=True),
        Limit(
            "versions", 10_000, _("Versions of a memory"),
            _("Versions of one memory. Versions that retention removed do not count."),
        ),
        Limit(
            "view_characters", 16_000, _("Characters of a view"),
            _("Characters that an agent gets in one view. The agent reads the rest in further views."),
        ),
        Limit(  # an agent that works without a pause makes five a second
            "calls", 1_200, _("Calls a minute"),
            _("Tool calls of each key in any 60 seconds. The same limit applies to all agents and keys."),
            variable="MEMORYHUB_CALLS",
            meter=_("Calls a minute, busiest key"), full=_("Further calls of that key are refused until its "
            "earlier calls are a minute old."),
        ),
        Limit(  # a body with less room would hold no call
            "body_bytes", 1024 * 1024, _("Bytes of a request"), _("Bytes of the body of one request."), is_bytes=True,
            is_of_writes=False, least=1024,
        ),
        Limit(  # about four million calls
            "audit_bytes", 10 * 1024**3, _("Bytes of the audit"),
            _("Bytes of the store’s audit entries. At the limit, all calls of agents are refused."), is_bytes=True,
            meter=_("Audit"),
            full=_(
                "At the limit, all calls of agents are refused, because each call must be recorded. Raise the "
                "limit, or let a retention policy remove the oldest audit entries."
            ),
        ),
    )
}  # fmt: skip
COLUMNS = {limit.column: limit for limit in LIMITS.values()}
