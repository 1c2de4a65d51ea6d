"""Random texts are found in the bytes of the database, then erased, then found nowhere."""

import gc
import io
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from memoryhub.actions.core.audit import documents
from memoryhub.actions.erasure import erasure, sqlite_remains
from memoryhub.models import MemoryStore, User
from tests.redaction import looking
from tests.redaction.planting import Planter
from tests.redaction.texts import Secret, Source, found_in, places
from tests.support.fixtures import signed_in
from tests.support.long import LONG
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db(transaction=True)

TOGETHER = 50 if LONG else 100
"""So many texts are erased in one act."""


@pytest.fixture
def planter(store: MemoryStore, key: str, alice: User) -> Planter:
    planter = Planter(store, Caller(store, key, session="run-1"), alice, Source(seed=19, share=1 if LONG else 12))
    planter.everywhere()
    return planter


@pytest.mark.push
def test_texts_everywhere_are_found_then_redacted_then_found_nowhere(
    planter: Planter, superuser: User, own_checkpoints: Any, caplog: pytest.LogCaptureFixture
) -> None:
    store, secrets, client = planter.store, planter.source.given, signed_in(superuser)
    assert len(secrets) == len({secret.text for secret in secrets}) >= (500 if LONG else 70)
    _found_before(client, store, secrets)
    for start in range(0, len(secrets), TOGETHER):
        erase(planter, [secret.text for secret in secrets[start : start + TOGETHER]])
    as_in_the_background()
    looking.rewrite_relations()
    left = list(everything(client, store, secrets))
    if found := found_in(b"\n".join(body for _, body in left), secrets):
        pytest.fail(
            "\n".join(f"{name}: {places(where)}" for name, body in left if (where := found_in(body, list(found))))
        )
    assert not places(found_in(caplog.text.encode(), secrets))
    told = io.StringIO()
    call_command("verify_audit", stdout=told)
    assert "redacted" in told.getvalue()


def as_in_the_background() -> None:
    """Takes away what a reader kept in the write-ahead log: one that is no longer used may not be collected yet."""
    gc.collect()
    sqlite_remains.scrub_due(timezone.now())
    assert sqlite_remains.remains().since is None


def _found_before(client: Client, store: MemoryStore, secrets: Sequence[Secret]) -> None:
    """The search finds: every text in the files, in the columns and in a dump, and many in each download."""
    rows = b"\n".join(values for _, values in looking.columns())
    assert not places(set(secrets) - found_in(rows, secrets))
    files = b"\n".join(looking.on_disk().values())
    if connection.vendor == "sqlite" or files:
        assert not places(set(secrets) - found_in(files, secrets))
    for name, body in (*looking.downloads(client, store), *pages(client, store, secrets)):
        assert found_in(body, secrets), name


def everything(client: Client, store: MemoryStore, secrets: Sequence[Secret]) -> Iterator[tuple[str, bytes]]:
    yield from looking.on_disk().items()
    yield from looking.columns()
    yield "a dump", looking.dump()
    yield from looking.other_files().items()
    yield from looking.downloads(client, store)
    yield from pages(client, store, secrets)


def pages(client: Client, store: MemoryStore, secrets: Sequence[Secret]) -> Iterator[tuple[str, bytes]]:
    """With the beginning of a name for the finder, which keeps paths in mind."""
    name = next(secret.text for secret in secrets if secret.place == "a name")
    return looking.pages(client, store, name[:8])


def erase(planter: Planter, texts: Sequence[str]) -> None:
    act = planter.act()
    found = erasure.search(planter.store.pk, texts, act.at)
    assert found.hits
    receipt = erasure.erase(planter.store.pk, texts, found.digest, act)
    assert documents.is_signed(receipt.content, receipt.signature)
