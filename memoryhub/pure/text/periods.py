"""Periods that a person names, such as today, last-week or 7d: the first moment, and the moment after the end."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, tzinfo

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
NAMED = (
    "today", "yesterday", "since-yesterday", "this-week", "last-week", "since-last-week", "this-month", "last-month",
    "since-last-month",
)  # fmt: skip
"""The names of periods. Weeks begin on Mondays."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
"""The names of days. Each means the last day with this name: today, or one of the six days before."""

_AGO = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def ago(value: str) -> timedelta | None:
    """Return the length of time that a value means, such as 30m, 24h, 7d or 2w; None for any other value."""
    found = _AGO.fullmatch(value)
    return timedelta(**{UNITS[found[2]]: int(found[1])}) if found else None


def is_date(value: str) -> bool:
    """Return whether a value has the form of a date, such as 2026-01-31."""
    return _DATE.fullmatch(value) is not None


def period(value: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime | None] | None:
    """Return the start and the end (None: now) of the period that `value` names; None if it names no period.

    Raises ValueError if the date does not exist; OverflowError if the period goes beyond the years 1 to 9999.
    """
    if length := ago(value):
        return now - length, None
    days = (
        (date.fromisoformat(value),) * 2 if is_date(value) else _days(now.astimezone(zone).date()).get(value.casefold())
    )
    if days is None:
        return None
    start, last = days
    return datetime.combine(start, time(), zone), datetime.combine(last + timedelta(days=1), time(), zone)


def _days(today: date) -> Mapping[str, tuple[date, date]]:
    """Return {name of a period: its first and its last day}."""
    day = timedelta(days=1)
    monday, first = today - today.weekday() * day, today.replace(day=1)
    first_before = (first - day).replace(day=1)
    weekdays = {name: today - (today.weekday() - number) % 7 * day for number, name in enumerate(WEEKDAYS)}
    return {name: (last, last) for name, last in weekdays.items()} | {
        "today": (today, today),
        "yesterday": (today - day, today - day),
        "since-yesterday": (today - day, today),
        "this-week": (monday, monday + 6 * day),
        "last-week": (monday - 7 * day, monday - day),
        "since-last-week": (monday - 7 * day, today),
        "this-month": (first, (first + 31 * day).replace(day=1) - day),
        "last-month": (first_before, first - day),
        "since-last-month": (first_before, today),
    }
