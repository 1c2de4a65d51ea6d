"""Erases texts from every place of a store: a search first, then one act, with a signed receipt."""

import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from memoryhub.actions.claude_runs import runs as claude_runs
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record, documents
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.erasure import elsewhere as around, places, sqlite_remains
from memoryhub.actions.erasure.elsewhere import Spelling, There
from memoryhub.actions.erasure.masking import Erasing
from memoryhub.actions.erasure.places import Terms
from memoryhub.actions.transfer import importing
from memoryhub.models import AuditChain, AuditEntry, Hold, Memory, Receipt
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.spellings import SHORTEST, is_long_enough

LONGEST = 500
COMPARED = ["case", "width", "accents", "Unicode form", "unseen characters", "spaces between words"]
"""The differences that are ignored when spellings are compared."""

MOST_TOLD = 100
"""The entry's input lists, for at most this many memories, the newest version before and after the erasure."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One stored value that contains a text to erase. `id` is the id of the value's row, or the seq of its entry.

    `what` is the column. `held_by` is the id of the legal hold that protects the value, or None.
    """

    kind: str
    id: str
    memory: str | None
    path: str | None
    what: str
    held_by: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: all hits, their number by kind, and the ids of their memories.

    `imports` are the ids of the open imports that an erasure cancels. If the search had a subject, `spellings` are the
    subject's spellings in the store, and `elsewhere` are the texts that an erasure does not change. `digest` is one
    digest of all hits and spellings.
    """

    hits: tuple[Hit, ...]
    counts: dict[str, int] = field(default_factory=dict)
    memories: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    digest: str = ""
    spellings: tuple[Spelling, ...] = ()
    elsewhere: tuple[There, ...] = ()


class FoundChanged(Exception):
    """The search result has changed since it was shown; nothing was erased. `found` is the current result."""

    def __init__(self, found: Found) -> None:
        super().__init__("what was found has changed")
        self.found = found


class Held(Exception):
    """Legal holds protect some of the hits, and nothing was erased. `holds` are these holds."""

    def __init__(self, holds: Sequence[Hold]) -> None:
        super().__init__("held")
        self.holds = list(holds)


def search(
    store_id: str, terms: Sequence[str], at: datetime, subject: Sequence[str] = (), *, whole_hub: bool = False
) -> Found:
    """Search every place of a store for exactly the texts `terms`. Nothing is written.

    With `subject`, the result also has the spellings of the texts `subject` (see `Found`). `at` decides which legal
    holds are in force. Raises ToolError for a text that cannot be erased.

    Here and in the functions below, `whole_hub` adds the saved views that belong to no store, and the names of sessions
    that worked in several stores. Only administrators of the hub may use it.
    """
    with snapshot():
        return _looked(store_id, _checked(terms), at, subject, whole_hub=whole_hub)


def spelt(store_id: str, subject: Sequence[str], *, whole_hub: bool = False) -> list[str]:
    """Return the texts to suggest to a person who wants to erase a subject; at most MOST_SPELLINGS.

    These are the subject's texts, and their spellings in the store for which `Spelling.same` is True.
    """
    _checked(subject)
    with snapshot():
        found = around.spellings(store_id, subject, whole_hub=whole_hub)
    same = [one.text for one in found if one.same and _can_be_erased(one.text)]
    return list(dict.fromkeys([*subject, *same]))[: around.MOST_SPELLINGS]


def survey(
    store_id: str,
    subject: Sequence[str],
    chosen: Callable[[Spelling], bool],
    at: datetime,
    until: float,
    *,
    whole_hub: bool = False,
) -> tuple[Found, tuple[Spelling, ...], list[str]]:
    """Search a store for a subject. Return the result, the near spellings, and the texts to erase.

    The texts to erase are the spellings for which `chosen` returns True. Nothing is written. Raises ToolError for a
    subject that cannot be erased, and `elsewhere.TooLong` when the monotonic clock reaches `until`.
    """
    _checked(subject)
    with snapshot():
        spellings, near = around.spellings_and_near(store_id, subject, until, whole_hub=whole_hub)
        terms = [one.text for one in spellings if chosen(one) and _can_be_erased(one.text)][: around.MOST_SPELLINGS]
        if terms:
            found = _looked(store_id, Terms(terms), at, subject, spellings, whole_hub=whole_hub)
        else:
            there = around.elsewhere(store_id, subject, whole_hub=whole_hub)
            found = Found((), spellings=spellings, elsewhere=there)
    return found, tuple(one for one in near if _can_be_erased(one.text)), terms


def _can_be_erased(text: str) -> bool:
    return is_long_enough(text) and len(text) <= LONGEST and text not in places.REDACTED


def _looked(
    store_id: str,
    terms: Terms,
    at: datetime,
    subject: Sequence[str],
    spellings: tuple[Spelling, ...] | None = None,
    *,
    whole_hub: bool,
) -> Found:
    """Return the result of a search. `spellings` are the subject's spellings, if they are known already."""
    found = _search(store_id, terms, at, whole_hub=whole_hub)
    if not subject:
        return found
    there = around.elsewhere(store_id, subject, whole_hub=whole_hub)
    spellings = around.spellings(store_id, subject, whole_hub=whole_hub) if spellings is None else spellings
    digest = documents.signature({"found": found.digest, "spellings": [[one.text, one.places] for one in spellings]})
    return replace(found, spellings=spellings, elsewhere=there, digest=digest)


