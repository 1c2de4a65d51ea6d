"""Forms for creating agents and issuing keys."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, ngettext

from memoryhub.models import Access, Agent, Key, MemoryStore, User
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated
from memoryhub.web.agents.rows import short_id
from memoryhub.web.common.forms import StoresField, one_line, printable

LONGEST_DESCRIPTION = 2_000
ACCESS = (
    (Access.READ, _("Read: look at memories")),
    (Access.WRITE, _("Write: also create, change, rename and delete memories")),
    (Access.MANAGE, _("Manage: also edit and archive the memory store, redact versions and read the audit")),
)
SOME, ALL, NEVER, NEW = "some", "all", "never", "new"
DAYS = (("7", _("7 days")), ("30", _("30 days")), ("90", _("90 days")), ("365", _("1 year")), (NEVER, _("Never")))


def agent_name_field(**options: Any) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=_("Name"), max_length=100, validators=[printable], widget=widget, **options)


class AgentForm(forms.Form):
    name = agent_name_field(help_text=_("The audit shows this name. For example: support-bot."))
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=LONGEST_DESCRIPTION,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("What the agent does, and who is responsible for it."),
    )


class KeyForm(forms.Form):
    """The fields of every key: a name, an access level and an expiry date.

    `further` are the fields behind “More”. `defaults` says what a person can choose there, and what applies if these
    fields stay empty.
    """

    further: tuple[str, ...] = ("expires_on",)
    defaults = _("Choose an exact last day. Otherwise the key ends after the time above.")

    name = forms.CharField(
        label=_("Name of the key"),
        required=False,
        max_length=100,
        validators=[one_line],
        help_text=_("Where the key will be used, for example production."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    access = forms.ChoiceField(
        label=_("Access"),
        choices=ACCESS,
        initial=Access.WRITE,
        widget=forms.RadioSelect,
        help_text=_(
            "This applies everywhere in a memory store, unless path rules say otherwise. The path rules "
            "are in the settings of the memory store."
        ),
    )
    expires_in = forms.ChoiceField(label=_("Expires in"), choices=DAYS, initial="90")
    expires_on = forms.DateField(
        label=_("Last day"),
        required=False,
        help_text=_("This replaces the time above. The key works until the end of this day, in your time zone."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    @property
    def usual_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.further]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name in self.further]

    @property
    def is_further_used(self) -> bool:
        """Return whether one of the further fields has an error or a value that is not the default."""
        return self.is_bound and any(field.errors or field.name in self.changed_data for field in self.further_fields)

    def clean_expires_on(self) -> datetime | None:
        """Return the end of the chosen day, or None if no day was chosen. Raise ValidationError if the day is in the
        past, or more than 100 years in the future."""
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        if not timezone.localdate() <= day <= timezone.localdate() + timedelta(days=100 * 365):
            raise ValidationError(_("Choose today or a later day."), code="past")
        return timezone.make_aware(datetime.combine(day + timedelta(days=1), time.min))

    def expires_at(self, at: datetime) -> datetime | None:
        """Return when the key expires, or None if it never expires.

        A chosen period begins at `at`; a chosen day takes precedence.
        """
        if self.cleaned_data["expires_on"]:
            return self.cleaned_data["expires_on"]
        days = self.cleaned_data["expires_in"]
        return None if days == NEVER else at + timedelta(days=int(days))

    def lasts(self) -> str:
        """Return in words how long the key works."""
        chosen = self.cleaned_data["expires_on"]
        return f"{chosen:%Y-%m-%d}" if chosen else str(dict(DAYS)[self.cleaned_data["expires_in"]])


class ReplaceKeyForm(KeyForm):
    """A form in which a person issues a key with the access and the memory stores of another key."""

    access = None  # type: ignore[assignment]
    rules = forms.BooleanField(
        label=_("Add the new key to the path rules that name the old key"),
        required=False,
        initial=True,
        help_text=_("Otherwise these path rules apply only to the old key."),
    )

    def __init__(self, *args: Any, is_named: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_named:
            del self.fields["rules"]


class IssueKeyForm(KeyForm):
    """A form in which administrators of the hub issue a key to some or all memory stores."""

    further = ("scope", "expires_on")
    defaults = _(
        "Choose all memory stores, or an exact last day. Otherwise the key reaches the memory stores ticked above, and "
        "ends after the time above."
    )

    stores = StoresField(
        label=_("Memory stores"),
        queryset=MemoryStore.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    scope = forms.ChoiceField(
        label=_("It reaches"),
        choices=((SOME, _("the memory stores that are ticked above")), (ALL, _("all, including future ones"))),
        initial=SOME,
        widget=forms.RadioSelect,
    )
    field_order = ("name", "access", "stores", "expires_in", "scope", "expires_on")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["stores"].queryset = MemoryStore.objects.active().by_name()  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("scope") == SOME and "stores" in values and not values["stores"]:
            self.add_error("stores", _("Choose at least one memory store."))
        return values

    def reach(self) -> dict[str, Any]:
        """Return the keyword arguments of the action that say which stores the key can access."""
        every = self.cleaned_data["scope"] == ALL
        return {"all_stores": every, "stores": [] if every else list(self.cleaned_data["stores"])}


class StoreKeyForm(KeyForm):
    """A form in which the admins of a memory store issue a key to this store only.

    The key is for a new agent, or for one that already has a key to the store.
    """

    agent = forms.ChoiceField(label=_("Agent"))
    new_agent = agent_name_field(required=False, help_text=_("The audit shows this name."))
    field_order = ("agent", "new_agent", "name", "access", "expires_in", "expires_on")

    def __init__(self, *args: Any, store: MemoryStore, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["new_agent"].label = _("Name of the new agent")
        # A key acts as its agent, so store admins may not issue keys for agents that can access all stores.
        reaching = Agent.objects.of_store(store)
        known = reaching | Agent.objects.visible_to(user) if user.is_superuser else reaching
        known = known.exclude(keys__in=Key.objects.of_hub())
        agents = known.without_hub_wide_keys(timezone.now()).by_name()
        self.agents = {agent.id: agent for agent in agents}
        self.fields["new_agent"].required = not self.agents
        if self.agents:
            self.fields["new_agent"].help_text = _("Only for a new agent. The audit shows this name.")
            self.fields["new_agent"].needed_at_times = True  # type: ignore[attr-defined]
        often = Counter(agent.folded_name for agent in self.agents.values())
        shown = [(agent.id, _called(agent, often[agent.folded_name] > 1)) for agent in self.agents.values()]
        self.fields["agent"].choices = [(NEW, _("A new agent")), *shown]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if "agent" not in values or "new_agent" not in values:
            return values
        if values["agent"] == NEW and not values["new_agent"]:
            self.add_error("new_agent", _("Choose an agent, or name a new one."))
        if values["agent"] != NEW and values["new_agent"]:
            self.add_error("new_agent", _("Choose an agent or name a new one, not both."))
        return values

    @property
    def chosen(self) -> Agent | None:
        """Return the existing agent, or None for a new one."""
        return self.agents.get(self.cleaned_data["agent"])


def _called(agent: Agent, is_ambiguous: bool) -> str:
    name = isolated(without_hidden(agent.name))
    return f"{name} {short_id(agent)}" if is_ambiguous else name


class RevokeForm(forms.Form):
    """A confirmation for which the person types the agent's name.

    `others` are further usable keys of the agent, which the person may revoke too. `stops` is True if the agent has no
    usable key besides the key on this page and `others`.
    """

    others = forms.BooleanField(required=False)
    name = forms.CharField(
        label=_("Type the agent's name"),
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, others: Sequence[Key], stops: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not others:
            del self.fields["others"]
            return
        hints = ", ".join(f"…{key.hint}" for key in others)
        words = ngettext("Revoke its other key %(hints)s, too.", "Revoke its other keys %(hints)s, too.", len(others))
        self.fields["others"].label = words % {"hints": hints}
        self.fields["others"].help_text = _("This stops the agent: it has no other key.") if stops else ""
