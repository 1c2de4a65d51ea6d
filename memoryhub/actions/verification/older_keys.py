"""Checks which audit key each entry of a chain needs.

At a rotation, the last entry of each chain is signed with the new key. So anyone who has an older key can neither
change this entry or an earlier one, nor add one after it.
"""

from collections import Counter
from collections.abc import Iterator

from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import keys
from memoryhub.models import AuditChain, AuditEntry
from memoryhub.pure import chain


def signature(chain_id: str, seq: int, entry_hash: str) -> str:
    """Return the signature of the current key over the last entry that was written with an older key."""
    return chain.seal_of(keys.current(), ["older", chain_id, seq, entry_hash])


class OlderKeys:
    """Checks the keys of a chain's entries, in order."""

    def __init__(self, row: AuditChain | None) -> None:
        self.row = row
        self.last = row.older_seq if row else 0
        self.current = keys.key_name()
        self.known = {name: keys.of(name) or b"" for name in keys.names()}
        self.lost: Counter[str] = Counter()

    def problems(self, entry: AuditEntry) -> Iterator[str]:
        """Yield a sentence for each problem of an entry's key and hash.

        If the key was lost, the hash cannot be checked, and the entry is counted in `lost`."""
        name = entry.key_name
        if (name == self.current) != (entry.seq > self.last):
            yield f"it was written with the audit key {name}, and this is {self.current}"
        if name not in self.known:
            if keys.is_lost(name):
                self.lost[name] += 1
            elif entry.seq <= self.last:
                yield f"it was written with the audit key {name}, which this hub never had"
        elif proofs.hash_of(entry, self.known[name]) != entry.hash:
            yield "it was changed: its hash does not fit"
        if entry.seq == self.last and not self._is_signed(entry):
            yield "it, or one before it, was changed: it is not the last one of the older audit key"

    def _is_signed(self, entry: AuditEntry) -> bool:
        row = self.row
        return row is not None and row.older_signature == signature(entry.chain, entry.seq, entry.hash)

    def problems_of_end(self, seq: int) -> Iterator[str]:
        """Yield a sentence for each problem with older keys that shows only at the end of the chain (at `seq`).

        Entries of older keys can be missing, or the chain's row can have wrong values about its keys."""
        row = self.row
        if self.last > seq:
            yield f"entries {seq + 1} to {self.last}, which an older audit key wrote, are missing"
        if row and not (row.start_seq < self.last if self.last else row.older_signature is None):
            yield "what it says about older audit keys was changed"
        if row and keys.known().is_complete and row.key_name != (self.current if len(self.known) > 1 else None):
            yield "the audit key that it asks for is not the hub's"

    def unknown(self) -> str:
        """Return a sentence about entries that cannot be verified; "" if there are none."""
        return "; ".join(
            f"{count} {'entry' if count == 1 else 'entries'} cannot be verified: {missing(name)}"
            for name, count in sorted(self.lost.items())
        )


def missing(name: str) -> str:
    """Return the words for messages about an older key that was lost."""
    return f"the older audit key {name} is missing (put it back with rotate_audit_key --put-back)"
