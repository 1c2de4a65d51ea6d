"""Downloads for auditors: a ZIP archive with a file, a statement about the file, and the statement's signature.

The statement and its signature are made last, from the digest of the bytes that were sent, so the file is never held in
memory.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from memoryhub.actions.core.audit import Act, signing
from memoryhub.actions.verification import missing, runs, verify
from memoryhub.models import AuditChain
from memoryhub.pure import chain, statement
from memoryhub.pure.statement import EntryRange
from memoryhub.pure.transfer.archive import write

MOST = 200_000
"""The most entries that are checked for one download: proxies wait a minute for its first byte. Only `verify_audit`
checks longer chains."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A download. Its audit entry has been written: `entry` is the (chain, seq) of this audit entry.

    `entries` is {chain: the range of its entries in the download}, and grows while `body` is read. `facts` are further
    lines of the statement. `page` is the address of the page that explains how to check the statement.
    """

    name: str
    body: Iterable[bytes]
    entries: Mapping[str, EntryRange]
    entry: tuple[str, int]
    act: Act
    page: str
    facts: Sequence[tuple[str, object]] = ()

    def archive(self) -> Iterator[bytes]:
        """Yield the bytes of the ZIP archive."""
        return write.files(self._files(), self.act.at)

    def _files(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        digest = hashlib.sha256()
        yield self.name, write.hashed(self.body, digest)
        told = statement.text(self._facts(), self.name, digest.hexdigest())
        yield statement.NAME, [told]
        yield statement.SIGNATURE, [signing.sign(told)]

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "hub", settings.MEMORYHUB_URL
        yield "made at", chain.moment(self.act.at)
        yield "asked for by", self.act.actor.id
        yield "entry of this download", " ".join(map(str, self.entry))
        yield from self.facts
        left = MOST
        for chain_id, entries in sorted(self.entries.items()):
            size = _size(chain_id)
            left -= size
            yield f"entries of {chain_id}", entries
            yield f"chain of {chain_id}", checked(chain_id) if left >= 0 else _not_checked(size)
        yield "signed with the key", signing.current().fingerprint
        yield "how to check this", f"{settings.MEMORYHUB_URL.rstrip('/')}{self.page}"


def checked(chain_id: str) -> str:
    """Verify a chain, and return the result as a sentence."""
    count, problem = verify.verify(chain_id, settings.MEMORYHUB_CHECKPOINT_FILE)
    if problem is not None and problem.is_unknown:
        return f"this hub could not check it: {problem.what}"
    if problem is not None:
        return f"this hub checked it, and SOMETHING IS WRONG: {problem}"
    removed = str(verify.removed(chain_id))
    known = [f"removed with a record: {removed}"] if removed else []
    known += [str(one) for one in missing.accepted(chain_id)]
    return "; ".join([f"this hub checked it, {count} entries: nothing is wrong", *known])


def _size(chain_id: str) -> int:
    row = AuditChain.objects.filter(pk=chain_id).values_list("last_seq", "start_seq").first()
    return row[0] - row[1] if row else 0


def _not_checked(size: int) -> str:
    """Return the sentence for a chain that was not verified, because the chains of one download have too many entries.

    The chain has `size` entries. The sentence names the last recorded check of all chains.
    """
    run = runs.last()
    if run is None:
        before = "it has recorded no check"
    else:
        result = "nothing wrong" if run.ok else "SOMETHING WRONG"
        before = f"the last check that it recorded, at {chain.moment(run.at)}, found {result}"
    return f"this hub has NOT CHECKED it for this download: it has {size} entries; {before}"
