"""The salts and commitments of audit entries, read here independently of the hub, and entries as the hub wrote them
before they had a `proof`."""

import hashlib
import hmac
import json
from collections.abc import Iterable

from memoryhub.actions.core.audit import keys
from memoryhub.models import AuditEntry
from tests.support.write_guard import tampering

COMMITTED = ("path", "new_path", "label", "session", "note", "token", "input", "message")
PLAIN = (
    "chain", "seq", "at", "actor_kind", "actor_id", "author_id", "door", "command", "memory", "version", "ok",
    "duration", "group", "replay_of", "first_line", "last_line", "cut", "digest",
)  # fmt: skip


def read(entry: AuditEntry) -> tuple[dict[str, str], dict[str, str]]:
    """The salts and all commitments of an entry; those that it does not contain are computed from its values."""
    if entry.proof is None:
        return entry.salts, entry.commitments
    assert (entry.salts, entry.commitments) == ({}, {})
    proof, place = bytes(entry.proof), 2
    found: list[dict[str, str]] = []
    for byte, size in ((proof[0], 16), (proof[1], 32)):
        names = [name for number, name in enumerate(COMMITTED) if byte >> number & 1]
        found.append({name: proof[place + size * at : place + size * (at + 1)].hex() for at, name in enumerate(names)})
        place += size * len(names)
    assert place == len(proof)
    salts, kept = found
    values = {name: getattr(entry, name) for name in COMMITTED}
    values["message"] = None if entry.message is None else json.loads(entry.message)
    for name, salt in salts.items():
        if name not in kept:
            value = values[name].encode("utf-8", "surrogatepass")
            kept[name] = hmac.new(bytes.fromhex(salt), value, hashlib.sha256).hexdigest()
    return salts, {name: kept[name] for name in COMMITTED if name in kept}


def age(chain: str, seqs: Iterable[int]) -> None:
    """Give entries the form in which older versions of the hub wrote them."""
    for entry in AuditEntry.objects.of_chain(chain).filter(seq__in=list(seqs), proof__isnull=False):
        salts, commitments = read(entry)
        with tampering():
            AuditEntry.objects.filter(chain=chain, seq=entry.seq).update(
                salts=salts, commitments=commitments, proof=None
            )


def wrong_hashes(chain: str) -> list[int]:
    """The entries of a chain whose hash is not that of their values, salts and commitments."""
    wrong = []
    for entry in AuditEntry.objects.of_chain(chain).oldest():
        at = entry.at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        plain = [at if name == "at" else getattr(entry, name) for name in PLAIN]
        commitments = read(entry)[1]
        whole = [1, entry.key_name, *plain, [commitments.get(name) for name in COMMITTED]]
        text = entry.previous_hash + json.dumps(whole, separators=(",", ":"))
        key = keys.of(entry.key_name)
        if key is None or hmac.new(key, text.encode(), hashlib.sha256).hexdigest() != entry.hash:
            wrong.append(entry.seq)
    return wrong