def _checked(terms: Sequence[str]) -> Terms:
    for term in terms:
        if not is_long_enough(term) or term in places.REDACTED:
            raise ToolError(results.cannot_erase(term.strip(), SHORTEST))
    return Terms(terms)


def _search(store_id: str, terms: Terms, at: datetime, after: int = 0, *, whole_hub: bool) -> Found:
    """Search a store.

    With `after` (a seq), large tables are searched only for rows that later acts wrote. Small tables are always
    searched whole.
    """
    hits = _with_memories(store_id, list(_hits(store_id, terms, after, whole_hub)))
    held = holds.holds_of(store_id, at)
    hits = [replace(hit, held_by=_hold_over(held, hit)) for hit in hits]
    memories = sorted({hit.memory for hit in hits if hit.memory})
    counts = Counter(hit.kind for hit in hits)
    imports = places.open_imports(store_id, terms) if counts["import"] else ()
    return Found(tuple(hits), dict(counts), tuple(memories), imports, _digest(hits, terms))


def _hits(store_id: str, terms: Terms, after: int, whole_hub: bool) -> Iterator[Hit]:
    for text, what in places.TEXTS.having(store_id, terms, after):
        yield Hit("text", text.pk, text.memory_id, None, what)
    for memory, what in places.MEMORIES.having(store_id, terms, after):
        yield Hit("path", memory.pk, memory.pk, memory.path, what)
    for version, what in places.PATHS.having(store_id, terms, after):
        yield Hit("path", version.pk, version.memory_id, version.path, what)
    for place in (places.ENTRIES, places.ENTRIES_JSON):
        for entry, what in place.having(store_id, terms, after):
            yield Hit("entry", str(entry.seq), entry.memory, entry.path, what)
    for place in (*places.PLAIN, *places.PLAIN_JSON):
        for row, what in place.having(store_id, terms):
            memory, path = (row.memory, row.path) if place.kind == "change" else (getattr(row, "memory_id", None), None)
            yield Hit(place.kind, str(row.pk), memory, path, what)
    if not after:  # copies are deleted whatever they contain
        for place in places.COPIES:
            for row, what in place.having(store_id, terms):
                yield Hit(place.kind, str(row.pk), None, None, what)
    yield from (Hit("path_rules", store.pk, None, None, "path_rules") for store in places.path_rules(store_id, terms))
    for session in places.sessions(store_id, terms, whole_hub=whole_hub):
        yield Hit("session", session.pk, None, None, "name")
    for view in places.saved_views(store_id, terms, whole_hub=whole_hub):
        yield Hit("view", view.pk, None, None, "query")


