"""The forms that start and continue Claude runs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.claude_runs import configuration
from memoryhub.actions.claude_runs.runs import LONGEST_TEXT, Asked
from memoryhub.actions.core.proposing import MOST_CHANGES
from memoryhub.models import AuditEntry, ClaudeModel, ClaudeRun
from memoryhub.pure.conversation import guidance
from memoryhub.pure.conversation.options import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    INPUT_TOKENS,
    TOOL_USES,
    Options,
)

STORE, COPY, PROPOSAL = "store", "copy", "proposal"
"""Where a run works: in the store, on a copy of it, or on a copy whose changes become a proposal."""
_EDITS = {"clears_tool_uses": CLEAR_TOOL_USES, "clears_thinking": CLEAR_THINKING, "compacts": COMPACT}
_PLAIN = {"rows": 5, "spellcheck": "true"}


class _Text(forms.CharField):
    """A text of several lines. Browsers send its line ends as CRLF."""

    def to_python(self, value: Any) -> Any:
        typed = super().to_python(value)
        return typed.replace("\r\n", "\n").replace("\r", "\n") if isinstance(typed, str) else typed


class _Moment(forms.CharField):
    """A date and time in the time zone of the person."""

    def to_python(self, value: Any) -> Any:
        typed = super().to_python(value)
        try:
            found = datetime.fromisoformat(typed) if typed else None
        except ValueError:
            raise forms.ValidationError(gettext("Write a date and a time, like 2026-03-31T14:02.")) from None
        if found is not None and not 1970 <= found.year < 9999:
            raise forms.ValidationError(gettext("Write a date and a time, like 2026-03-31T14:02."))
        return timezone.make_aware(found) if found is not None and timezone.is_naive(found) else found


def _number(label: Any, help_text: Any = "", *, least: int, most: int, **options: Any) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"inputmode": "numeric"})
    return forms.IntegerField(
        label=label, help_text=help_text, min_value=least, max_value=most, widget=widget, **options
    )


class StartForm(forms.Form):
    """The form that starts a run or saves a preset: the task for Claude, and the settings of the run."""

    task = _Text(
        label=_("Task"), max_length=LONGEST_TEXT, widget=forms.Textarea(attrs=_PLAIN),
        help_text=_("What Claude should do. Claude reads the memories first, and writes down what it learns."),
    )  # fmt: skip
    model = forms.ChoiceField(label=_("Model"))
    place = forms.ChoiceField(
        label=_("Where Claude works"), widget=forms.RadioSelect, initial=STORE, required=False,
        choices=[
            (STORE, _("In the memory store itself")),
            (COPY, _("On a throw-away copy: the memory store stays as it is")),
            (PROPOSAL, _("On a throw-away copy, and its changes there become a proposal")),
        ],
    )  # fmt: skip
    at = _Moment(
        label=_("The copy as it was at"), required=False, widget=forms.TextInput(attrs={"type": "datetime-local"}),
        help_text=_("Empty: as it is now."),
    )  # fmt: skip
    preset = forms.CharField(
        label=_("Name of the preset"), required=False, max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("A preset has guidance, model and settings, but no task. If a preset already has this name, it "
                    "gets a new version."),
    )  # fmt: skip
    seq = forms.IntegerField(required=False, min_value=1, max_value=2**53, widget=forms.HiddenInput)
    system = _Text(
        label=_("System prompt"), required=False, max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 3}),
    )  # fmt: skip
    tidy = forms.BooleanField(label=_("Keep the memories tidy"), required=False, help_text=guidance.TIDY)
    topic = forms.CharField(
        label=_("Only write down what is relevant to"), required=False, max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("For example “the preferences of customers”. Empty: Claude decides itself."),
    )  # fmt: skip
    max_tokens = _number(
        _("Tokens of an answer"), _("The most that Claude may write, and think, in one answer."),
        least=256, most=64_000, initial=4_096,
    )  # fmt: skip
    thinks = forms.BooleanField(label=_("Let Claude think before it answers"), required=False)

    clears_tool_uses = forms.BooleanField(
        label=_("Clear old results of tools"), required=False, initial=True,
        help_text=_("Before results are cleared, Claude is warned, and can save to memory what it still needs."),
    )  # fmt: skip
    trigger = forms.ChoiceField(
        label=_("Counted in"), choices=[(INPUT_TOKENS, _("input tokens")), (TOOL_USES, _("calls"))]
    )
    trigger_value = _number(_("When there are more than"), least=1, most=2_000_000, initial=100_000)
    keep = _number(_("Newest calls to keep"), least=0, most=1_000, initial=3)
    clear_at_least = _number(
        _("Clear only if this frees at least this many tokens"),
        _("Empty: always."),
        least=1,
        most=2_000_000,
        required=False,
    )
    excludes_memory = forms.BooleanField(
        label=_("Keep the results of the memory tool"), required=False,
        help_text=_(
            "A Claude run has no other tool, so with this choice nothing is cleared. The choice is useful for agents "
            "that have other tools."
        ),
    )  # fmt: skip
    clear_tool_inputs = forms.BooleanField(label=_("Clear the inputs of these calls too"), required=False)
    clears_thinking = forms.BooleanField(
        label=_("Clear old thinking"), required=False, help_text=_("Only if Claude thinks before it answers.")
    )
    keep_thinking = _number(
        _("Answers whose thinking stays"), _("Empty: all."), least=1, most=1_000, initial=1, required=False
    )
    compacts = forms.BooleanField(
        label=_("Summarize the conversation when it grows"), required=False,
        help_text=_("Claude’s API replaces the earlier conversation with a summary."),
    )  # fmt: skip
    compact_at = _number(_("From this many input tokens on"), least=50_000, most=2_000_000, initial=150_000)
    instructions = _Text(
        label=_("What the summary must keep"), required=False, max_length=4_000,
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 2}),
    )  # fmt: skip

    def __init__(self, store_id: str, data: Any = None, initial: Any = None, *, saves: bool = False) -> None:
        """Make the form. With `saves`, it saves a preset: the preset's name is required, and the task is not."""
        super().__init__(data, initial=initial)
        if saves:
            self.fields["task"].required, self.fields["preset"].required = False, True
        self.store_id = store_id
        lines = str(self["task"].value() or "").count("\n") + 2
        self.fields["task"].widget.attrs["rows"] = min(max(lines, 5), 15)
        if self["seq"].value():
            self.fields["at"].help_text = gettext("Empty: as it was before the run that is repeated.")
        self.models = {model.pk: model for model in configuration.models()}
        choices = [(model.pk, model.name) for model in self.models.values()]
        self.fields["model"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any] | None:
        given = super().clean()
        if given and given.get("clears_thinking") and not given.get("thinks"):
            words = gettext("Claude does not think in this run. Let it think, or leave this out.")
            self.add_error("clears_thinking", words)
        if given and given.get("model"):
            self._check_model(self.models[given["model"]], given)
        if given and given.get("place") in (COPY, PROPOSAL) and given.get("at") is not None:
            given["seq"] = self._entry_at(given["at"])
        return given

    def _entry_at(self, moment: datetime) -> int | None:
        """Return the seq of the store's last entry at or before a moment. If there is none, add an error and return
        None."""
        before = AuditEntry.objects.of_chain(self.store_id).filter(at__lte=moment).order_by("-at", "-seq")
        seq = before.values_list("seq", flat=True).first()
        if seq is None:
            self.add_error("at", gettext("The memory store did not exist yet at that moment."))
        return seq

    def _check_model(self, model: ClaudeModel, given: dict[str, Any]) -> None:
        """Add an error for each chosen option that the model does not support."""
        edits: Any = model.edits
        for name, edit in _EDITS.items():
            if edits is not None and given.get(name) and edit not in edits:
                self.add_error(name, gettext("%(model)s does not support this.") % {"model": model.name})
        if model.thinks is False and given.get("thinks"):
            self.add_error("thinks", gettext("%(model)s does not think.") % {"model": model.name})
        if model.max_tokens is not None and (given.get("max_tokens") or 0) > model.max_tokens:
            words = gettext("%(model)s writes at most %(count)s tokens.")
            self.add_error("max_tokens", words % {"model": model.name, "count": model.max_tokens})

    def asked(self) -> Asked:
        given = self.cleaned_data
        model, system, options = conversation_of(given)
        copies, proposes = given["place"] in (COPY, PROPOSAL), given["place"] == PROPOSAL
        if proposes:
            told = guidance.PROPOSES.format(most=MOST_CHANGES)
            system = system if told in system else f"{system}\n\n{told}".strip()
        return Asked(model, given["task"], system, options, copies, proposes, given["seq"])

    def as_preset(self) -> dict[str, Any]:
        """Return the values of a valid form as the content of a preset."""
        names = ("model", "system", "tidy", "topic", *Options.__dataclass_fields__)
        return {name: self.cleaned_data[name] for name in names}


