"""The page of a preset of Claude runs: its versions, each with its difference from the previous one; its deletion."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.claude_runs import presets
from memoryhub.models import ClaudePreset, MemoryStore
from memoryhub.pure.text import diffs
from memoryhub.pure.text.diffs import Diff
from memoryhub.web.agents.clients import PLACEHOLDER
from memoryhub.web.agents.set_up import SetUp, set_up
from memoryhub.web.claude_runs.access import who_may_run
from memoryhub.web.claude_runs.forms import StartForm, conversation_of
from memoryhub.web.claude_runs.rows import masking_of
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import act
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a preset, and its difference from the version before."""

    number: int
    at: datetime
    by: str
    diff: Diff


@require_http_methods(["GET", "HEAD", "POST"])
@who_may_run
def page(request: Request, store: MemoryStore, claude_preset_id: str) -> HttpResponse:
    """Show the versions of a preset, newest first. On POST, delete the preset."""
    preset = preset_of(store, claude_preset_id)
    if request.method == "POST":
        presets.delete(store.pk, preset.pk, act(request))
        messages.success(request, _("The preset was deleted."))
        return see_other("new_claude_run", store.pk)
    more = {
        "preset": preset,
        "versions": list(_versions(store, preset))[::-1],
        "set_up": _set_up(store, content_of(preset, None)),
    }
    return render(request, "claude_runs/preset.html", pages.context(request, store, **more))


def preset_of(store: MemoryStore, preset_id: str) -> ClaudePreset:
    """Return a preset of a store, or raise Http404."""
    preset = ClaudePreset.objects.of_store(store.pk).filter(pk=preset_id).first()
    if preset is None:
        raise Http404
    return preset


def content_of(preset: ClaudePreset, number: int | None) -> dict[str, Any]:
    """Return the form values in the version `number` of a preset, or in the newest version if there is no such
    version."""
    versions: Any = preset.versions
    found = [version for version in versions if version["number"] == number] or versions[-1:]
    return dict(found[0]["content"]) if found else {}


def _set_up(store: MemoryStore, content: Mapping[str, Any]) -> SetUp:
    """Return programs that send Claude the same request as a run with a preset. `content` is the content of a
    version of the preset; sensitive values in it are masked."""
    mask = masking_of(store)
    masked = {name: mask(value) if isinstance(value, str) else value for name, value in content.items()}
    model, system, options = conversation_of(masked)
    return set_up(settings.MEMORYHUB_URL, store.pk, PLACEHOLDER, model=model, system=system, options=options)


def _versions(store: MemoryStore, preset: ClaudePreset) -> Iterator[Version]:
    before, mask = "", masking_of(store)
    versions: Any = preset.versions
    for version in versions:
        text = mask(_lines(version["content"]))
        moment = datetime.fromisoformat(version["at"])
        yield Version(version["number"], moment, mask(version["by"]), diffs.compare(before, text))
        before = text


def _lines(content: Mapping[str, Any]) -> str:
    """Return the content as lines for people: the name of each field, and its value."""
    fields = StartForm.base_fields
    return "".join(f"{fields[name].label}: {_value(value)}\n" for name, value in content.items() if name in fields)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
