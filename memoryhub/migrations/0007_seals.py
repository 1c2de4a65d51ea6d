"""Seals of governing rows. Existing rows get their first seal from an audit entry that the hub itself writes."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import migrations, models

import memoryhub.models.fields
from memoryhub.pure import chain

HUB = "hub"
ENTRY_BYTES = 500
KINDS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "agent": (None, ()),
    "finding": ("store_id", ()),
    "hold": ("store_id", ()),
    "hubsettings": (None, ("checked_at", "scrub_since", "scrub_asked", "scrub_begun_at")),
    "invitation": ("store_id", ()),
    "key": (None, ("last_used_at",)),
    "keystore": (None, ()),
    "member": ("store_id", ()),
    "memorystore": ("id", ("memory_count", "total_bytes")),
    "retentionpolicy": ("store_id", ()),
    "user": (None, ("last_login",)),
    "webhook": (
        "store_id", ("failing_since", "problem", "status", "delivered_at", "next_at", "leased_until"),
    ),
}  # fmt: skip
"""{table: (the column with the store whose chain seals a row, the columns that no seal covers)}."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def seal_rows(apps: Any, schema_editor: Any) -> None:
    """Append one entry to the chain of each store and one to the hub's. They hold a seal of every governing row."""
    found = defaultdict(list)
    for kind, (home_column, outside) in KINDS.items():
        model = apps.get_model("memoryhub", kind)
        for row in model._base_manager.order_by("pk").iterator(2000):
            home = (getattr(row, home_column) if home_column else None) or HUB
            values = dict(sorted(_values(row, outside)))
            if len(values) > 1:
                may_go = getattr(row, "deleted_at", None) is not None
                found[home].append((kind, str(row.pk), may_go, values))
    heads = apps.get_model("memoryhub", "AuditChain").objects.filter(closed_at=None)
    for head in heads.filter(pk__in=list(found)).order_by("pk"):
        _write(apps, head, found[head.pk])


def _values(row: Any, outside: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        if field.name not in outside and (field.primary_key or value != field.get_default()):
            yield field.attname, chain.moment(value) if isinstance(value, datetime) else value


def _write(apps: Any, head: Any, rows: list[tuple[str, str, bool, dict[str, Any]]]) -> None:
    seq, made, members = head.last_seq + 1, [], []
    for kind, key, may_go, values in sorted(rows, key=lambda row: row[:2]):
        salt = chain.new_salt()
        text = _encode([1, "row", head.pk, kind, key, 1, values]).encode("utf-8", "surrogatepass")
        digest = hmac.digest(bytes.fromhex(salt), text, "sha256").hex()
        told = _encode([1, "row", head.pk, kind, key, 1, digest, may_go])
        members.append(hashlib.sha256(b"seal\0" + told.encode()).hexdigest())
        made.append(
            apps.get_model("memoryhub", "Seal")(
                chain=head.pk, seq=seq, home=head.pk, kind=kind, row=key, number=1, digest=digest, may_go=may_go,
                salt=salt,
            )
        )  # fmt: skip
    apps.get_model("memoryhub", "Seal").objects.bulk_create(made, batch_size=100)
    _append(apps, head, seq, chain.digest(members), len(made))


def _append(apps: Any, head: Any, seq: int, digest: str | None, count: int) -> None:
    """Append the entry, in the form that entries have had since the first version of the hub."""
    at, label, input = datetime.now(UTC), "memoryhub", _encode({"rows": count})
    given = dict.fromkeys(chain.COMMITTED) | {"label": label, "input": input}
    salts = {field: chain.new_salt() for field in chain.COMMITTED if given[field] is not None}
    commitments = {field: chain.commit(bytes.fromhex(salt), given[field] or "") for field, salt in salts.items()}
    key_name = chain.key_id(settings.MEMORYHUB_AUDIT_KEY)
    plain = (
        head.pk, seq, chain.moment(at), "system", None, None, "command", "seal_rows", None, None, True, 0, None, None,
        None, None, None, digest,
    )  # fmt: skip
    canonical = chain.canonical(key_name, plain, commitments)
    entry_hash = chain.entry_hash(settings.MEMORYHUB_AUDIT_KEY, head.last_hash, canonical)
    apps.get_model("memoryhub", "AuditEntry").objects.create(
        chain=head.pk, seq=seq, at=at, actor_kind="system", label=label, door="command", command="seal_rows", ok=True,
        input=input, duration=0, digest=digest, salts=salts, commitments=commitments, key_name=key_name,
        previous_hash=head.last_hash, hash=entry_hash,
    )  # fmt: skip
    head.last_seq, head.last_hash = seq, entry_hash
    head.bytes += ENTRY_BYTES + sum(len(text) for text in (input, _encode(salts), _encode(commitments)))
    head.save(update_fields=["last_seq", "last_hash", "bytes"])


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0006_bounds_of_the_audit")]

    operations = [
        migrations.AddField("auditchain", "start_seals", models.TextField(null=True)),
        migrations.CreateModel(
            name="Seal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain", memoryhub.models.fields.IdField()),
                ("seq", models.BigIntegerField()),
                ("home", memoryhub.models.fields.IdField()),
                ("kind", models.CharField(max_length=40)),
                ("row", memoryhub.models.fields.IdField()),
                ("number", models.BigIntegerField()),
                ("digest", models.TextField(null=True)),
                ("may_go", models.BooleanField(default=False)),
                ("salt", models.TextField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["chain", "seq"], name="seal_by_entry"),
                    models.Index(fields=["home", "kind", "number"], name="seal_of_home"),
                ],
                "constraints": [models.UniqueConstraint(fields=("kind", "row", "number"), name="seal_once")],
            },
        ),
        migrations.RunPython(seal_rows, migrations.RunPython.noop, elidable=False),
    ]