def _with_memories(store_id: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits with each memory's current path. For a purged memory, the path of the hit stays."""
    paths: dict[str, str] = {}
    for part in in_parts(sorted({hit.memory for hit in hits if hit.memory})):
        paths |= Memory.objects.among(store_id, part).values_list("pk", "path")
    return [replace(hit, path=paths.get(hit.memory, hit.path)) if hit.memory else hit for hit in hits]


def _hold_over(held: holds.Holds, hit: Hit) -> str | None:
    """Return the id of the legal hold that protects a hit, or None."""
    hold = held.stops_removal(hit.memory or "", hit.path or "")
    return hold.pk if hold else None


def _digest(hits: Sequence[Hit], terms: Terms) -> str:
    """Return a keyed digest of all hits and texts. It reveals no text."""
    seen = [sorted([hit.kind, hit.id, hit.what, hit.held_by or ""] for hit in hits), terms.texts]
    text = json.dumps(seen, ensure_ascii=True).encode()
    return hmac.digest(settings.MEMORYHUB_AUDIT_KEY, b"found\0" + text, "sha256").hex()


# ------------------------------------------------------------------------------------------------ erasing


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search result (`found`), as it was right after the entry `seq`, and the texts to erase (`terms`)."""

    terms: Terms
    subject: Sequence[str]
    found: Found
    seq: int
    whole_hub: bool


def erase(
    store_id: str,
    terms: Sequence[str],
    digest: str,
    act: Act,
    subject: Sequence[str] = (),
    *,
    whole_hub: bool = False,
) -> Receipt:
    """Replace the texts `terms` by `[redacted]` everywhere, in one transaction. Return the signed receipt.

    `digest` belongs to the search result that the person saw. Live memories get a new version without the texts. Older
    versions, entries and other rows are masked in place, with evidence for the audit. Raises FoundChanged, Held and
    ToolError.
    """
    receipt = erase_prepared(store_id, prepare(store_id, terms, digest, act.at, subject, whole_hub=whole_hub), act)
    sqlite_remains.scrub_small()
    return receipt


def prepare(
    store_id: str,
    terms: Sequence[str],
    digest: str,
    at: datetime,
    subject: Sequence[str] = (),
    *,
    whole_hub: bool = False,
) -> Prepared:
    """Search again before an erasure, and return the result.

    Raises FoundChanged if `digest`, from the result that the person saw, is not the digest of the new result.
    """
    checked = _checked(terms)
    with snapshot():
        seq = AuditChain.objects.values_list("last_seq", flat=True).get(pk=store_id)
        found = _looked(store_id, checked, at, subject, whole_hub=whole_hub)
    if found.digest != digest:
        raise FoundChanged(found)
    return Prepared(checked, subject, found, seq, whole_hub)


def erase_prepared(store_id: str, ready: Prepared, act: Act) -> Receipt:
    """Erase the texts of the search result `ready`, in one transaction. Raises FoundChanged, Held and ToolError.

    Copies on the disk are removed later by `sqlite_remains`.
    """
    with tree.locked(store_id, act) as store:
        is_spelt = _is_spelt_as_before(store, ready)
        receipt = _erase(store, ready) if is_spelt else None
    if receipt is None:
        raise FoundChanged(search(store_id, ready.terms.texts, act.at, ready.subject, whole_hub=ready.whole_hub))
    return receipt


def _is_spelt_as_before(store: tree.Tree, ready: Prepared) -> bool:
    """Return whether the rows that were written after the entry `ready.seq` contain only spellings that the person has
    seen."""
    if not ready.subject:
        return True
    newer = around.spellings(store.store, ready.subject, ready.seq, whole_hub=ready.whole_hub)
    return {one.text for one in newer} <= {one.text for one in ready.found.spellings}


def _erase(store: tree.Tree, ready: Prepared) -> Receipt | None:
    """Erase the hits and return the receipt. Raises Held.

    If rows that were written after the search contain further hits, change nothing and return None.
    """
    terms, found = ready.terms, ready.found
    # The whole store was searched before the lock, because that may take long.
    newer = _search(store.store, terms, store.at, ready.seq, whole_hub=ready.whole_hub)
    if {_key(hit) for hit in newer.hits} - {_key(hit) for hit in found.hits}:
        return None
    found = _without_gone(found, newer)
    held = holds.holds_of(store.store, store.at)
    if keeping := {_hold_over(held, hit) for hit in found.hits} - {None}:
        raise Held(list(Hold.objects.of_store(store.store).filter(pk__in=keeping).order_by("pk")))
    before = _heads(store.store, found.memories)
    cancelled = importing.cancel_erased(store, newer.imports)
    claude_runs.stop_erased(store)
    redactions = Erasing(store, terms).everywhere(found.hits)
    details = {"texts": len(terms.texts), "places": found.counts, "memories": len(found.memories)}
    after = _heads(store.store, found.memories)
    newest = {"newest": [[before[id], after[id]] for id in before if before[id] != after[id]][:MOST_TOLD]}
    ended = {"imports": cancelled} if cancelled else {}
    record = Record(
        "erase", input=audit.to_json(details | newest | ended), versions=tuple(store.made), redactions=redactions
    )
    made = tree.commit(store, record)
    sqlite_remains.note(store.at)
    counted = {"imports": len(cancelled)} if cancelled else {}
    return _receipt(store, made, details | counted | _covered(terms, found))


def _without_gone(found: Found, newer: Found) -> Found:
    """Return `found` without the sessions and views that are missing in the later result `newer`."""
    # Several stores share these rows, so an erasure in another store can have changed them.
    there = {_key(hit) for hit in newer.hits}
    hits = tuple(hit for hit in found.hits if hit.kind not in ("session", "view") or _key(hit) in there)
    return replace(found, hits=hits, counts=dict(Counter(hit.kind for hit in hits)))


def _covered(terms: Terms, found: Found) -> dict[str, Any]:
    """Return what a receipt says about a subject's spellings, and about the texts that the erasure does not change.

    A spelling has a keyed mark in place of its text, and its number of places. The texts are counted by kind.
    """
    if not found.spellings and not found.elsewhere:
        return {}
    erased = [_marked(one) for one in found.spellings if terms.stand_in(one.text)]
    left = [_marked(one) for one in found.spellings if not terms.stand_in(one.text)]
    kinds = Counter(there.kind for there in found.elsewhere)
    return {"spellings": {"compared": COMPARED, "erased": erased, "left": left}, "elsewhere": dict(kinds)}


def _marked(spelling: Spelling) -> dict[str, Any]:
    """Return the keyed mark that replaces a spelling in a receipt, and the number of places of the spelling."""
    return {"mark": documents.signature({"spelling": spelling.text})[:16], "places": spelling.places}


def _heads(store_id: str, memories: Sequence[str]) -> dict[str, str]:
    """Return {memory id: id of its newest version}."""
    found: dict[str, str] = {}
    for part in in_parts(memories):
        found |= Memory.objects.among(store_id, part).values_list("pk", "head_id")
    return found


def _key(hit: Hit) -> tuple[str, str, str]:
    return hit.kind, hit.id, hit.what


def _receipt(store: tree.Tree, seq: int, details: Mapping[str, Any]) -> Receipt:
    entry = AuditEntry.objects.get(chain=store.store, seq=seq)
    id = ids.new_id(ids.RECEIPT, store.at)
    content = {
        "type": "erasure_receipt",
        "id": id,
        "memory_store_id": store.store,
        "at": chain.moment(store.at),
        "by": store.act.actor.id,
        **({"allowed_by": store.act.actor.second} if store.act.actor.second else {}),
        "entry": seq,
        "entry_hash": entry.hash,
        "audit_key": entry.key_name,
        **({"group": store.act.group} if store.act.group else {}),
        **details,
    }
    return Receipt.objects.create(
        id=id,
        store=store.store,
        at=store.at,
        content=content,  # type: ignore[misc]
        signature=documents.signature(content),
    )
