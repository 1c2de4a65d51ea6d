"""Seals: each audit entry has commitments to the governing rows that its act changed.

A seal is ``HMAC(salt, canonical row)``. The seals of a row are numbered; the highest one describes its current state.
The entry's digest covers the seals, so no one can forge a seal without the audit key. A new seal deletes the salts of
earlier ones, so that guesses at earlier values cannot be checked.
"""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings

from memoryhub.actions.core import sql
from memoryhub.actions.core.sql import seals as sealing
from memoryhub.models import HUB, AuditChain, MemoryStore, Seal
from memoryhub.models.sealed import Changed, Sealed, changed
from memoryhub.pure import chain

PART = 400
"""The most rows that one query asks for."""


class Unsealed(AssertionError):
    """An act changed governing rows and wrote no audit entry afterwards; nothing was committed."""


class State(NamedTuple):
    """The state of a row that a seal covers: its chain (`home`) and its columns (`values`; None: no such row).

    With `may_go`, the row may be deleted without another seal.
    """

    home: str | None
    values: dict[str, Any] | None
    may_go: bool


GONE = State(None, None, True)

Rows = dict[str, State]


@lru_cache
def kinds() -> dict[str, type[Sealed]]:
    """Return {name: model} of the governing rows; the seals use these names."""
    found = apps.get_app_config("memoryhub").get_models()
    return {str(model._meta.model_name): model for model in found if issubclass(model, Sealed)}


# ------------------------------------------------------------------------------------------------ sealed states


def state_of(model: type[Sealed], row: Mapping[str, Any]) -> State:
    """Return the part of a row that a seal covers. A row with only default values counts as missing."""
    values = {}
    for field in model.sealed_columns():
        value = row[field.attname]
        if field.primary_key or value != field.get_default():
            values[field.attname] = chain.moment(value) if isinstance(value, datetime) else value
    if len(values) == 1:
        return GONE
    home = row[model.HOME] if model.HOME else None
    return State(home or HUB, dict(sorted(values.items())), row.get("deleted_at") is not None)


def rows_of(model: type[Sealed], **which: object) -> Iterator[tuple[str, State]]:
    """Yield (key as text, state) for the selected rows, including those that the default manager hides."""
    columns = {field.attname for field in model._meta.concrete_fields}
    names = [field.attname for field in model.sealed_columns()] + sorted({"deleted_at"} & columns)
    for row in model._base_manager.filter(**which).order_by("pk").values(*dict.fromkeys(names)).iterator(2000):
        yield str(row[str(model._meta.pk.attname)]), state_of(model, row)


