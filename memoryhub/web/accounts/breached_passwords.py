"""A rule for new passwords: a password in the hub's list of breached passwords is refused."""

import logging
from pathlib import Path

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from memoryhub.models import User
from memoryhub.pure import breached

logger = logging.getLogger(__name__)


class NotBreached:
    """Refuses the passwords in the hub's list of breached passwords. If the list cannot be read, no password is
    refused."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)

    def validate(self, password: str, user: User | None = None) -> None:
        try:
            is_listed = breached.is_listed(password, self.file)
        except OSError:
            logger.exception("The list of breached passwords cannot be read.")
            return
        if is_listed:
            raise ValidationError(
                _("This password is in a list of stolen passwords. Choose another password."), code="breached"
            )

    def get_help_text(self) -> str:
        return _("It must not be in a list of stolen passwords.")
