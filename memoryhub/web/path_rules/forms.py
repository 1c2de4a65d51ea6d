"""The form of a list of path rules: one row for each rule, in their order."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from memoryhub.models import MemoryStore
from memoryhub.pure import retention_rules
from memoryhub.pure.path_rules import (
    LINES,
    LONGEST_REASON,
    MOST_A_SESSION,
    MOST_RULES,
    Condition,
    Effect,
    Lines,
    PathRule,
    Verb,
    can_be_id,
    condition_of,
    names_one_memory,
)
from memoryhub.pure.retention_rules import BadPattern
from memoryhub.web.common.typed_paths import below_root
from memoryhub.web.path_rules.sentences import CONDITIONS, VERBS, Names, choices, condition
from memoryhub.web.retention import sentences as retention_words

Row = dict[str, Any]
"""The typed values for one rule, by field name."""

LONGEST_PATTERN = 1000
EFFECTS = (
    (Effect.REFUSE.value, _("Refuse")),
    (Effect.PROPOSE.value, _("Propose: a person decides")),
    (Effect.ALLOW.value, _("Allow")),
    (Effect.HIDE.value, _("Hide: the memory does not exist for the agent")),
)
ALL = [verb.value for verb in Verb]
EXAMPLES: dict[str, tuple[Any, tuple[Row, ...]]] = {
    "see-only": (
        _("Show an agent only /team/: allow /team/, then hide everything else"),
        ({"effect": Effect.ALLOW.value, "pattern": "/team/"}, {"effect": Effect.HIDE.value, "pattern": "/"}),
    ),
    "write-only": (
        _("Let an agent write only in /tickets/: allow /tickets/, then refuse everything else"),
        ({"effect": Effect.ALLOW.value, "pattern": "/tickets/"}, {"effect": Effect.REFUSE.value, "pattern": "/"}),
    ),
    "hide": (_("Hide /salaries/ from agents"), ({"effect": Effect.HIDE.value, "pattern": "/salaries/"},)),
    "propose": (
        _("Let agents only propose in /policies/: a person decides about each change"),
        ({"effect": Effect.PROPOSE.value, "pattern": "/policies/"},),
    ),
    "ask": (
        _("Ask a person before /policies/ loses lines: other changes are written at once"),
        (
            {
                "effect": Effect.PROPOSE.value, "pattern": "/policies/",
                "only_if": Condition.REMOVES_LINES.value,
            },
        ),
    ),
}  # fmt: skip
"""{name: (a description of a ready example, its rows)}"""
CHOICES = [("", _("always")), *((one.value, words) for one, words in CONDITIONS.items())]
"""The conditions that any rule can have. A condition about lines is not here: it begins on the page of a memory, where
the lines are chosen."""
NEW_ROW: Row = {"effect": Effect.PROPOSE.value, "verbs": ALL, "pattern": "/", "who": ""}

UNTOUCHED: Row = {**NEW_ROW, "verbs": sorted(ALL), "reason": "", "only_if": "", "until": "", "most": ""}
"""The submitted values of a row that a person has added and not changed."""
LIMIT: Row = UNTOUCHED | {"effect": Effect.REFUSE.value}
"""The submitted values of the one row that the form of a limit begins with. The row names an agent; these values do
not."""


class PathRuleForm(forms.Form):
    """The form of one rule. `names` are the agents and keys to which the rule can apply."""

    effect = forms.ChoiceField(label=_("Effect"), choices=EFFECTS, widget=forms.RadioSelect)
    who = forms.ChoiceField(label=_("Who"), required=False)
    verbs = forms.MultipleChoiceField(
        label=_("Changes"),
        choices=[(verb.value, words) for verb, words in VERBS.items()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    pattern = forms.CharField(
        label=_("Which memories"), required=False, max_length=LONGEST_PATTERN,
        widget=forms.TextInput(attrs={
            "class": "input-mono", "autocomplete": "off", "autocapitalize": "none", "spellcheck": "false",
            "placeholder": "/policies/",
        }),
    )  # fmt: skip
    only_if = forms.ChoiceField(
        label=_("When"),
        required=False,
        choices=CHOICES,
    )
    until = forms.DateField(
        label=_("Last day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    most = forms.IntegerField(
        label=_("Maximum number of proposals per session"), required=False, min_value=1, max_value=MOST_A_SESSION,
        widget=forms.NumberInput(attrs={"placeholder": _("any number"), "inputmode": "numeric"}),
    )  # fmt: skip
    reason = forms.CharField(
        label=_("What the agent is told"), required=False, max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={
            "autocomplete": "off", "placeholder": _("Policies are changed by people. Ask a reviewer."),
        }),
    )  # fmt: skip

    def __init__(self, *args: Any, names: Names, store: MemoryStore, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store = store
        pattern_url = reverse("retention_pattern", args=[store.pk], query={"brief": 1})
        self.fields["pattern"].widget.attrs |= {
            "hx-get": pattern_url, "hx-trigger": "input changed delay:400ms", "hx-target": "next .pattern-says",
            "hx-swap": "outerHTML",
        }  # fmt: skip
        with suppress(ValueError):
            lines = condition_of(self["only_if"].value() or "")
            if isinstance(lines, Lines):
                self.fields["only_if"].choices = [*CHOICES, (lines.value, condition(lines))]  # type: ignore[attr-defined]
        own = self["who"].value() or ""
        known = {**names, own: names.get(own, own)} if own and can_be_id(own) else names
        for name in ("who", "pattern", "only_if"):  # an empty choice means "every", which is a choice too
            self.fields[name].needed_at_times = True  # type: ignore[attr-defined]
        who = self.fields["who"]
        assert isinstance(who, forms.ChoiceField)
        who.choices = [("", _("Every agent")), *choices(known)]

    def clean_pattern(self) -> str:
        saved = [rule.get("pattern", "") for rule in self.store.path_rules]
        try:
            return retention_rules.cleaned(below_root(self.cleaned_data["pattern"], [self.store.pk], saved))
        except BadPattern as bad:
            raise forms.ValidationError(retention_words.bad_pattern(bad.code)) from None

    def clean_reason(self) -> str:
        reason = " ".join(self.cleaned_data["reason"].split())
        if not reason.isprintable():
            raise forms.ValidationError(_("The sentence has characters that cannot be seen."))
        return reason

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("effect") != Effect.PROPOSE:  # the form does not show the field
            self.errors.pop("most", None)
            given["most"] = None
        if given.get("effect") != Effect.HIDE and not given.get("verbs"):
            self.add_error("verbs", _("Tick at least one."))
        if given.get("only_if", "").startswith(f"{LINES}:") and not names_one_memory(given.get("pattern", "")):
            self.add_error("pattern", _("A rule about lines is about one memory: write the path of the memory."))
        return given

    def rule(self) -> PathRule:
        """Return the rule of a valid form.

        A rule that hides has no verbs, condition or reason.
        """
        given = self.cleaned_data
        if given["effect"] == Effect.HIDE:
            return PathRule(Effect.HIDE, given["pattern"], who=given["who"], until=given["until"])
        verbs = frozenset(Verb(verb) for verb in given["verbs"])
        only_if = condition_of(given["only_if"]) if given["only_if"] else None
        about = given["pattern"], verbs, given["who"], given["reason"], only_if, given["until"], given["most"]
        return PathRule(Effect(given["effect"]), *about)


MOST_ROWS = 2 * MOST_RULES
"""The most rows of a form. It is more than a store may have, so that a person can add rules first and remove others
before saving."""
TOO_MANY = _("A memory store has at most %(num)d rules. Remove some.")

PathRuleRows = forms.formset_factory(
    PathRuleForm, extra=0, max_num=MOST_RULES, absolute_max=MOST_ROWS, validate_max=True
)
Rows: TypeAlias = "forms.BaseFormSet[PathRuleForm]"


def of_rules(rules: Sequence[PathRule]) -> list[Row]:
    """Return the rows of the form for these rules."""
    return [{**rule.as_json(), "pattern": rule.pattern or "/"} for rule in rules]


def typed(data: QueryDict) -> list[Row]:
    """Return the rows of a submitted form, valid or not."""
    given = data.get("form-TOTAL_FORMS", "")
    total = min(int(given), MOST_ROWS) if given.isascii() and given.isdigit() and len(given) < 5 else 0
    return [
        {
            "effect": data.get(f"form-{number}-effect", Effect.REFUSE.value),
            "who": data.get(f"form-{number}-who", ""),
            "verbs": data.getlist(f"form-{number}-verbs"),
            "pattern": data.get(f"form-{number}-pattern", ""),
            "reason": data.get(f"form-{number}-reason", ""),
            "only_if": data.get(f"form-{number}-only_if", ""),
            "until": data.get(f"form-{number}-until", ""),
            "most": data.get(f"form-{number}-most", ""),
        }
        for number in range(total)
    ]


def limited(rows: Sequence[Mapping[str, Any]], saved: Sequence[PathRule]) -> str:
    """Return the agent or key of the first row, if the other values of this row are those of LIMIT.

    Return "" if they are not, or if a saved rule is about this agent or key.
    """
    first = {**UNTOUCHED, **(rows[0] if rows else {})}
    who = str(first["who"])
    is_begun = {**first, "verbs": sorted(first["verbs"]), "who": ""} == LIMIT
    return who if is_begun and all(rule.who != who for rule in saved) else ""


def rearranged(rows: list[Row], act: str, saved: Sequence[PathRule] = ()) -> tuple[list[Row], int]:
    """Return the rows after an act, and the index of the row that gets the focus.

    The act is `add`, `up-N`, `down-N`, `remove-N` or `example-NAME`. N is an index from 0, NAME one of EXAMPLES. The
    rows of an example are added at the end. If nothing is `saved` and the only row is unchanged, they replace it. If
    `limited` returns an agent or key, they replace the first row and name this agent or key.
    """
    name, _dash, text = act.partition("-")
    if name == "example" and not saved and [{**row, "verbs": sorted(row["verbs"])} for row in rows] == [UNTOUCHED]:
        rows = []
    more = EXAMPLES[text][1] if name == "example" and text in EXAMPLES else ({},) if act == "add" else ()
    if name == "example" and more and len(rows) + len(more) <= MOST_RULES and (who := limited(rows, saved)):
        return [*(NEW_ROW | one | {"who": who} for one in more), *rows[1:]], 0
    if more:
        fits = len(rows) + len(more) <= MOST_RULES
        return ([*rows, *(NEW_ROW | one for one in more)], len(rows)) if fits else (rows, len(rows) - 1)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else len(rows)
    other = {"up": number - 1, "down": number + 1}.get(name, number)
    if not (0 <= number < len(rows) and 0 <= other < len(rows)):
        return rows, 0
    if name == "remove":
        return rows[:number] + rows[number + 1 :], max(0, number - 1)
    moved = list(rows)
    moved[number], moved[other] = moved[other], moved[number]
    return moved, other


def unbound(rows: Sequence[Mapping[str, Any]], names: Names, store: MemoryStore) -> Rows:
    """Return an unsubmitted form with these rows."""
    return PathRuleRows(initial=[dict(row) for row in rows], form_kwargs={"names": names, "store": store})


def bound(data: QueryDict, names: Names, store: MemoryStore) -> Rows:
    """Return the form with the submitted values."""
    kwargs = {"names": names, "store": store}
    return PathRuleRows(data, form_kwargs=kwargs, error_messages={"too_many_forms": str(TOO_MANY)})