def digest_of(seal: Seal, values: dict[str, Any] | None) -> str | None:
    """Return the commitment of a seal to a row with these values; None if `values` is None."""
    if values is None:
        return None
    salt = bytes.fromhex(seal.salt or "")
    text = chain.canonical_row([seal.home, seal.kind, seal.row, seal.number, values])
    return hmac.digest(salt, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def member(seal: Seal) -> str:
    """Return the hash of a whole seal. The digest of its entry covers this hash."""
    values = [seal.home, seal.kind, seal.row, seal.number, seal.digest, seal.may_go]
    return hashlib.sha256(b"seal\0" + chain.canonical_row(values).encode()).hexdigest()


def in_order(seals: Iterable[Seal]) -> list[Seal]:
    """Return seals in the order that their entry's digest uses."""
    return sorted(seals, key=lambda seal: (seal.kind, seal.row, seal.number))


# ------------------------------------------------------------------------------------------------ writing seals


def write(chain_id: str, seq: int, *, others: bool) -> list[str]:
    """Seal the rows that the transaction changed. Return the hashes of the seals for the entry's digest.

    With `others`, rows of other chains are sealed too. Do not set `others` for an entry that makes versions or redacts:
    its digest could not be computed again after the store was deleted.
    """
    pending = changed()
    made: list[Seal] = []
    for seal in _fresh(pending):
        # An entry that makes versions or redacts seals only rows of its own chain: otherwise its digest could not be
        # computed again after the store was deleted.
        if others or seal.home == chain_id:
            seal.chain, seal.seq = chain_id, seq
            made.append(seal)
    sealed = {(seal.kind, seal.row) for seal in made}
    for model, store, key in [*pending]:
        if (model._meta.model_name, key) in sealed:
            del pending[model, store, key]
    made = in_order(made)
    replacing = [(seal.kind, seal.row) for seal in made if seal.number > 1]
    if replacing:
        sql.run_each(sealing.FORGET_SALTS, replacing)
    if made:
        sql.run_each(sealing.ADD, map(_columns, made))
    return [member(seal) for seal in made]


def _columns(seal: Seal) -> tuple[object, ...]:
    return (
        seal.chain, seal.seq, seal.home, seal.kind, seal.row, seal.number, seal.digest, seal.may_go, seal.salt
    )  # fmt: skip


def _fresh(pending: Iterable[Changed]) -> Iterator[Seal]:
    """Yield a new seal for each row that differs from its newest seal. The seals have no entry yet."""
    together = defaultdict(list)
    for model, store, key in pending:
        together[model, store].append(key)
    for (model, store), keys in together.items():
        for start in range(0, len(keys), PART):
            yield from _fresh_of(model, store, keys[start : start + PART])


def _fresh_of(model: type[Sealed], store: str | None, keys: Sequence[str]) -> Iterator[Seal]:
    kind = str(model._meta.model_name)
    sql.ask_ahead((sealing.NEWEST, (kind, key)) for key in keys)
    newest = {key: seal for key in keys if (seal := _newest(kind, key))}
    there = dict(rows_of(model, pk__in=keys, **({model.HOME: store} if model.HOME else {})))
    for key in keys:
        state, before = there.get(key, GONE), newest.get(key)
        if _is_as_sealed(state, before) or (state.values is None and before is not None and before.may_go):
            continue
        home = state.home or (before.home if before else HUB)
        seal = Seal(kind=kind, row=key, home=home, number=before.number + 1 if before else 1, may_go=state.may_go)
        seal.salt = chain.new_salt() if state.values is not None else None
        seal.digest = digest_of(seal, state.values)
        yield seal


def _newest(kind: str, key: str) -> Seal | None:
    row = sql.one(sealing.NEWEST, kind, key)
    if row is None:
        return None
    home, number, digest, may_go, salt = row
    return Seal(home=home, kind=kind, row=key, number=number, digest=digest, may_go=bool(may_go), salt=salt)


def _is_as_sealed(state: State, seal: Seal | None) -> bool:
    if seal is None:
        return state.values is None
    return (seal.digest, seal.may_go) == (digest_of(seal, state.values), state.may_go)


def require_none_left() -> None:
    """Raise Unsealed if the transaction changed a governing row that no entry has sealed."""
    pending = changed()
    if not pending:
        return
    for seal in _fresh(pending):
        if not AuditChain.objects.filter(pk=seal.home, closed_at__isnull=False).exists():
            raise Unsealed(
                f"{kinds()[seal.kind].__name__} {seal.row} was changed and no audit entry followed: write the act's"
                " entry with audit.append(), audit.on_hub() or tree.commit() after the change, in its transaction"
                f" (in the chain {seal.home} where the act also makes versions or redacts)"
            )
    pending.clear()


# ------------------------------------------------------------------------------------------------ checking seals


def problems(chain_id: str) -> Iterator[tuple[int, str]]:
    """Yield (seq, sentence) for each governing row of a chain that differs from its newest seal.

    `seq` is the entry with that seal, or 0 if no entry of this chain has it.
    """
    if AuditChain.objects.filter(pk=chain_id, closed_at__isnull=False).exists():
        if MemoryStore.present.filter(pk=chain_id).exists():
            yield 0, "the memory store was deleted, and is there again"
        return
    newest = Seal.objects.newest(home=chain_id)
    for kind, model in kinds().items():
        for key, state in _rows_at_home(model, chain_id):
            seal = newest.pop((kind, key), None)
            if seal is None and state.values is not None:
                yield 0, f"{kind} {key} is there, and no entry made it"
            elif not _is_as_sealed(state, seal):
                yield _seq(seal, chain_id), f"{kind} {key} is not as it was left by this entry"
    for (kind, key), seal in newest.items():
        if kind not in kinds():
            yield 0, f"there are seals of {kind}, which is no table of the hub"
        elif not seal.may_go:
            yield _seq(seal, chain_id), f"{kind} {key} is missing; it was there after this entry"


def _rows_at_home(model: type[Sealed], chain_id: str) -> Iterator[tuple[str, State]]:
    if chain_id == HUB and model.HOME and not model._meta.get_field(model.HOME.removesuffix("_id")).null:
        return iter(())  # each row of this model belongs to a store
    if model.HOME is None:
        return rows_of(model) if chain_id == HUB else iter(())
    return rows_of(model, **({f"{model.HOME}__isnull": True} if chain_id == HUB else {model.HOME: chain_id}))


def _seq(seal: Seal | None, chain_id: str) -> int:
    return seal.seq if seal is not None and seal.chain == chain_id else 0


# ------------------------------------------------------------------------------------------------ a chain's start


def outlive(chain_id: str, first: int, last: int, start: str | None) -> str | None:
    """Prepare the seals of a chain for the removal of its entries after `first` up to `last`.

    Of each row that these entries sealed, the newest seal is kept, and older seals of removed entries are deleted. If
    the row is gone and only removed entries sealed it, all its seals are deleted.

    Return one digest of all kept seals whose entries are removed, now or earlier; None if no such seal was ever kept.
    `start` is what the call for the chain's previous removal returned (None: there was no such call or digest).
    """
    key = settings.MEMORYHUB_AUDIT_KEY
    kept, dropped = [], []
    for known in _rows_sealed_in(chain_id, first, last):
        gone = {seal.pk for seal in _superseded(known, chain_id, last)}
        own = [seal for seal in known if seal.chain == chain_id and seal.seq <= last]
        dropped += [seal for seal in own if seal.pk in gone]
        kept += [seal for seal in own if seal.pk not in gone and seal.seq > first]
    for begin in range(0, len(dropped), PART):
        Seal.objects.filter(pk__in=[seal.pk for seal in dropped[begin : begin + PART]]).delete()
    less = [member(seal) for seal in dropped if seal.seq <= first]
    return chain.set_digest(key, map(member, kept), start, less=less) if kept or start else None


def _rows_sealed_in(chain_id: str, first: int, last: int) -> Iterator[list[Seal]]:
    """Yield all seals of each row that an entry after `first` and up to `last` has sealed."""
    concerned = defaultdict(set)
    for kind, row in Seal.objects.of_chain(chain_id).filter(seq__gt=first, seq__lte=last).values_list("kind", "row"):
        concerned[kind].add(row)
    for kind, rows in concerned.items():
        keys = sorted(rows)
        for begin in range(0, len(keys), PART):
            known = defaultdict(list)
            for seal in Seal.objects.filter(kind=kind, row__in=keys[begin : begin + PART]).order_by("number"):
                known[seal.row].append(seal)
            yield from known.values()


def _superseded(known: Sequence[Seal], chain_id: str, last: int) -> list[Seal]:
    """Return the seals that are not needed after the removal of the entries up to `last`.

    `known` has all seals of one row.
    """
    old = [seal for seal in known[:-1] if seal.chain == chain_id and seal.seq <= last]
    newest = known[-1]
    if newest.digest is None and len(old) == len(known) - 1 and newest.chain == chain_id and newest.seq <= last:
        return [*known]
    return old


def digest_at_start(chain_id: str, last: int) -> str | None:
    """Return one digest of the seals that are kept although their entries, up to `last`, were removed (None: no such
    seal)."""
    kept = [member(seal) for seal in Seal.objects.of_chain(chain_id).filter(seq__lte=last)]
    return chain.set_digest(settings.MEMORYHUB_AUDIT_KEY, kept) if kept else None


def start_problems(row: AuditChain) -> Iterator[str]:
    """Yield a sentence if the kept seals of removed entries do not match `row.start_seals`, their stored digest."""
    if (row.start_seals or _NONE) != (digest_at_start(row.pk, row.start_seq) or _NONE):
        yield "the seals that outlived their entries are not those that the checkpoint names"


_NONE = "0" * 64
"""The digest of an empty set of seals."""
