"""Random histories with proposals: nobody sees what waits, and what is merged is what git merges."""

import random
import subprocess
from pathlib import Path

import pytest

from memoryhub.actions.core.plans import Choice
from memoryhub.actions.memories import calls, curation
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.models import (
    Key,
    Memory,
    Proposal,
)
from memoryhub.path_rules import Effect, PathRule, Verb
from tests.api.harness import Hub, assert_audit_is_right, new_hub, new_secret
from tests.api.memory_calls import Api
from tests.api.test_path_rules import set_rules, texts
from tests.api.test_proposals import ana, counters
from tests.long import tried

pytestmark = pytest.mark.both_databases


def _random_call(chance: random.Random, word: str) -> dict[str, object]:
    path = "/memories/" + chance.choice(("a.md", "p/a.md", "p/b.md", "p/q/c.md", "d/e.md"))
    other = "/memories/" + chance.choice(("a.md", "p/a.md", "p/new.md", "p", "d/x", "p/q"))
    return chance.choice((
        {"command": "create", "path": path, "file_text": f"{word}\nend\n"},
        {"command": "insert", "path": path, "insert_line": chance.randint(0, 2), "insert_text": word},
        {"command": "str_replace", "path": path, "old_str": "end", "new_str": f"{word} end"},
        {"command": "delete", "path": chance.choice((path, "/memories/p"))},
        {"command": "rename", "old_path": chance.choice((path, "/memories/p")), "new_path": other},
    ))  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_a_store_that_got_proposals_looks_like_its_twin_that_never_did(db: None, part: int) -> None:
    """Everything that another agent sees, by every door: answers and errors, listings, sizes, search, counters."""
    for seed in range(part, tried(500), 4):
        chance = random.Random(seed)
        ruled, twin = new_hub(), new_hub()
        asking = Hub(ruled.store, new_secret(ruled.store))
        rule = PathRule(Effect.PROPOSE, chance.choice(("", "/p/", "/**/*.md")), frozenset(Verb), who=_agent(asking))
        set_rules(ruled.store, rule)
        for number in range(12):
            call = _random_call(chance, f"word{number}")
            if chance.random() < 0.5:
                answer = asking.call(**call)
                if not answer[1].startswith("Not written"):
                    twin.call(**call)
            else:
                assert ruled.call(**call) == twin.call(**call), (seed, call)
        assert texts(ruled.store) == texts(twin.store), seed
        assert counters(ruled.store) == counters(twin.store), seed
        assert _seen(ruled) == _seen(twin), seed


def _agent(hub: Hub) -> str:
    return str(Key.objects.get(digest=calls.digest_of_key(hub.secret)).agent_id)


def _seen(hub: Hub) -> list[object]:
    """What an agent sees in a store, without ids and times."""
    listings = [hub.call(command="view", path=path) for path in ("/memories", "/memories/p", "/memories/p/q")]
    found = Api(hub).all("search", query="word")
    listed = Api(hub).good("GET", "/memories", b"", limit=100, view="full")["data"]
    return [
        *listings,
        [(one["memory"]["path"], one["lines"], one["path_matches"]) for one in found],
        [(one["path"], one.get("content"), one.get("content_sha256"), one.get("content_size_bytes")) for one in listed],
    ]


def _edited(chance: random.Random, lines: list[str], mark: str) -> list[str]:
    """A text with some of its lines replaced, removed, or followed by new ones."""
    result: list[str] = []
    for number, line in enumerate(lines):
        kind = chance.random()
        if kind < 0.03:
            result.append(f"{mark} for {line}")
        elif kind > 0.05:
            result.append(line)
        if kind > 0.97:
            result.append(f"{mark} after {number}\n")
    return result


def test_any_part_of_a_proposal_whose_memories_moved_on_merges_as_git_merges(db: None, tmp_path: Path) -> None:
    hub = new_hub()
    set_rules(hub.store, PathRule(Effect.PROPOSE, who=_agent(hub)))
    clean = conflicts = 0
    for number in range(tried(300)):
        chance, wanted, memories = random.Random(number), {}, {}
        for name in ("a", "b", "c"):
            base = [f"line {n} of {name}\n" for n in range(chance.randint(3, 20))]
            theirs, mine = _edited(chance, base, "agent"), _edited(chance, base, "person")
            path = f"/{number}/{name}.md"
            made = curation.create(hub.store.id, path, "".join(base), ana())
            memories[name] = str(made.memory)
            api = Api(hub, session=f"s{number}")
            if theirs != base:
                api.refused("POST", f"/memories/{made.memory}", {"content": "".join(theirs)})
            row = Memory.objects.get(store=hub.store, pk=made.memory)
            curation.edit(hub.store.id, row.pk, "".join(mine), row.sha256, ana())
            wanted[row.pk] = (path, "".join(mine), *_merged_by_git(tmp_path, base, mine, theirs))
        found = Proposal.objects.filter(store=hub.store, state="open").first()
        if found is None:
            continue
        shown = proposal_plan(found)
        choices = {}
        for change in shown.changes:
            path, before, text, is_clean = wanted.pop(change.memory)
            clean, conflicts = clean + is_clean, conflicts + (not is_clean)
            assert bool(change.problem) == (not is_clean), (number, path)
            taken = is_clean and chance.random() < 0.7
            choices[change.memory] = Choice.APPLY if taken else Choice.KEEP
            assert not is_clean or change.then.content == text
            wanted[change.memory] = (path, text if taken else before, text, is_clean)
        decide.merge(hub.store.id, found.number, choices, shown.digest, ana())
        now = texts(hub.store)
        assert all(now[path] == text for path, text, *_ in wanted.values()), number
    assert clean > conflicts > 0
    assert_audit_is_right(hub.store)


def _merged_by_git(place: Path, base: list[str], mine: list[str], theirs: list[str]) -> tuple[str, bool]:
    for name, lines in (("base", base), ("mine", mine), ("theirs", theirs)):
        (place / name).write_text("".join(lines))
    done = subprocess.run(
        ["git", "merge-file", "-p", "mine", "base", "theirs"], cwd=place, capture_output=True, text=True, check=False
    )
    return done.stdout, done.returncode == 0
