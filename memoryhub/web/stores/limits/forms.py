"""The form of the limits of a store or of the hub."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryhub.models import HubSettings, MemoryStore
from memoryhub.pure.limits import COLUMNS, Limit

LARGEST = 10**12
UNITS = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_SIZE = re.compile(r"\s*(\d{1,15}|\d{1,3}(?:,\d{3}){1,4})(\.\d{1,9})?\s*([a-z]{0,2})\s*", re.ASCII | re.IGNORECASE)


class SizeField(forms.IntegerField):
    """A number of bytes, typed as a number or with a unit ("1.5 GB"). Each unit is 1,024 times the next smaller one."""

    widget = forms.TextInput

    def to_python(self, value: Any) -> int | None:
        if value in self.empty_values:
            return None
        match = _SIZE.fullmatch(str(value))
        if match is None or match[3].lower() not in UNITS:
            raise forms.ValidationError(gettext("Write a number of bytes, or one with KB, MB or GB, as in 200 MB."))
        if match[2] and UNITS[match[3].lower()] == 1:
            raise forms.ValidationError(
                gettext("A number without a unit is in bytes. Write KB, MB or GB, as in 1.5 MB.")
            )
        return int(Decimal(match[1].replace(",", "") + (match[2] or "")) * UNITS[match[3].lower()])

    def prepare_value(self, value: Any) -> Any:
        """Return a number of bytes as a person can type it, in the largest unit that gives a whole number."""
        return sized(value) if isinstance(value, int) else value


def sized(count: int) -> str:
    """Return a number of bytes in words without rounding, such as `5 MB`, or `5,000 B`."""
    unit = next(unit for unit in reversed(UNITS) if not count % UNITS[unit])
    return f"{number_format(count // UNITS[unit], use_l10n=True, force_grouping=True)} {unit.upper()}"


class LimitsForm(forms.Form):
    """All limits, each a number or empty.

    `default(name)` is the limit if the field `name` is empty (None: no limit).
    """

    def __init__(self, data: Any, row: MemoryStore | HubSettings, default: Callable[[str], int | None]) -> None:
        super().__init__(data, initial={column: getattr(row, column) for column in COLUMNS})
        is_hub = isinstance(row, HubSettings)
        self.empty = gettext("Empty: the default, %(limit)s.") if is_hub else gettext("Empty: the hub’s, %(limit)s.")
        for column, limit in COLUMNS.items():
            self.fields[column] = self._field(limit, default(limit.name))

    def facts(self) -> list[tuple[str, str]]:
        """Return the label and value of each limit, for people who may not change them."""
        return [
            (
                str(field.label),
                field.widget.attrs["placeholder"]
                if self.initial[name] is None
                else _shown(self.initial[name], COLUMNS[name]),
            )
            for name, field in self.fields.items()
        ]

    def limits(self) -> dict[str, Any]:
        """Return the limits of a valid form, by the names of the columns."""
        return {name: self.cleaned_data[name] for name in COLUMNS}

    def _field(self, limit: Limit, default: int | None) -> forms.IntegerField:
        field = (SizeField if limit.is_bytes else forms.IntegerField)(
            label=gettext(limit.label),
            required=False,
            min_value=limit.least,
            max_value=settings.MEMORYHUB_BODY_BYTES if limit.name == "body_bytes" else LARGEST,
            help_text=f"{gettext(limit.sentence)} {self.empty % {'limit': _shown(default, limit)}}",
        )
        inputmode = "text" if limit.is_bytes else "numeric"
        field.widget.attrs |= {"placeholder": _shown(default, limit), "inputmode": inputmode, "autocomplete": "off"}
        return field


def of_store(store: MemoryStore, data: Any = None) -> LimitsForm:
    """Return the form of a store's own limits. If a field is empty, the hub's limit applies."""
    return LimitsForm(data, store, HubSettings.current().limit)


def of_hub(data: Any = None) -> LimitsForm:
    """Return the form of the hub's limits. If a field is empty, the limit in the settings applies."""
    return LimitsForm(data, HubSettings.current(), settings.MEMORYHUB_LIMITS.__getitem__)


def _shown(value: int | None, limit: Limit) -> str:
    if value is None:
        return gettext("no limit")
    return sized(value) if limit.is_bytes else number_format(value, use_l10n=True, force_grouping=True)
