"""The kinds of errors of the memory tool in words."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.pure.protocol.kinds import Kind

WORDS: Mapping[Kind, str | Promise] = {
    Kind.NOT_FOUND: _("Path does not exist"), Kind.EXISTS: _("Path is taken"),
    Kind.NO_MATCH: _("Text to replace was not found"), Kind.SEVERAL: _("Text to replace was found several times"),
    Kind.PATH: _("Path refused"), Kind.MALFORMED: _("Call is invalid"), Kind.LIMIT: _("Limit reached"),
    Kind.SENSITIVE: _("Sensitive text"), Kind.READ_ONLY: _("Key may only read"),
    Kind.ARCHIVED: _("Store is archived"), Kind.HELD: _("Legal hold"), Kind.RULE: _("Path rule"),
    Kind.PRECONDITION: _("Precondition failed"), Kind.OTHER: _("Something else"),
}  # fmt: skip
"""{kind: its words}. A change that became part of a proposal is not an error."""
