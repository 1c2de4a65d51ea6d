"""The form of a webhook: its settings, and its events by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from memoryhub.actions.webhooks.manage import WebhookSettings
from memoryhub.models import Webhook
from memoryhub.pure import outgoing
from memoryhub.pure.outgoing import Refused
from memoryhub.pure.webhook_rules.chat import is_of_chat
from memoryhub.pure.webhook_rules.events import EVENTS, GROUPS, OFFICIAL
from memoryhub.web.webhooks import sentences

MAY_BE_ALLOWED = frozenset(("private", "scheme", "port"))
"""The codes of the problems with an address that a permission of private addresses would solve."""

PROGRAM, CHAT = "program", "chat"

AT_FIRST = ("review.needed", "proposal.opened", "finding.opened")
"""The events that are ticked for a new webhook."""

NOT_OF_A_STORE = frozenset(("memory_store.created", *GROUPS["alarm"]))
"""Events that a webhook of a store cannot receive, because they happen before the webhook can exist, or concern the
hub."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The checkbox of one event."""

    name: str
    label: str
    is_chosen: bool
    is_official: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The checkboxes of the events of one group."""

    name: str
    label: str
    choices: list[Choice]


class WebhookForm(forms.Form):
    """The settings of a webhook. Only superusers may set `may_be_private`.

    If another person edits the webhook and does not change its address, an earlier permission for a private address
    stays.
    """

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("The name that this page and the audit show."),
    )
    url = forms.CharField(
        label=gettext_lazy("Address"), max_length=outgoing.LONGEST_URL, strip=True,
        widget=forms.TextInput(attrs={
            "class": "input-mono", "inputmode": "url", "autocomplete": "off", "autocapitalize": "none",
            "spellcheck": "false", "placeholder": "https://example.com/memoryhub",
        }),
        help_text=gettext_lazy(
            "The address must be https and on the open internet. For a chat, use the address of an incoming webhook, "
            "which the settings of the chat’s channel show."
        ),
    )  # fmt: skip
    kind = forms.ChoiceField(
        label=gettext_lazy("What is sent"), required=False, widget=forms.RadioSelect, initial=PROGRAM,
        choices=((PROGRAM, gettext_lazy("Events to a program, as signed JSON")),
                 (CHAT, gettext_lazy("Messages to a chat: Slack, Microsoft Teams, Discord, Mattermost"))),
        help_text=gettext_lazy("A message is one sentence with a link to the page. It contains no text of a memory."),
    )  # fmt: skip
    may_be_private = forms.BooleanField(
        label=gettext_lazy("Allow a private address"), required=False,
        help_text=gettext_lazy(
            "Allows http, any port, and addresses in your own network or on this machine. Only administrators of the"
            " hub see this box."
        ),
    )  # fmt: skip

    def __init__(
        self, *args: Any, is_superuser: bool, of_hub: bool, webhook: Webhook | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.is_superuser, self.of_hub, self.webhook = is_superuser, of_hub, webhook
        if not is_superuser:
            del self.fields["may_be_private"]
        if webhook is not None:
            kind = CHAT if webhook.is_chat else PROGRAM
            kept = {"name": webhook.name, "url": webhook.url, "may_be_private": webhook.may_be_private}
            self.initial = {**kept, "kind": kind}

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).replace("\0", "").strip() or self._fail(_("Give it a name."))

    def _fail(self, said: str) -> str:
        raise forms.ValidationError(said)

    def clean(self) -> dict[str, Any]:
        """Check the address and the events. A host name that cannot be resolved yet is no error."""
        url = self.cleaned_data.get("url")
        if url is not None:
            try:
                outgoing.check(url, private=self.allows_private(), seconds=3)
            except Refused as refused:
                if refused.code != "unresolved":
                    self.add_error("url", self._words(refused.code))
            if is_of_chat(url) and self.cleaned_data.get("kind") != CHAT:
                self.add_error("kind", _("This is the address of a chat. A chat takes only messages."))
        if not self.chosen():
            self.add_error(None, _("Choose at least one event."))
        return self.cleaned_data

    def _words(self, code: str) -> str:
        if code == "private" and not self.is_superuser:
            return _("This address is in a private or special network. An administrator of the hub can allow it.")
        said = sentences.problem(code)
        if self.is_superuser and not self.allows_private() and code in MAY_BE_ALLOWED:
            return " ".join((said, _("If that is what you want, tick “Allow a private address”.")))
        return said

    def allows_private(self) -> bool:
        if self.is_superuser:
            return bool(self.cleaned_data.get("may_be_private"))
        before = self.webhook
        return before is not None and before.may_be_private and before.url == self.cleaned_data.get("url")

    def chosen(self) -> list[str]:
        """Return the names of the ticked events. In a submitted form, these are the submitted events. Otherwise, they
        are the events of the webhook, or the defaults for a new webhook."""
        if self.is_bound:
            getlist = getattr(self.data, "getlist", None)
            ticked: Sequence[str] = getlist("events") if getlist else self.data.get("events", [])
        else:
            ticked = self.webhook.events if self.webhook else AT_FIRST
        return [name for name in EVENTS if name in ticked and (self.of_hub or name not in NOT_OF_A_STORE)]

    def groups(self) -> list[Group]:
        chosen = self.chosen()
        return [
            Group(
                group,
                str(sentences.GROUPS[group]),
                [
                    Choice(name, sentences.event(name), name in chosen, name in OFFICIAL)
                    for name in names
                    if self.of_hub or name not in NOT_OF_A_STORE
                ],
            )
            for group, names in GROUPS.items()
            if self.of_hub or not NOT_OF_A_STORE.issuperset(names)
        ]

    def settings(self) -> WebhookSettings:
        values = self.cleaned_data
        is_chat = values.get("kind") == CHAT
        return WebhookSettings(values["name"], values["url"], self.chosen(), self.allows_private(), is_chat)
