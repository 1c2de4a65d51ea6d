"""Presets of Claude runs: guidance and settings with versions."""

from typing import Any

import pytest

from memoryhub.actions.claude_runs import presets
from memoryhub.actions.erasure import erasure
from memoryhub.models import AuditEntry, ClaudePreset, ClaudeRun, MemoryStore, User
from tests.claude_runs.claude_api import KEY
from tests.claude_runs.test_pages import ASKED
from tests.support.fixtures import signed_in
from tests.web.memories.pages import act, page

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_a_preset_is_saved_changed_used_and_deleted(store: MemoryStore, alice: User, settings: Any) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    client, new = signed_in(alice), f"/stores/{store.id}/claude/new"
    form = ASKED | {"task": "", "save": "1", "system": "You are Ada Quellenberg."}
    assert "This field is required" in client.post(new, form).content.decode()
    answer = client.post(new, form | {"preset": "Support"})
    preset = ClaudePreset.objects.get()
    assert answer.headers["Location"] == f"/stores/{store.id}/claude/presets/{preset.pk}"
    for _ in range(2):
        client.post(new, form | {"preset": "Support", "system": "You are Bob.", "keep": "7"})
    preset.refresh_from_db()
    versions: Any = preset.versions
    assert [one["number"] for one in versions] == [1, 2] and not ClaudeRun.objects.exists()
    shown = client.get(answer.headers["Location"])
    html = shown.content.decode()
    assert html.index("Version 2") < html.index("Version 1") and "Newest calls to keep: 2" in html
    assert shown.context["versions"][0].diff.added == 2, "the system prompt and how many calls to keep"
    newest = page(client, f"{new}?preset={preset.pk}")
    assert "You are Bob." in newest and 'name="keep" value="7"' in newest and 'aria-current="true"' in newest
    first = page(client, f"{new}?preset={preset.pk}&version=1")
    assert "You are Ada Quellenberg." in first and 'name="keep" value="2"' in first
    assert client.get(f"{new}?preset=clpreset_0").status_code == 404
    acts = AuditEntry.objects.of_chain(store.id).filter(command="save_claude_preset").oldest()
    assert len(acts) == 2 and "Quellenberg" not in str([entry.input for entry in acts])
    assert "saved version 2 of the preset “Support”" in page(client, f"/audit/{store.id}/{acts[1].seq}")
    found = erasure.search(store.id, ["Quellenberg"], act().at)
    assert found.counts == {"claude_preset": 1}
    erasure.erase(store.id, ["Quellenberg"], found.digest, act(alice))
    preset.refresh_from_db()
    assert "Quellenberg" not in str(preset.versions)
    assert client.post(f"/stores/{store.id}/claude/presets/{preset.pk}").status_code == 303
    assert not ClaudePreset.objects.exists()


def test_presets_and_their_versions_are_not_without_number(
    store: MemoryStore, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr(presets, "MOST_PRESETS", 1)
    monkeypatch.setattr(presets, "MOST_VERSIONS", 2)
    for number in range(3):
        preset = presets.save(store.id, "Support", {"keep": number}, act(alice))
    versions: Any = preset.versions
    assert [one["number"] for one in versions] == [2, 3]
    form = ASKED | {"save": "1", "preset": "Other"}
    assert "too many presets" in signed_in(alice).post(f"/stores/{store.id}/claude/new", form).content.decode()
