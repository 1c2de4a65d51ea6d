"""Reads secrets from the environment. If a secret cannot be read, the process ends with a sentence, which never
contains the secret."""

import os
from pathlib import Path


def secret_in(variable: str) -> str:
    """Return the secret in an environment variable; "" without one."""
    value = os.environ.get(variable, "")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SystemExit(f"{variable} is not text in UTF-8. Bytes can be set in Base64, for example.") from None
    return value


def text_of(path: str) -> str:
    """Return the text of a file with a secret; "" without a path."""
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path}, which MEMORYHUB_BACKUP_PASSPHRASE_FILE names, cannot be read: {error}.") from None
