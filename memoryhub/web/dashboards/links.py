"""Links from the marks and numbers of a dashboard to the audit, filtered to the same entries."""

from datetime import date
from urllib.parse import urlencode

from django.urls import reverse

from memoryhub.pure import ids
from memoryhub.web.common.filters.keys import ACTIVE
from memoryhub.web.dashboards.period import Column


class Links:
    """URLs of the audit of one store or all stores, for one author or all authors."""

    def __init__(self, store: str = "", author: str = "") -> None:
        self._place = reverse("store_audit", args=[store]) if store else reverse("audit")
        self._stores = {} if store else {"store": ACTIVE}
        self._author = author
        self._columns: dict[Column, str] = {}

    def audit(self, *, author: str = "", **filters: str) -> str:
        """Return the URL of the audit with filters; `author` is the id of an agent or a person."""
        chosen = author or self._author
        if chosen:
            filters["person" if chosen.startswith(ids.USER) else "agent"] = chosen
        filters |= self._stores
        return self._place + ("?" + urlencode(filters) if filters else "")

    def column(self, column: Column, **filters: str) -> str:
        """Return the URL of the audit, filtered to the days of a column."""
        if column not in self._columns:
            self._columns[column] = self.audit(**days(column.start, column.end))
        return self._columns[column] + ("&" + urlencode(filters) if filters else "")


def days(start: date, end: date | None = None) -> dict[str, str]:
    """Return filters for the entries from the day `start` (UTC) to the day before `end` (None: up to now)."""
    found = {"from": f"{start:%Y-%m-%d}T00:00Z"}
    return found | ({"to": f"{end:%Y-%m-%d}T00:00Z"} if end else {})
