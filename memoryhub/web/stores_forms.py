"""The forms of memory stores."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.stores import StoreSettings
from memoryhub.models import MemoryStore

LARGEST = 10**12


class LimitField(forms.IntegerField):
    """A limit of a store; left empty, the hub's own holds, which the help text tells."""

    def __init__(self, name: str, label: Any, unit: Any) -> None:
        super().__init__(label=label, required=False, min_value=1, max_value=LARGEST)
        self.name, self.unit = name, unit
        self.widget.attrs["placeholder"] = str(settings.MEMORYHUB_LIMITS[name])

    def told(self) -> str:
        """What the field counts, and what holds where it is empty."""
        default = f"{settings.MEMORYHUB_LIMITS[self.name]:,}"
        return gettext("%(unit)s Empty: the hub's limit, %(default)s.") % {"unit": self.unit, "default": default}


class StoreForm(forms.Form):
    """What a person sets of a store."""

    name = forms.CharField(label=_("Name"), max_length=255)
    description = forms.CharField(
        label=_("Description"), required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("What these memories are for, and which agents use them."),
    )  # fmt: skip
    overwrite_on_create = forms.BooleanField(
        label=_("Overwrite on create"), required=False,
        help_text=_("When an agent creates a memory where there already is one, it becomes a new version of that one."
                    " Otherwise the agent gets an error, as the memory tool says."),
    )  # fmt: skip
    limit_memory_bytes = LimitField("memory_bytes", _("Largest memory"), _("Bytes of one memory."))
    limit_memories = LimitField("memories", _("Most memories"), _("Memories in the store."))
    limit_total_bytes = LimitField("total_bytes", _("Largest store"), _("Bytes of all memories together."))
    limit_view_characters = LimitField(
        "view_characters", _("Longest view"), _("Characters that an agent gets in one view, the rest in further ones.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, LimitField):
                field.help_text = field.told()

    @classmethod
    def of(cls, store: MemoryStore) -> "StoreForm":
        return cls(initial=StoreSettings.of(store).as_json())

    def settings(self) -> StoreSettings:
        """What a valid form says."""
        given = dict(self.cleaned_data)
        given["description"] = given["description"].replace("\r\n", "\n")
        return StoreSettings(**given)


class NameTypedForm(forms.Form):
    """The name of the store, typed once more."""

    name = forms.CharField(
        label=_("Type the name of the memory store"), required=True, strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )  # fmt: skip

    def __init__(self, store: MemoryStore, data: Any = None) -> None:
        super().__init__(data)
        self.store = store

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.store.name.strip():
            raise forms.ValidationError(gettext("That is not the name of this memory store."))
        return name
