"""A rename of a directory makes no path that a memory cannot have: such a memory could no longer be viewed, changed,
deleted, or brought back from an export."""

import pytest

from memoryhub.models import Memory
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import Hub, assert_audit_is_right
from tests.api.path_rules.test_path_rules import set_rules
from tests.mcp.messages import call as mcp_call

LONG = "/".join(["n" * 250] * 4)


def paths_of(hub: Hub) -> list[str]:
    return sorted(Memory.objects.live().filter(store=hub.store).values_list("path", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("beneath", "new", "answer"),
    [
        ("/".join("d" * 19), "/memories/b/c", "is not allowed: deeper than 20 levels"),
        (LONG, f"/memories/{'m' * 30}", "... is not allowed: longer than 1024 bytes (or 255 per name)"),
        ("long.md", "/memories/a..", "Error: Path /memories/a../long.md would escape /memories directory"),
        ("long.md", "/memories/a%2e.", "Error: Path /memories/a%2e./long.md would escape /memories directory"),
    ],
)
def test_it_is_refused_at_every_door_and_changes_nothing(hub: Hub, beneath: str, new: str, answer: str) -> None:
    assert hub.call(command="create", path=f"/memories/a/{beneath}", file_text="x")[0] == "ok"
    assert hub.call(command="create", path="/memories/a/b.md", file_text="x")[0] == "ok"
    before = paths_of(hub)
    outcome, told = hub.call(command="rename", old_path="/memories/a", new_path=new)
    assert outcome == "err" and told.startswith("Error: Path /memories/") and told.endswith(answer)
    result = mcp_call(hub, "memory", command="rename", old_path="/memories/a", new_path=new)
    assert result["isError"] and result["content"][0]["text"] == told
    set_rules(hub.store, PathRule(Effect.PROPOSE))
    assert hub.call(command="rename", old_path="/memories/a", new_path=new) == ["err", told], "it is not proposed"
    assert paths_of(hub) == before
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
@pytest.mark.django_db
def test_what_just_fits_is_renamed(hub: Hub) -> None:
    assert hub.call(command="create", path=f"/memories/a/{'/'.join('d' * 18)}", file_text="x")[0] == "ok"
    assert hub.call(command="create", path=f"/memories/a/{LONG}", file_text="x")[0] == "ok"
    new = "m" * (1024 - len(LONG) - 4)
    assert hub.call(command="rename", old_path="/memories/a", new_path=f"/memories/b/{new}")[0] == "ok"
    assert len(max(paths_of(hub), key=len)) == 1024 and max(path.count("/") for path in paths_of(hub)) == 20
    assert hub.call(command="rename", old_path=f"/memories/b/{new}", new_path="/memories/..x")[0] == "ok"
