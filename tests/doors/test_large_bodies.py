"""Reading a large body of a machine: others take their turn meanwhile, whichever door it came through."""

import threading
from typing import Any

import pytest

from memoryhub.actions.core import transactions
from memoryhub.pure import strict_json
from tests.api.harness import Hub, new_hub
from tests.mcp.messages import message, send

pytestmark = pytest.mark.django_db

DOORS = {
    "tool": lambda hub, text: hub.send({"type": "text", "text": text}),
    "api": lambda hub, text: hub.send({"content": text}, url=f"/v1/memory_stores/{hub.store.id}/memories"),
    "mcp": lambda hub, text: send(hub, message("no/such/method", {"text": text})),
}


@pytest.mark.parametrize("door", DOORS)
def test_others_take_their_turn_while_a_large_body_is_read(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Hub = new_hub()
    committer_runs, taken = threading.Event(), []
    committer_runs.set()
    monkeypatch.setattr(transactions, "_committer_runs", committer_runs)

    def loads(body: bytes, **options: Any) -> Any:
        taken.append(transactions._turn.is_taken())
        return read(body, **options)

    read = strict_json.loads
    monkeypatch.setattr(strict_json, "loads", loads)
    assert DOORS[door](hub, "x").status == 400 or door == "mcp"
    assert DOORS[door](hub, "x" * 70_000).status == 400 or door == "mcp"
    assert taken == [True, False] and not transactions._turn.is_taken()
