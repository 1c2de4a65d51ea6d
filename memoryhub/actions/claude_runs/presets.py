"""Saving and deleting the presets of Claude runs. Each act makes one audit entry, without the texts."""

from typing import Any

from memoryhub.actions.claude_runs import events
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.models import ClaudePreset
from memoryhub.pure import ids

MOST_PRESETS = 100
"""The most presets of a store."""
MOST_VERSIONS = 100
"""The most versions of a preset that are kept: the newest."""
LONGEST_NAME = 100
"""The most characters of a name; a masked value may have made it longer."""


class TooManyPresets(Exception):
    """The store has MOST_PRESETS presets."""


def save(store_id: str, name: str, content: dict[str, Any], act: Act) -> ClaudePreset:
    """Save a preset under a name, and return it. A preset that exists gets a new version, unless nothing changed.

    Raises ToolError if the store is archived. Also raises TooManyPresets and NoSuchStore.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        kept, name = events.kept_in(store_id, content), events.kept(store_id, name)[:LONGEST_NAME]
        preset = ClaudePreset.objects.of_store(store_id).filter(name=name).first()
        if preset is None:
            if ClaudePreset.objects.of_store(store_id).count() >= MOST_PRESETS:
                raise TooManyPresets
            preset = ClaudePreset(id=ids.new_id(ids.CLAUDE_PRESET, act.at), store_id=store_id, name=name)
        versions: Any = preset.versions
        if versions and versions[-1]["content"] == kept:
            return preset
        number = versions[-1]["number"] + 1 if versions else 1
        version = {"number": number, "at": act.at.isoformat(), "by": act.actor.label, "content": kept}
        preset.versions, preset.changed_at = [*versions, version][-MOST_VERSIONS:], act.at
        preset.save()
        details = {"preset": preset.pk, "name": name, "number": number}
        tree.commit(store, Record("save_claude_preset", input=audit.to_json(details)))
        return preset


def delete(store_id: str, preset_id: str, act: Act) -> None:
    """Delete a preset with its versions; do nothing if there is no such preset. Raises NoSuchStore."""
    with tree.locked(store_id, act) as store:
        preset = ClaudePreset.objects.of_store(store_id).filter(pk=preset_id).first()
        if preset is not None:
            details = {"preset": preset.pk, "name": preset.name}
            preset.delete()
            tree.commit(store, Record("delete_claude_preset", input=audit.to_json(details)))
