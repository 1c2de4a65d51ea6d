"""The forms that start and continue Claude runs."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.claude_runs import configuration
from memoryhub.actions.claude_runs.runs import LONGEST_TEXT, Asked
from memoryhub.conversation import guidance
from memoryhub.conversation.options import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    INPUT_TOKENS,
    TOOL_USES,
    Options,
)
from memoryhub.models import ClaudeModel

_EDITS = {"clears_tool_uses": CLEAR_TOOL_USES, "clears_thinking": CLEAR_THINKING, "compacts": COMPACT}
_PLAIN = {"rows": 5, "spellcheck": "true"}


class _Text(forms.CharField):
    """A text of several lines; browsers send their ends as CRLF."""

    def to_python(self, value: Any) -> Any:
        typed = super().to_python(value)
        return typed.replace("\r\n", "\n").replace("\r", "\n") if isinstance(typed, str) else typed


def _number(label: Any, help_text: Any = "", *, least: int, most: int, **options: Any) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"inputmode": "numeric"})
    return forms.IntegerField(
        label=label, help_text=help_text, min_value=least, max_value=most, widget=widget, **options
    )


class StartForm(forms.Form):
    """What a person asks of Claude, with the options of the context."""

    task = _Text(
        label=_("Task"), max_length=LONGEST_TEXT, widget=forms.Textarea(attrs=_PLAIN),
        help_text=_("What Claude is to do. It reads the memories first, and writes down what it learns."),
    )  # fmt: skip
    model = forms.ChoiceField(label=_("Model"))
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
        help_text=_("Claude is warned before, and can save to memory what it still needs."),
    )  # fmt: skip
    trigger = forms.ChoiceField(
        label=_("Counted in"), choices=[(INPUT_TOKENS, _("input tokens")), (TOOL_USES, _("calls"))]
    )
    trigger_value = _number(_("When there are more than"), least=1, most=2_000_000, initial=100_000)
    keep = _number(_("Newest calls to keep"), least=0, most=1_000, initial=3)
    clear_at_least = _number(
        _("Only if it frees this many tokens"), _("Empty: always."), least=1, most=2_000_000, required=False
    )
    excludes_memory = forms.BooleanField(
        label=_("Keep the results of the memory tool"), required=False,
        help_text=_("It is the only tool of a run here, so nothing is cleared then. It helps agents with other tools."),
    )  # fmt: skip
    clear_tool_inputs = forms.BooleanField(label=_("Clear the inputs of these calls too"), required=False)
    clears_thinking = forms.BooleanField(
        label=_("Clear old thinking"), required=False, help_text=_("Only where Claude thinks.")
    )
    keep_thinking = _number(
        _("Answers whose thinking stays"), _("Empty: all."), least=1, most=1_000, initial=1, required=False
    )
    compacts = forms.BooleanField(
        label=_("Summarize the conversation when it grows"), required=False,
        help_text=_("Claude’s API replaces what was said by a summary."),
    )  # fmt: skip
    compact_at = _number(_("From this many input tokens on"), least=50_000, most=2_000_000, initial=150_000)
    instructions = _Text(
        label=_("What the summary must keep"), required=False, max_length=4_000,
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 2}),
    )  # fmt: skip

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
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
        return given

    def _check_model(self, model: ClaudeModel, given: dict[str, Any]) -> None:
        """Add an error for each option that the model does not have, as far as the API has said."""
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
        options = {name: given[name] for name in Options.__dataclass_fields__}
        system = guidance.system_prompt(given["system"], tidy=given["tidy"], topic=given["topic"])
        return Asked(given["model"], given["task"], system, Options.of(options))


def initial_of(asked: Asked) -> dict[str, Any]:
    """Return what the form says for another run like one that there was."""
    return {"task": asked.task, "model": asked.model, "system": asked.system, **asked.options.as_json()}


class MessageForm(forms.Form):
    """Another message to Claude."""

    message = _Text(
        label=_("Another message"), max_length=LONGEST_TEXT, required=False,
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 3}),
    )  # fmt: skip
