"""What a memory store that a dream has made takes over from its original at the end of the dream."""

from typing import Any

import pytest
from anthropic import Anthropic
from django.core.management import call_command
from django.utils import timezone

from memoryhub.actions.claude_runs import made
from memoryhub.actions.findings import scans
from memoryhub.models import ClaudeRun, Finding, MemoryStore, Scan
from tests.api.harness import Hub, new_secret
from tests.claude_runs.running import MODEL
from tests.claude_runs.test_dreams import (
    _on,  # noqa: F401
    inputs,
    manager,  # noqa: F401
    ran,
    session,  # noqa: F401
)
from tests.web.findings.test_masked_copies import act

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def scan(scan_id: str) -> None:
    while scans.step(scan_id, timezone.now()):
        pass


def test_what_was_found_in_the_original_while_the_dream_went_on_is_searched_for_in_the_new_store(
    store: MemoryStore,
    manager: Anthropic,  # noqa: F811
    session: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Hub(store, new_secret(store)).call(command="create", path="/memories/jo.md", file_text="jo@example.com\n")
    dream = manager.beta.dreams.create(inputs=inputs(store, session), model=MODEL)
    ends = made.made_of

    def found_meanwhile(run: ClaudeRun) -> Any:
        scan(scans.start(store.pk, ["email"], act()).pk)
        return ends(run)

    monkeypatch.setattr(made, "made_of", found_meanwhile)
    ran(dream.id)
    kept = manager.beta.dreams.retrieve(dream.id).outputs[0].memory_store_id
    scan(Scan.objects.get(store=kept).pk)
    assert Finding.objects.get(store=kept).kind == "email"
    call_command("verify_audit", chain=kept, verbosity=0)
