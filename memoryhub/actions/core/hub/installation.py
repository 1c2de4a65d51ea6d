"""Checks whether this process has the hub's secrets. The database has keyed digests of them for this comparison.

With another audit key, the process would write entries that cannot be verified. With another SECRET_KEY, it would end
every session.
"""

import hmac

from django.conf import settings
from django.db import connection

from memoryhub.actions.core import audit, proofs
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.audit.keys import Replaced, key_name
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HUB, AuditEntry, Installation


def _secret_mark() -> str:
    return hmac.digest(settings.SECRET_KEY.encode(), b"memoryhub\0SECRET_KEY", "sha256").hex()


def _audit_mark() -> str:
    return _mark(settings.MEMORYHUB_AUDIT_KEY)


def _mark(audit_key: bytes) -> str:
    return hmac.digest(audit_key, b"memoryhub\0MEMORYHUB_AUDIT_KEY", "sha256").hex()


def wrong_secrets() -> list[str]:
    """Return the names of the configured secrets that are wrong: this database was written with others.

    A secret without a stored digest counts as right.

    The audit key is the exception: without a stored digest, it is checked with the newest entry of the hub's chain. The
    database may have an older schema.
    """
    row = None
    if Installation._meta.db_table in connection.introspection.table_names():
        row = Installation.objects.only("audit_mark", "secret_mark").filter(pk=1).first()
    row = row or Installation()
    found = []
    if row.audit_mark not in (None, _audit_mark()) or (row.audit_mark is None and not _newest_entry_fits()):
        found.append("MEMORYHUB_AUDIT_KEY")
    if row.secret_mark not in (None, _secret_mark()):
        found.append("SECRET_KEY")
    return found


def keep_marks() -> None:
    """Store the digests that are not stored yet. Call it at a start, after `wrong_secrets` returned an empty list."""
    with writing():
        Installation.objects.get_or_create(pk=1)
        Installation.objects.filter(pk=1, audit_mark=None).update(audit_mark=_audit_mark())
        Installation.objects.filter(pk=1, secret_mark=None).update(secret_mark=_secret_mark())


def replace_audit_key(older_keys: str) -> None:
    """Store the digest of the current audit key, and the older keys. Call it in the transaction of the rotation."""
    Installation.objects.get_or_create(pk=1)
    Installation.objects.filter(pk=1).update(audit_mark=_audit_mark(), older_keys=older_keys)


def is_audit_key(key: str) -> bool:
    """Return whether a text is the audit key with which the hub writes."""
    return Installation.objects.filter(pk=1, audit_mark=_mark(key.encode())).exists()


def require_current_key() -> None:
    """Raise Replaced if the audit key was rotated since this process read it."""
    stored = Installation.objects.filter(pk=1).values_list("audit_mark", flat=True).first()
    if stored not in (None, _audit_mark()):
        raise Replaced


def accept_secret_key(act: Act) -> bool:
    """Accept the current SECRET_KEY after a deliberate change: store its digest.

    Return whether another digest was stored before.
    """
    with writing():
        changed = Installation.objects.filter(pk=1).exclude(secret_mark=_secret_mark())
        done = bool(changed.update(secret_mark=_secret_mark()))
        if done:
            audit.on_hub(act, Record("accept_secret_key"))
    return done


def _newest_entry_fits() -> bool:
    """Return whether the newest entry of the hub's chain was written with this audit key.

    True if the chain has no entry.
    """
    newest = AuditEntry.objects.of_chain(HUB).newest()
    if newest.values_list("key_name", flat=True).first() in (None, key_name()):
        return True
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, AuditEntry._meta.db_table)
    if "proof" not in {column.name for column in columns}:
        return False  # the entry of an older schema cannot be read
    entry = newest.first()
    return entry is not None and proofs.fits(entry, settings.MEMORYHUB_AUDIT_KEY)
