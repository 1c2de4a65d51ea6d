"""Checks the receipts of erasures: each erasure has one signed receipt, and there are no other receipts."""

from collections.abc import Iterator

from memoryhub.actions.core.audit import documents
from memoryhub.models import AuditChain, AuditEntry, Receipt
from memoryhub.pure import chain


def problems(chain_id: str) -> Iterator[tuple[int, str]]:
    """Yield (seq, sentence) for each erasure without a receipt, and each receipt that was changed or has no erasure."""
    start = AuditChain.objects.filter(pk=chain_id).values_list("start_seq", flat=True).first() or 0
    erasures = AuditEntry.objects.of_chain(chain_id).of_command("erase").that_ended(True)
    hashes = dict(erasures.values_list("seq", "hash"))
    for receipt in Receipt.objects.filter(store=chain_id).order_by("id"):
        content = receipt.content
        names = (receipt.pk, receipt.store, chain.moment(receipt.at))
        stated = tuple(content.get(name) for name in ("id", "memory_store_id", "at"))
        seq = content.get("entry")
        if stated != names or not documents.is_signed(content, receipt.signature):
            yield 0, f"receipt {receipt.pk} was changed"
        elif seq > start and hashes.pop(seq, None) != content.get("entry_hash"):
            yield seq, f"receipt {receipt.pk} is not of this entry"
    for seq in hashes:
        yield seq, "the receipt of this erasure is missing"
