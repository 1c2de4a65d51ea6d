"""What a person is told that a memory would hold: the kinds of sensitive text as they stand in a sentence."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.protocol.results import KIND_NAMES

_PHRASES: dict[str, Promise] = {
    "private_key": _("a private key"),
    "hub_key": _("a key of this memory hub"),
    "provider_key": _("a key of a provider"),
    "jwt": _("a JSON Web Token"),
    "url_credentials": _("a password in a URL"),
    "password": _("a password"),
    "email": _("an e-mail address"),
    "phone": _("a telephone number"),
    "card": _("a payment card number"),
    "iban": _("a bank account number"),
    "national_id": _("a national identity number"),
    "ip": _("an IP address"),
    "instructions": _("instructions to a model"),
    "role_tag": _("a role tag"),
    "invisible": _("invisible characters"),
    "bidirectional": _("bidirectional control characters"),
    "encoded": _("an encoded text"),
    "placeholder_url": _("a placeholder URL"),
}

KIND_PHRASES: dict[str, Promise] = {KIND_NAMES[kind]: phrase for kind, phrase in _PHRASES.items()}
"""By what the tool's sentences call them."""
