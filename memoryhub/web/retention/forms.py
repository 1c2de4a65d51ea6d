"""The form of a retention policy: each rule has a checkbox and a number of days or versions."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.retention.policies import MOST_DAYS, MOST_VERSIONS, PolicySettings
from memoryhub.models import MemoryStore, RetentionPolicy
from memoryhub.pure import retention_rules
from memoryhub.pure.retention_rules import BadPattern
from memoryhub.web.common.typed_paths import below_root
from memoryhub.web.retention import sentences

RULES = (
    ("expire_unread_days", _("Expire memories that no agent has read for"), 90),
    ("expire_unchanged_days", _("Expire memories that no one has changed for"), 180),
    ("expire_older_days", _("Expire memories that were created longer ago than"), 365),
    ("keep_versions", _("Keep only this many of the newest versions of each memory:"), 20),
    ("keep_version_days", _("Keep the versions of the last"), 30),
    ("trash_days", _("Remove from the trash what people and agents deleted, after"), 90),
    ("keep_entry_days", _("Keep the audit entries of the last"), 365),
)  # fmt: skip
"""The field name, label and suggested number of each rule."""

VERSIONS = "keep_versions"
HELP = {
    "expire_unread_days": _(
        "Only reading by agents counts. A list of names or a search does not count, and reading by people does not "
        "count. For a memory that was never read, the days count from its creation."
    ),
    "keep_version_days": _(
        "If you tick both boxes, a version stays as long as one of them keeps it. The newest version always "
        "stays, and so does a version that awaits review."
    ),
    "keep_entry_days": _(
        "Only possible in a policy that applies to all memories. The audit then begins at a signed checkpoint."
    ),
}


class PolicyForm(forms.Form):
    """The fields of a policy. A rule's number of days or versions counts only if its checkbox `use_…` is ticked."""

    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("The name of the policy in the audit and in the list of runs.")
    )
    pattern = forms.CharField(
        label=_("Which memories"), required=False, max_length=1000, strip=True,
        widget=forms.TextInput(attrs={
            "class": "input-mono", "autocomplete": "off", "spellcheck": "false", "placeholder": "/tickets/",
        }),
    )  # fmt: skip
    grace_days = forms.IntegerField(
        label=_("Days in the trash before they are removed permanently"), min_value=1, max_value=MOST_DAYS, initial=30,
        help_text=_("For memories that this policy, or an earlier policy, moved to the trash. They can be restored "
                    "until then."),
    )  # fmt: skip
    expires_together = forms.BooleanField(
        label=_("Only when all ticked sentences are true"), required=False,
        help_text=_("For example memories that no agent has read and no one has changed for 60 days. If you do not "
                    "tick this box, one true sentence is enough."),
    )  # fmt: skip
    keeps_approved = forms.BooleanField(
        label=_("Keep what a person has approved"), required=False,
        help_text=_("A memory stays as long as a person wrote or approved its newest version. When an agent changes "
                    "it, it can expire again until someone approves the change."),
    )  # fmt: skip
    paused = forms.BooleanField(
        label=_("Pause this policy"), required=False,
        help_text=_("A paused policy still applies to its memories, but removes nothing."),
    )  # fmt: skip

    def __init__(self, store: MemoryStore | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store = store
        for number, label, suggested in RULES:
            self.fields[f"use_{number}"] = forms.BooleanField(label=label, required=False)
            most, least = (MOST_VERSIONS, 1) if number == VERSIONS else (MOST_DAYS, 1)
            self.fields[number] = forms.IntegerField(
                label=label,
                required=False,
                min_value=least,
                max_value=most,
                initial=suggested,
            )

    def clean_pattern(self) -> str:
        """Return the pattern in its canonical form."""
        stores = [self.store.pk] if self.store else MemoryStore.objects.values_list("pk", flat=True)
        saved = RetentionPolicy.objects.values_list("pattern", flat=True)
        try:
            return retention_rules.cleaned(below_root(self.cleaned_data["pattern"], list(stores), saved))
        except BadPattern as bad:
            raise forms.ValidationError(sentences.bad_pattern(bad.code)) from None

    def clean(self) -> dict[str, Any]:
        given = dict(self.cleaned_data)
        if not any(given.get(f"use_{number}") for number, _label, _suggested in RULES):
            self.add_error(
                None,
                gettext(
                    "No rule is ticked, so this policy would remove nothing. Tick at least one box and type its "
                    "number. To keep the memories of a directory from other policies, pin the directory instead."
                ),
            )
        for number, _label, _suggested in RULES:
            if not given.pop(f"use_{number}", False):
                given[number] = None
                self.errors.pop(number, None)
            elif number not in self.errors and given.get(number) is None:
                self.add_error(number, gettext("How many?") if number == VERSIONS else gettext("How many days?"))
        if given.get("pattern") and given.get("keep_entry_days") is not None:
            self.add_error(
                "keep_entry_days",
                gettext(
                    "Audit entries belong to the whole memory store. Leave “Which "
                    "memories” empty, or do not tick this box."
                ),
            )
        return given

    def settings(self) -> PolicySettings:
        """Return the settings of a valid form."""
        return PolicySettings(**self.cleaned_data)

    def rows(self) -> list[dict[str, Any]]:
        """Return, for each rule, its checkbox, its number field, the unit of the number and a help text."""
        return [
            {
                "use": self[f"use_{number}"],
                "number": self[number],
                "unit": gettext("versions") if number == VERSIONS else gettext("days"),
                "help": HELP.get(number, ""),
            }
            for number, _label, _suggested in RULES
        ]

    def expiring(self) -> list[dict[str, Any]]:
        return self.rows()[:3]

    def keeping(self) -> list[dict[str, Any]]:
        return self.rows()[3:]

    def field(self, name: str) -> BoundField:
        return self[name]


def typed(settings: PolicySettings) -> dict[str, Any]:
    """Return settings as the form data that a browser would submit."""
    set_ = {name: value for name, value in asdict(settings).items() if value is not None and value is not False}
    found = {name: "on" if value is True else value for name, value in set_.items()}
    return found | {f"use_{number}": "on" for number, _label, _suggested in RULES if number in found}


def query(settings: PolicySettings) -> str:
    """Return settings as a query string."""
    return urlencode(typed(settings))


def drafted(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return those of `parameters` that are fields of the policy form: the data of a draft, or {} without a draft."""
    names = PolicyForm(None).fields
    return {name: value.replace("\0", "") for name, value in parameters.items() if name in names}
