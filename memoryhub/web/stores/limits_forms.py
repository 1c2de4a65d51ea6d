"""The form of limits: those of a store, or those of the hub."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryhub.limits import COLUMNS, Limit
from memoryhub.models import HubSettings, MemoryStore

LARGEST = 10**12


class LimitsForm(forms.Form):
    """All limits, each empty or a number; what holds where one is empty is told by `default(name)` (null: nothing)."""

    def __init__(self, data: Any, row: MemoryStore | HubSettings, default: Callable[[str], int | None]) -> None:
        super().__init__(data, initial={column: getattr(row, column) for column in COLUMNS})
        is_hub = isinstance(row, HubSettings)
        self.empty = gettext("Empty: the default, %(limit)s.") if is_hub else gettext("Empty: the hub’s, %(limit)s.")
        for column, limit in COLUMNS.items():
            self.fields[column] = self._field(limit, default(limit.name))

    def facts(self) -> list[tuple[str, str]]:
        """What holds, for those who may not change it."""
        return [
            (
                str(field.label),
                field.widget.attrs["placeholder"] if self.initial[name] is None else _shown(self.initial[name]),
            )
            for name, field in self.fields.items()
        ]

    def limits(self) -> dict[str, Any]:
        """What a valid form says, by the names of the columns."""
        return {name: self.cleaned_data[name] for name in COLUMNS}

    def _field(self, limit: Limit, default: int | None) -> forms.IntegerField:
        field = forms.IntegerField(
            label=gettext(limit.label),
            required=False,
            min_value=limit.least,
            max_value=settings.MEMORYHUB_BODY_BYTES if limit.name == "body_bytes" else LARGEST,
            help_text=f"{gettext(limit.sentence)} {self.empty % {'limit': _shown(default)}}",
        )
        field.widget.attrs |= {"placeholder": _shown(default), "inputmode": "numeric"}
        return field


def of_store(store: MemoryStore, data: Any = None) -> LimitsForm:
    """A store's own limits; where one is empty, the hub's holds."""
    return LimitsForm(data, store, HubSettings.current().limit)


def of_hub(data: Any = None) -> LimitsForm:
    """The hub's limits; where one is empty, that of the settings holds."""
    return LimitsForm(data, HubSettings.current(), settings.MEMORYHUB_LIMITS.__getitem__)


def _shown(limit: int | None) -> str:
    return gettext("no limit") if limit is None else number_format(limit, use_l10n=True, force_grouping=True)
