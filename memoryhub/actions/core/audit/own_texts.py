"""If a call wrote a version, the stored input in its audit entry lacks the text, because the version has it. This
module completes such inputs, and searches them."""

import json
from collections.abc import Iterable

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Length, StrIndex
from django.db.models.lookups import GreaterThan

from memoryhub.actions.core.plans import in_parts
from memoryhub.models import AuditChain, AuditEntry, MemoryVersion
from memoryhub.models.inputs import lacks_text

_AT_ONCE = 50
"""How many inputs are read at once: each may have a large text."""


def copy_back(chain: str, seqs: Iterable[int]) -> None:
    """Store the complete inputs of these entries.

    Call it before the versions that these entries made, or the texts of these versions, are changed or deleted, in
    the same transaction.
    """
    grown = 0
    for part in in_parts(sorted(set(seqs)), _AT_ONCE):
        lacking = AuditEntry.objects.of_chain(chain).of_seqs(part).that_lack_their_text()
        for seq, input, stored in list(lacking.values_list("seq", "input", Length("input"))):
            if input is not None:
                AuditEntry.objects.filter(chain=chain, seq=seq).update(input=input)
                grown += len(input) - stored
    if grown:
        AuditChain.objects.filter(pk=chain).update(bytes=F("bytes") + grown)


def count_replaced(entry: AuditEntry, input: str | None) -> None:
    """Correct the chain's count of bytes for an entry whose stored input will be replaced by `input`.

    If the stored input has the whole text of the call, nothing happens.
    """
    lacking = AuditEntry.objects.filter(chain=entry.chain, seq=entry.seq).that_lack_their_text()
    for stored in lacking.values_list(Length("input"), flat=True):
        AuditChain.objects.filter(pk=entry.chain).update(bytes=F("bytes") + len(input or "") - stored)


def has_in_input(escaped: str) -> Q:
    """Return the condition that the input of an entry contains a string.

    `escaped` is the string as ASCII-escaped JSON, without its quotation marks.
    """
    text = models.TextField()
    string = str(json.loads(f'"{escaped}"'))
    made = MemoryVersion.objects.filter(store_id=OuterRef("chain"), pk=OuterRef("version"))
    has_it = GreaterThan(StrIndex(F("text__content"), Value(string, output_field=text)), 0)
    stored_has_it = GreaterThan(StrIndex(F("input"), Value(escaped, output_field=text)), 0)
    return Q(stored_has_it) | lacks_text() & Q(Exists(made.filter(has_it)))
