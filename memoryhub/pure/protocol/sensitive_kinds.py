"""The names of the kinds of sensitive text in the sentences of the tool."""


def _(text: str) -> str:
    """Mark a text for translation."""
    return text


KIND_NAMES = {
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
"""The names of the kinds of sensitive text. Agents see them as they are here, people see them translated."""


def kind_name(kind: str) -> str:
    """Return the name of a kind in the words of the tool."""
    return KIND_NAMES.get(kind, kind)