def conversation_of(given: Mapping[str, Any]) -> tuple[str, str, Options]:
    """Return the model, the system prompt and the options from the values of the form or of a preset."""
    guided = {"tidy": bool(given.get("tidy")), "topic": given.get("topic", "")}
    return given["model"], guidance.system_prompt(given.get("system", ""), **guided), Options.of(given)


def initial_of(run: ClaudeRun, *, copies: bool) -> dict[str, Any]:
    """Return the initial values of the form for a run like an earlier one.

    With `copies`, the new run works on a copy of the store as it was when the earlier run began.
    """
    place = PROPOSAL if run.proposes else COPY if run.copy or copies else STORE
    asked = {"task": run.task, "model": run.model, "system": run.system, "place": place}
    return asked | ({"seq": run.base} if copies else {}) | Options.of(run.options).as_json()


def tidying() -> dict[str, Any]:
    """Return the initial values of the form for a run that reorganises a store."""
    return {"task": guidance.REORGANISE, "tidy": True, "place": PROPOSAL}


class MessageForm(forms.Form):
    """Another message to Claude, and whether the conversation is to be summarized first."""

    message = _Text(
        label=_("Another message"), max_length=LONGEST_TEXT, required=False,
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 3}),
    )  # fmt: skip
    summarizes = forms.BooleanField(
        label=_("Summarize the conversation first"), required=False,
        help_text=_("For a long conversation: Claude’s API replaces the earlier part with a summary."),
    )  # fmt: skip

    def clean(self) -> dict[str, Any] | None:
        given = super().clean()
        if given and given.get("summarizes") and not given.get("message", "").strip():
            self.add_error("message", gettext("Write a message, which then follows the summary."))
        return given
