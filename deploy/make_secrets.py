"""Makes the secrets of the containers at their first start, each in a file that only its reader can open."""

import os
import secrets
import sys
from pathlib import Path

HUB = 10001
"""The user of the hub's container."""


def made(path: Path, text: str, mode: int, owner: int) -> str:
    """Return the text of a file, which is made if it is not there."""
    if not path.exists():
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(descriptor)
        os.chown(new, owner, -1)
        new.chmod(mode)
        new.rename(path)
    return path.read_text()


def main(database: Path, hub: Path, owner: int = HUB) -> None:
    """Make the password of the database, the same for the hub's driver, and the passphrase of the backups."""
    password = made(database / "password", secrets.token_urlsafe(32), 0o444, -1)
    made(hub / "pgpass", f"*:*:*:hub:{password}\n", 0o400, owner)
    made(hub / "backup_passphrase", secrets.token_urlsafe(24), 0o400, owner)
    for directory in (database, hub):
        directory.chmod(0o755)  # the files have modes of their own


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
