"""Checks the newest entries of each chain, which takes little time.

`verify_audit` checks all entries, and the rows that they made.
"""

from collections.abc import Iterator

from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import keys
from memoryhub.models import AuditChain, AuditEntry

COUNT = 50


def problems(count: int = COUNT) -> Iterator[str]:
    """Yield a sentence for each chain in which one of the newest `count` entries was changed or is missing."""
    for head in AuditChain.objects.order_by("id"):
        expected_seq, expected_hash = head.last_seq, head.last_hash
        # An entry that was written after the head was read is not compared with it.
        for entry in AuditEntry.objects.of_chain(head.id).filter(seq__lte=head.last_seq).newest()[:count]:
            if entry.seq != expected_seq:
                yield f"entry {expected_seq} of {head.id} is missing"
                break
            is_of_its_key = (entry.key_name == keys.key_name()) == (entry.seq > head.older_seq)
            if entry.hash != expected_hash or not is_of_its_key or not proofs.is_right(entry):
                yield f"entry {entry.seq} of {head.id} was changed, or was written with another audit key"
                break
            expected_seq, expected_hash = entry.seq - 1, entry.previous_hash
        else:
            if expected_seq == head.last_seq and head.last_seq > head.start_seq:
                yield f"the entries of {head.id} are missing"
