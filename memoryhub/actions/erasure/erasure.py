"""Erasing texts from every place of a store: searched first, then masked in one act, with a signed receipt."""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from memoryhub import chain, ids
from memoryhub.actions.core import audit, holds, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.snapshot import snapshot
from memoryhub.actions.erasure import elsewhere as around, places, sqlite_remains
from memoryhub.actions.erasure.elsewhere import Spelling, There
from memoryhub.actions.erasure.masking import Erasing
from memoryhub.actions.erasure.places import Terms
from memoryhub.models import AuditChain, AuditEntry, Hold, Memory, Receipt
from memoryhub.protocol import results
from memoryhub.protocol.errors import ToolError

LONGEST = 500
SHORTEST = 3
"""Characters of a text to erase: a shorter one stands everywhere."""

COMPARED = ["case", "width", "accents", "Unicode form", "unseen characters", "spaces between words"]
"""What may differ between spellings."""

MOST_TOLD = 100
"""So many memories' newest versions, before and after, stand in the entry; it made all of them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One value in which one of the texts stands. `what` is the column; `held_by` a legal hold's id.

    The id is that of the row: of a text `text_…`, of a version, a memory; of an entry its seq.
    """

    kind: str
    id: str
    memory: str | None
    path: str | None
    what: str
    held_by: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Every hit, how many of each kind, the memories concerned, and a digest that changes with any of them.

    Of a subject also how it is spelt in the store, and where it stands that an erasure does not change.
    """

    hits: tuple[Hit, ...]
    counts: dict[str, int] = field(default_factory=dict)
    memories: tuple[str, ...] = ()
    digest: str = ""
    spellings: tuple[Spelling, ...] = ()
    elsewhere: tuple[There, ...] = ()


class FoundChanged(Exception):
    """Something was written meanwhile; nothing was erased."""

    def __init__(self, found: Found) -> None:
        super().__init__("what was found has changed")
        self.found = found


class Held(Exception):
    """Legal holds keep some of what was found; nothing was erased."""

    def __init__(self, holds: Sequence[Hold]) -> None:
        super().__init__("held")
        self.holds = list(holds)


def search(store_id: str, terms: Sequence[str], at: datetime, subject: Sequence[str] = ()) -> Found:
    """Every place of a store in which one of the exact texts stands; raises ToolError for a text that cannot be erased.

    `subject` are the texts whose spellings are looked for as well, in every place, and in those that people have to
    change themselves. Nothing is written, nothing is remembered: the texts stand in no entry. `at` says which legal
    holds are in force.
    """
    with snapshot():
        return _looked(store_id, _checked(terms), at, subject)


def spelt(store_id: str, subject: Sequence[str]) -> list[str]:
    """The texts that are proposed for a subject: itself, and every spelling that only case, width, accents, Unicode
    form or unseen characters tell from it, as far as can be chosen at once."""
    _checked(subject)
    with snapshot():
        found = around.spellings(store_id, subject)
    same = [one.text for one in found if one.same and _can_be_erased(one.text)]
    return list(dict.fromkeys([*subject, *same]))[: around.MOST_SPELLINGS]


def _can_be_erased(text: str) -> bool:
    return len(text.strip()) >= SHORTEST and len(text) <= LONGEST and text not in places.REDACTED


def _looked(store_id: str, terms: Terms, at: datetime, subject: Sequence[str]) -> Found:
    found = _search(store_id, terms, at)
    if not subject:
        return found
    spellings, there = around.spellings(store_id, subject), around.elsewhere(store_id, subject)
    digest = _signature({"found": found.digest, "spellings": [[one.text, one.places] for one in spellings]})
    return replace(found, spellings=spellings, elsewhere=there, digest=digest)


def _checked(terms: Sequence[str]) -> Terms:
    for term in terms:
        if len(term.strip()) < SHORTEST or term in places.REDACTED:
            raise ToolError(results.cannot_erase(term.strip(), SHORTEST))
    return Terms(terms)


def _search(store_id: str, terms: Terms, at: datetime, after: int = 0) -> Found:
    """With `after` only in what entries after that seq have written, and in the tables that stay small."""
    hits = _with_memories(store_id, list(_hits(store_id, terms, after)))
    held = holds.holds_of(store_id, at)
    hits = [replace(hit, held_by=_hold_over(held, hit)) for hit in hits]
    memories = sorted({hit.memory for hit in hits if hit.memory})
    counts = Counter(hit.kind for hit in hits)
    return Found(tuple(hits), dict(counts), tuple(memories), _digest(hits, terms))


def _hits(store_id: str, terms: Terms, after: int) -> Iterator[Hit]:
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
            yield Hit(place.kind, str(row.pk), getattr(row, "memory_id", None), None, what)
    for session in places.sessions(store_id, terms):
        yield Hit("session", session.pk, None, None, "name")
    for view in places.saved_views(store_id, terms):
        yield Hit("view", view.pk, None, None, "query")


def _with_memories(store_id: str, hits: list[Hit]) -> list[Hit]:
    """With the path at which each memory is now; of a purged one with none."""
    paths: dict[str, str] = {}
    for part in in_parts(sorted({hit.memory for hit in hits if hit.memory})):
        paths |= Memory.objects.among(store_id, part).values_list("pk", "path")
    return [replace(hit, path=paths.get(hit.memory, hit.path)) if hit.memory else hit for hit in hits]


def _hold_over(held: holds.Holds, hit: Hit) -> str | None:
    """The id of the legal hold that keeps what was hit."""
    hold = held.stops_removal(hit.memory or "", hit.path or "")
    return hold.pk if hold else None


def _digest(hits: Sequence[Hit], terms: Terms) -> str:
    """What changes with any hit; it says nothing of the texts."""
    seen = [sorted([hit.kind, hit.id, hit.what, hit.held_by or ""] for hit in hits), terms.texts]
    text = json.dumps(seen, ensure_ascii=True).encode()
    return hmac.digest(settings.MEMORYHUB_AUDIT_KEY, b"found\0" + text, "sha256").hex()


# ------------------------------------------------------------------------------------------------ erasing


def erase(store_id: str, terms: Sequence[str], digest: str, act: Act, subject: Sequence[str] = ()) -> Receipt:
    """Puts `[redacted]` in the place of the texts everywhere, as `search` found them; one transaction, one entry.

    What is newest of a live memory gets a new version without them; older versions, entries and the rest are masked in
    place, with evidence by which the audit still verifies. Raises FoundChanged, Held and ToolError.
    """
    checked = _checked(terms)
    with snapshot():
        seq = AuditChain.objects.values_list("last_seq", flat=True).get(pk=store_id)
        found = _looked(store_id, checked, act.at, subject)
    if found.digest != digest:
        raise FoundChanged(found)
    with tree.locked(store_id, act) as store:
        receipt = _erase(store, checked, found, seq) if _is_spelt_as_before(store, subject, found, seq) else None
    if receipt is None:
        raise FoundChanged(search(store_id, terms, act.at, subject))
    sqlite_remains.scrub_small()
    return receipt


def _is_spelt_as_before(store: tree.Tree, subject: Sequence[str], found: Found, seq: int) -> bool:
    """Whether nothing that was written after the entry `seq` has a spelling that nobody has seen."""
    newer = around.spellings(store.store, subject, seq) if subject else ()
    return {one.text for one in newer} <= {one.text for one in found.spellings}


def _erase(store: tree.Tree, terms: Terms, found: Found, seq: int) -> Receipt | None:
    """Does it where nothing that was written after the entry `seq` changes what was found; else nothing, and None.

    The whole store is looked through before it is locked, which may take long; only what is newer while it is.
    """
    newer = _search(store.store, terms, store.at, seq)
    if {_key(hit) for hit in newer.hits} - {_key(hit) for hit in found.hits}:
        return None
    held = holds.holds_of(store.store, store.at)
    if keeping := {_hold_over(held, hit) for hit in found.hits} - {None}:
        raise Held(list(Hold.objects.of_store(store.store).filter(pk__in=keeping).order_by("pk")))
    before = _heads(store.store, found.memories)
    redactions = Erasing(store, terms).everywhere(found.hits)
    told = {"texts": len(terms.texts), "places": found.counts, "memories": len(found.memories)}
    after = _heads(store.store, found.memories)
    newest = {"newest": [[before[id], after[id]] for id in before if before[id] != after[id]][:MOST_TOLD]}
    record = Record("erase", input=audit.to_json(told | newest), versions=tuple(store.made), redactions=redactions)
    made = tree.commit(store, record)
    sqlite_remains.note(store.at)
    return _receipt(store, made, told | _covered(terms, found))


def _covered(terms: Terms, found: Found) -> dict[str, Any]:
    """What a receipt says of the spellings: each by a mark that only this hub can make, and in how many places it was.

    What was left is what somebody chose to leave; `elsewhere` counts what people have to change themselves.
    """
    if not found.spellings and not found.elsewhere:
        return {}
    erased = [_marked(one) for one in found.spellings if terms.stand_in(one.text)]
    left = [_marked(one) for one in found.spellings if not terms.stand_in(one.text)]
    kinds = Counter(there.kind for there in found.elsewhere)
    return {"spellings": {"compared": COMPARED, "erased": erased, "left": left}, "elsewhere": dict(kinds)}


def _marked(spelling: Spelling) -> dict[str, Any]:
    """A spelling without the text."""
    return {"mark": _signature({"spelling": spelling.text})[:16], "places": spelling.places}


def _heads(store_id: str, memories: Sequence[str]) -> dict[str, str]:
    """The newest version of each memory."""
    found: dict[str, str] = {}
    for part in in_parts(memories):
        found |= Memory.objects.among(store_id, part).values_list("pk", "head_id")
    return found


def _key(hit: Hit) -> tuple[str, str, str]:
    return hit.kind, hit.id, hit.what


def _receipt(store: tree.Tree, seq: int, told: Mapping[str, Any]) -> Receipt:
    entry = AuditEntry.objects.get(chain=store.store, seq=seq)
    id = ids.new_id(ids.RECEIPT, store.at)
    content = {
        "type": "erasure_receipt",
        "id": id,
        "memory_store_id": store.store,
        "at": chain.moment(store.at),
        "by": store.act.actor.id,
        "entry": seq,
        "entry_hash": entry.hash,
        "audit_key": entry.key_name,
        **told,
    }
    return Receipt.objects.create(
        id=id,
        store=store.store,
        at=store.at,
        content=content,  # type: ignore[misc]
        signature=_signature(content),
    )


def _signature(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    key = settings.MEMORYHUB_AUDIT_KEY
    return hmac.new(key, b"receipt\0" + text.encode(), hashlib.sha256).hexdigest()


def receipt_is_right(content: Mapping[str, Any], signature: str) -> bool:
    """Whether this hub, with the audit key that it has now, signed these words."""
    return hmac.compare_digest(_signature(content).encode(), signature.encode("utf-8", "replace"))
