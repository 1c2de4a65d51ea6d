"""Forms for the texts to erase and for the confirmation.

The texts are only in the bodies of requests and responses: never in a URL, a message, a cookie or a session.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.erasure.places import REDACTED
from memoryhub.pure.text.folding import fold
from memoryhub.pure.text.spellings import SHORTEST, is_long_enough
from memoryhub.web.common.forms import LONGEST_NOTE

MOST, LONGEST = 20, 500


class BadTerms(ValueError):
    """The texts cannot be searched; the message is a sentence for the person."""


def terms_of(form: QueryDict) -> list[str]:
    """Return the texts to erase: each line of `terms` and each `term`. Raise BadTerms if they are invalid."""
    typed = form.get("terms", "").replace("\r\n", "\n").split("\n")
    return checked([*(line.strip() for line in typed), *form.getlist("term")])


def checked(texts: Iterable[str], most: int = MOST) -> list[str]:
    """Return the distinct texts in order. Raise BadTerms if a text is invalid, or if there are no texts or more than
    `most`."""
    terms = list(dict.fromkeys(text for text in texts if text))
    if not terms:
        raise BadTerms(gettext("Type at least one text to erase."))
    if len(terms) > most:
        raise BadTerms(gettext("At most %(most)s texts can be erased at once.") % {"most": most})
    for term in terms:
        if not is_long_enough(term):
            raise BadTerms(
                gettext(
                    "“%(text)s” is too short. Type at least %(least)s characters, or two Chinese, Japanese or Korean "
                    "characters, so that nothing else is erased by mistake."
                )
                % {"text": term, "least": SHORTEST}
            )
        if len(term) > LONGEST:
            raise BadTerms(gettext("A text can have at most %(most)s characters.") % {"most": LONGEST})
        if "\0" in term or any("\ud800" <= character <= "\udfff" for character in term):
            raise BadTerms(gettext("One of the texts has a character that memories cannot contain."))
        if term in REDACTED:
            raise BadTerms(
                gettext("“%(text)s” cannot be erased, because it is part of the text that replaces it.")
                % {"text": term}
            )
    return terms


class ConfirmForm(forms.Form):
    """A confirmation, for which the person types the first text, and an optional note. The note must not contain any of
    the texts."""

    confirm = forms.CharField(
        label=_("Confirmation"), required=True, strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )  # fmt: skip
    note = forms.CharField(
        label=_("Why"), required=False, max_length=LONGEST_NOTE, widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("The audit keeps this note. Write for example the number of the "
                    "request, never the name of the person."),
    )  # fmt: skip

    def __init__(self, terms: Sequence[str], data: Any = None, note: str = "") -> None:
        super().__init__(data, initial={"note": note})
        self.terms = terms

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"]
        if typed.strip() != self.terms[0].strip():
            raise forms.ValidationError(gettext("This is not the text. Type it exactly as shown."))
        return typed

    def clean_note(self) -> str:
        note: str = self.cleaned_data["note"]
        if any(fold(term) in fold(note) for term in self.terms):
            raise forms.ValidationError(gettext("The note contains a text to be erased. Leave it out."))
        return note
