"""The forms that place pins or legal holds."""

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.core.rules.holds import LONGEST_CASE, Terms
from memoryhub.models import Directory, Hold, HoldKind, Memory, MemoryStore
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.typed_paths import below_root

MOST_REASON = 1000
WHOLE_STORE = "/"


class TermsForm(forms.Form):
    """The terms of a hold, such as its kind, reason and last day. `kinds` are the kinds that the person may place."""

    kind = forms.ChoiceField(label=_("Kind"), widget=forms.RadioSelect)
    freezes = forms.BooleanField(
        label=_("Freeze the text too"), required=False,
        help_text=_("Only with a legal hold. No person, agent, import or undo can then edit or move a held memory. "
                    "If you do not freeze the text, it can still be changed, and every version stays."),
    )  # fmt: skip
    reason = forms.CharField(
        label=_("Why"), max_length=MOST_REASON, widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Everyone who sees the hold can read the reason, and the audit keeps it. If you freeze the "
                    "text, agents read the reason too: the hub names it when it refuses their changes."),
    )  # fmt: skip
    case_number = forms.CharField(
        label=_("Case"), required=False, max_length=LONGEST_CASE, widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("For example the number of a dispute. Everything with the same case can be released together."),
    )  # fmt: skip
    until = forms.DateField(
        label=_("Last day"), required=False, widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("If you leave this empty, the hold stays until someone releases it."),
    )  # fmt: skip

    def __init__(self, kinds: list[HoldKind], data: Any = None, **more: Any) -> None:
        super().__init__(data, **more)
        words = {
            HoldKind.PIN: gettext("Pin: no retention policy can remove it. People and agents still can."),
            HoldKind.HOLD: gettext("Legal hold: no policy, agent or person can remove it or any of its versions."),
        }
        if HoldKind.HOLD not in kinds:
            del self.fields["freezes"]
        self.kinds = [kind.value for kind in kinds]
        self.fields["kind"].choices = [(kind.value, words[kind]) for kind in kinds]  # type: ignore[attr-defined]

    def terms(self) -> Terms:
        """Return the terms of the hold from a valid form."""
        given = self.cleaned_data
        reason = given["reason"].replace("\r\n", "\n")
        freezes = bool(given.get("freezes"))
        return Terms(HoldKind(given["kind"]), reason, given["until"], freezes, given["case_number"])

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("freezes") and given.get("kind") == HoldKind.PIN:
            self.add_error("freezes", gettext("Only a legal hold can freeze the text."))
        return given

    def clean_until(self) -> datetime | None:
        """Return the end of the last day in the current time zone, or None if no day was chosen."""
        last = self.cleaned_data["until"]
        if last is None:
            return None
        try:
            end = timezone.make_aware(datetime.combine(last + timedelta(days=1), time()))
        except OverflowError:
            raise forms.ValidationError(gettext("That day is too far away. Leave the field empty instead.")) from None
        if end <= timezone.now():
            raise forms.ValidationError(gettext("That day is in the past."))
        return end


class HoldForm(TermsForm):
    """The memory, directory or store to hold, and the terms."""

    place = forms.CharField(
        label=_("What must stay"), max_length=2000, strip=False,
        widget=forms.TextInput(attrs={"class": "input-mono", "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("The path of a memory, the path of a directory (with everything in it, now and later), or / "
                    "for the whole memory store. A memory stays protected when it is renamed."),
    )  # fmt: skip
    field_order = ("place",)

    def __init__(self, store: MemoryStore, kinds: list[HoldKind], data: Any = None, **more: Any) -> None:
        super().__init__(kinds, data, **more)
        self.store = store
        self.memory: str | None = None
        self.path: str | None = None

    def clean_place(self) -> str:
        """Return the typed path of a memory or a directory. A directory that does not exist needs a trailing slash."""
        place = str(self.cleaned_data["place"]).strip()
        if "\0" in place or not place.startswith("/"):
            raise forms.ValidationError(gettext("A path begins with a slash: /customers/acme.md"))
        place = below_root(place, [self.store.pk])
        try:
            path = paths.from_tool(paths.to_tool(place))
        except ToolError as error:
            raise forms.ValidationError(for_people(error)) from None
        is_directory = place.endswith("/")
        if path and not is_directory:
            self.memory = Memory.objects.filter(store=self.store).at(path).values_list("pk", flat=True).first()
        if self.memory:
            return path
        if path and not is_directory and not Directory.objects.filter(store=self.store).at(path).exists():
            raise forms.ValidationError(
                gettext(
                    "There is nothing at %(path)s. To hold a directory that does not exist yet, end its path with "
                    "a slash."
                )
                % {"path": path}
            )
        self.path = path
        return f"{path}/" if is_directory else path


def place_of(hold: Hold) -> str:
    """Return the value of the form's field `place` for a hold on a directory or a store."""
    return f"{hold.path}/" if hold.path else WHOLE_STORE
