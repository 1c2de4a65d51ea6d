"""The form of limits: those of a store, or those of the hub."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryhub.actions.core.hub_settings import LIMITS
from memoryhub.models import HubSettings, MemoryStore
from memoryhub.web.common.limit_fields import FIELDS

LARGEST = 10**12
SMALLEST_BODY = 1024
"""A body with less room would hold no call."""


class LimitsForm(forms.Form):
    """All limits, each empty or a number; what holds where one is empty is told by `default(name)` (null: nothing)."""

    def __init__(self, data: Any, row: MemoryStore | HubSettings, default: Callable[[str], int | None]) -> None:
        super().__init__(data, initial={name: getattr(row, name) for name in LIMITS})
        is_hub = isinstance(row, HubSettings)
        self.empty = gettext("Empty: the default, %(limit)s.") if is_hub else gettext("Empty: the hub’s, %(limit)s.")
        for name, (label, unit) in FIELDS.items():
            self.fields[name] = self._field(name, label, unit, default(name.removeprefix("limit_")))

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
        return {name: self.cleaned_data[name] for name in LIMITS}

    def _field(self, name: str, label: Any, unit: Any, default: int | None) -> forms.IntegerField:
        body = name == "limit_body_bytes"
        field = forms.IntegerField(
            label=label,
            required=False,
            min_value=SMALLEST_BODY if body else 1,
            max_value=settings.MEMORYHUB_BODY_BYTES if body else LARGEST,
            help_text=f"{unit} {self.empty % {'limit': _shown(default)}}",
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
