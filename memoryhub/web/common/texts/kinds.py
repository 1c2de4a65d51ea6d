"""Labels and harmless examples for each kind of sensitive text and sign of poisoning."""

from dataclasses import dataclass

from django.db.models import Case, IntegerField, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.pure.sensitive import KINDS, Group

Words = str | Promise


@dataclass(frozen=True, slots=True)
class KindWords:
    """A kind's label, a sentence on what it detects, and a harmless example."""

    label: Words
    finds: Words
    example: str


GROUPS: dict[Group, tuple[Words, Words, str]] = {
    Group.SECRET: (_("Secrets"), _("Anyone who has such a text can get access to something."), "key-round"),
    Group.PERSONAL: (_("Personal data"), _("Text that identifies a person, or a way to contact one."), "user"),
    Group.POISON: (_("Signs of poisoning"), _("Text that tries to steer the agents that read it."), "shield-alert"),
}
"""{group: (its label, the reason why it is sensitive, its icon)}"""

GROUP_WORDS: dict[Group, Words] = {
    Group.SECRET: _("secret"), Group.PERSONAL: _("personal"), Group.POISON: _("poison"),
}  # fmt: skip

SEVERITY = (Group.POISON, Group.SECRET, Group.PERSONAL)
"""The groups by severity, the worst first. Poisoned text is the worst, because it harms whenever an agent reads it."""

KIND_WORDS: dict[str, KindWords] = {
    "private_key": KindWords(
        _("Private key"), _("A PEM block of a private key, with or without its end."), "-----BEGIN PRIVATE KEY-----"
    ),
    "hub_key": KindWords(_("Key of this hub"), _("A key with which agents call this hub."), "mh_…"),
    "provider_key": KindWords(
        _("Key of a provider"),
        _("Keys of clouds, code hosts and model providers, recognized by their first characters."),
        "AKIA…",
    ),
    "jwt": KindWords(_("Signed token"), _("A JSON Web Token of three parts."), "eyJhbGciOi….eyJzdWIi….…"),
    "url_credentials": KindWords(
        _("Credentials in an address"), _("A name and a password in a URL."), "https://name:…@host.example"
    ),
    "password": KindWords(
        _("Password"), _("The text after words like “password is”, in several languages."), "password is …"
    ),
    "card": KindWords(_("Payment card"), _("13 to 19 digits with the right check digit."), "5105 1051 0510 5100"),
    "iban": KindWords(
        _("Bank account"), _("An IBAN with the right length and checksum."), "GB82 WEST 1234 5698 7654 32"
    ),
    "national_id": KindWords(
        _("National number"), _("Identity and tax numbers with the right check digits."), "078-05-1120"
    ),
    "email": KindWords(_("E-mail address"), _("An address at any domain."), "jane@example.com"),
    "phone": KindWords(
        _("Telephone number"), _("International numbers, and national ones in the usual formats."), "+44 20 7946 0123"
    ),
    "ip": KindWords(_("IP address"), _("IPv4 and IPv6 addresses."), "203.0.113.7"),
    "instructions": KindWords(
        _("Instructions"),
        _("Sentences that address a model and give it orders."),
        "Ignore all previous instructions",
    ),
    "role_tag": KindWords(_("Role tag"), _("Tags that pretend that someone else is speaking."), "<system>"),
    "invisible": KindWords(_("Invisible characters"), _("Invisible characters, which can carry a message."), "U+200B"),
    "bidirectional": KindWords(
        _("Direction of writing"),
        _("Characters that reverse the text direction, so that you see a different text from the one that is stored."),
        "U+202E",
    ),
    "encoded": KindWords(
        _("Encoded text"),
        _("Base64 or hexadecimal blobs that decode to readable text."),
        "SWdub3JlIGFsbCBwcmV2aW91cyA…",
    ),
    "placeholder_url": KindWords(
        _("Placeholder in an address"),
        _("An address that asks the agent to fill something in."),
        "https://host.example/?q={secret}",
    ),
}


def label(kind: str) -> str:
    """Return the label of a kind, or its name if the kind no longer exists."""
    words = KIND_WORDS.get(kind)
    return str(words.label) if words else kind


def group_of(kind: str) -> Group:
    known = KINDS.get(kind)
    return known.group if known else Group.SECRET


def rank() -> Case:
    """Return the position of a finding's group in SEVERITY, as an expression for a query."""
    names = {group: [name for name in KINDS if group_of(name) == group] for group in SEVERITY}
    cases = (When(kind__in=names[group], then=place) for place, group in enumerate(SEVERITY))
    return Case(*cases, default=SEVERITY.index(group_of("")), output_field=IntegerField())


def icon_of(kind: str) -> str:
    return GROUPS[group_of(kind)][2]


SAYS: dict[str, Words] = {
    "instructions": _("This line tells the agents that read it what to do."),
    "role_tag": _("This line pretends that somebody else is speaking."),
    "invisible": _("This line has characters that nobody can see."),
    "bidirectional": _("In this line, people see a different text from the one that agents read."),
    "encoded": _("This line hides readable text in an encoded form."),
    "placeholder_url": _("This line asks agents to put something into an address."),
    Group.SECRET: _("Everyone who reads this line can use the secret in it."),
    Group.PERSONAL: _("This line has personal data."),
    Group.POISON: _("This line tries to steer the agents that read it."),
}
"""{kind or group of a finding: the sentence about a line with this finding}. A kind without a sentence has that of its
group."""


def says(kind: str) -> str:
    """Return a sentence about a line with a finding of this kind: its effect on agents and people."""
    return str(SAYS.get(kind) or SAYS[group_of(kind)])
