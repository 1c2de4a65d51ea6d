"""Random histories with proposals: nobody sees what waits, and what is merged is what git merges."""

import json
import random
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.comments import comments, on_proposals
from memoryhub.actions.comments.on_proposals import Draft
from memoryhub.actions.core.plans import Change, Choice, Plan, lives
from memoryhub.actions.history import apply_plan
from memoryhub.actions.memories import calls, curation
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.proposals.proposed import as_proposed
from memoryhub.actions.proposals.selected import Parts
from memoryhub.actions.review.decisions import claim_proposal
from memoryhub.actions.webhooks import facts
from memoryhub.models import AuditEntry, Key, Memory, MemoryStore, MemoryText, Proposal, ProposalState, User
from memoryhub.pure import ids
from memoryhub.pure.path_rules import Effect, PathRule, Verb
from memoryhub.pure.protocol.results import BY_RULE
from memoryhub.pure.webhook_rules.events import EVENTS, of_entry
from tests.api.harness import Hub, assert_audit_is_right, new_hub, new_secret
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.api.proposals.test_proposals import ana, counters
from tests.api.proposals.test_shown import show
from tests.support.fixtures import signed_in
from tests.support.long import LONG
from tests.text.cells import Row

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


@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("part", range(2))
def test_a_store_that_got_proposals_looks_like_its_twin_that_never_did(superuser: User, part: int) -> None:
    """Everything that another agent sees, by every door: answers and errors, listings, sizes, search, counters, and
    what webhooks say of the memories. People and the author do with the proposals what makes no change, and where a
    person merges several at once, a person makes the same changes in the twin."""
    reviewer, merged = signed_in(superuser), 0
    for seed in range(part, 500 if LONG else 2, 2):
        chance = random.Random(seed)
        ruled, twin = new_hub(), new_hub()
        asking = Hub(ruled.store, new_secret(ruled.store))
        where, most = chance.choice(("", "/p/", "/**/*.md")), chance.choice((None, 1, 2))
        rule = PathRule(Effect.PROPOSE, where, frozenset(Verb), who=_agent(asking), most=most)
        set_rules(ruled.store, rule)
        set_rules(twin.store)
        show(ruled.store, shows := chance.random() < 0.5)
        for number in range(12):
            if chance.random() < 0.4:
                _do_what_changes_nothing(chance, asking)
            if chance.random() < 0.2:
                merged += _merge_together(reviewer, ruled.store, twin.store)
            call = _random_call(chance, f"word{number}")
            if chance.random() < 0.5:
                answer = asking.call(**call)
                if not answer[1].startswith(("Not written", f"Error: {BY_RULE}")):
                    twin.call(**call)
            else:
                assert ruled.call(**call) == twin.call(**call), (seed, call)
        assert texts(ruled.store) == texts(twin.store), seed
        assert counters(ruled.store) == counters(twin.store), seed
        assert _seen(ruled) == _seen(twin), seed
        assert _events(ruled.store) == _events(twin.store), seed
        for path in ("/memories", "/memories/p", *(f"/memories{path}" for path in texts(twin.store))):
            ours, theirs = (hub.call(command="view", path=path) for hub in (asking, twin))
            rest = ours[1].removeprefix(theirs[1])
            assert ours[0] == theirs[0] and ours[1].startswith(theirs[1]), seed
            assert rest == "" or rest.startswith(NOTE) or (shows and rest.startswith("\n[Not there yet: ")), seed
    assert merged or not LONG


NOTE = "\n[Not part of this memory, but a note "


def _do_what_changes_nothing(chance: random.Random, asking: Hub) -> None:
    """Comments and claims by people, a refusal of all proposals at once, a withdrawal, a note to the author."""
    store, act, do = asking.store, ana(), chance.choice(("comment", "claim", "refuse", "withdraw", "reopen", "note"))
    waiting = list(Proposal.objects.filter(store=store, state="open").order_by("number"))
    if do == "refuse":
        together = act._replace(group=ids.new_id(ids.GROUP, act.at))
        for one in waiting:
            decide.refuse(store.pk, one.number, together, seen=decide.seen_of(one))
    elif do == "note":
        memory = Memory.objects.live().filter(store=store).order_by("path").first()
        if memory is not None:
            with suppress(comments.NotANote):
                lines = (1, 1)
                comments.write(store.pk, memory.pk, memory.head_id, lines, "Why?", act, tell=_agent(asking))
    elif do == "reopen":
        for one in Proposal.objects.filter(store=store, state="refused")[:1]:
            decide.reopen(store.pk, one.number, act)
    elif waiting and do == "comment":
        on_proposals.comment(store.pk, waiting[0].number, [Draft("word0?", tells=True)], act)
    elif waiting and do == "claim":
        claim_proposal(waiting[0], User.objects.get(pk=act.actor.id), act.at)
    elif waiting:
        Api(asking).good("POST", f"/proposals/{waiting[0].number}/withdraw")


def _merge_together(reviewer: Client, store: MemoryStore, twin: MemoryStore) -> int:
    """Merge all proposals with the page that decides about several, make the same changes in the twin, and return how
    many were merged."""
    numbers = Proposal.objects.filter(store=store, state="open").values_list("number", flat=True)
    page = reverse("proposals_together", args=[store.pk], query={"n": sorted(numbers)})
    chosen = [f"{number}:{seen}" for number, seen in reviewer.get(page).context["merge"]]
    waiting = [Proposal.objects.get(store=store, number=one.partition(":")[0]) for one in chosen]
    plans = [proposal_plan(one) for one in waiting]
    reviewer.post(page, {"decision": "merge", "merge": chosen})
    for proposal, plan in zip(waiting, plans, strict=True):
        proposal.refresh_from_db()
        assert proposal.state == ProposalState.MERGED, proposal
        _make_the_same(plan, twin)
    return len(waiting)


def _make_the_same(plan: Plan, twin: MemoryStore) -> None:
    """Make the changes of a plan in another store with the commands of a person: those that free a path first."""
    content = MemoryText.objects.contents(plan.store, [one.then.text for one in plan.changes if one.then.text])
    left = sorted(plan.changes, key=lambda change: (change.then.is_there, change.then.path != change.now.path))
    while left:
        change = next(one for one in left if one.then.path in (None, one.now.path) or not lives(twin.pk, one.then.path))
        now, then = change.now.path or "", change.then.path
        text = str(change.then.content or content.get(change.then.text or "", ""))
        left.remove(change)
        if then is None:
            curation.delete(twin.pk, now, ana())
            continue
        if not now:
            curation.create(twin.pk, then, text, ana())
        elif then != now:
            curation.rename(twin.pk, now, then, ana())
        row = Memory.objects.live().get(store=twin, path=then)
        if change.then.sha256 != row.sha256:
            curation.edit(twin.pk, row.pk, text, row.sha256, ana())


def _events(store: MemoryStore) -> list[tuple[str, str]]:
    """What webhooks say of a store, except of proposals: each event with the path of each of its memories."""
    path = dict(Memory.objects.filter(store=store).values_list("pk", "path"))
    found: list[tuple[str, str]] = []
    for entry in facts.entries(store.pk, 0, 10_000, set(EVENTS)):
        for event in of_entry(entry, b"key"):
            data = json.loads(event.payload)["data"]
            named = sorted(path.get(one.get("id"), "") for one in data.get("memories", ()))
            found += [(event.type, one) for one in named or [""]]
    return sorted(one for one in found if one[0].split(".")[0] not in ("proposal", "memory_store"))


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
        if kind < 0.05:
            result.append(f"{mark} for {line}")
        elif kind > 0.07:
            result.append(line)
        if kind > 0.95:
            result.append(f"{mark} after {number}\n")
    return result


@pytest.mark.both_databases
def test_any_hunks_of_a_proposal_whose_memories_moved_on_merge_as_git_applies_them(db: None, tmp_path: Path) -> None:
    """Of a conflict, the text in which the proposed lines count has hunks too."""
    hub = new_hub()
    set_rules(hub.store, PathRule(Effect.PROPOSE, who=_agent(hub)))
    clean = conflicts = parts = undone = 0
    for number in range(480 if LONG else 9):
        chance, wanted = random.Random(number), {}
        for name in ("a", "b", "c"):
            base = [f"line {n} of {name}\n" for n in range(chance.randint(3, 20))]
            theirs, mine = _edited(chance, base, "agent"), _edited(chance, base, "person")
            made = curation.create(hub.store.id, f"/{number}/{name}.md", _text(base), ana())
            api = Api(hub, session=f"s{number}")
            if theirs != base:
                api.refused("POST", f"/memories/{made.memory}", {"content": _text(theirs)})
            row = Memory.objects.get(store=hub.store, pk=made.memory)
            curation.edit(hub.store.id, row.pk, _text(mine), row.sha256, ana())
            wanted[row.pk] = (row.path, _text(mine), *_merged_by_git(tmp_path, base, mine, theirs))
        found = Proposal.objects.filter(store=hub.store, state="open").first()
        if found is None:
            continue
        shown = proposal_plan(found)
        choices, left_out, expected = {}, {}, {path: before for path, before, *_ in wanted.values()}
        for change in shown.changes:
            path, before, text, is_clean = wanted[change.memory]
            clean, conflicts = clean + is_clean, conflicts + (not is_clean)
            assert bool(change.problem) == (not is_clean), (number, path)
            end = (
                "" if before.endswith("\n") or text.endswith("\n") else "\n"
            )  # their last lines may be equal to others
            hunks = _hunks_by_git(tmp_path, before + end, text + end)
            left_out[change.memory] = [n for n in range(1, len(hunks) + 1) if chance.random() < 0.4]
            if chance.random() < 0.2:
                choices[change.memory] = Choice.KEEP
                continue
            choices[change.memory] = Choice.APPLY if is_clean else Choice.BEFORE
            assert change.chosen(choices[change.memory]).content == text
            taken = [hunk for n, hunk in enumerate(hunks, 1) if n not in left_out[change.memory]]
            expected[path] = _applied_by_git(tmp_path, before + end, taken).removesuffix(end)
            parts += 0 < len(taken) < len(hunks)
        done = decide.merge(hub.store.id, found.number, choices, shown.digest, ana(), parts=Parts(left_out))
        now = texts(hub.store)
        assert {path: now[path] for path in expected} == expected, number
        if number % 3 == 0:
            _assert_undo_brings_back(hub, done.seq, {path: before for path, before, *_ in wanted.values()})
            undone += 1
            continue
        found.refresh_from_db()
        if found.state == ProposalState.PARTLY_MERGED:
            _assert_page_has_what_became_of_each_hunk(found, left_out)
    assert clean > conflicts > 0 and parts > 2 and undone > 2
    assert_audit_is_right(hub.store)


def _assert_undo_brings_back(hub: Hub, seq: int, before: dict[str, str]) -> None:
    versions = apply_plan.entry_versions(hub.store.id, seq)
    plan = apply_plan.undo_plan(hub.store.id, versions)
    assert not plan.has_problems
    if versions:
        apply_plan.undo(hub.store.id, versions, {}, plan.digest, ana())
    now = texts(hub.store)
    assert {path: now[path] for path in before} == before


def test_all_changes_of_a_proposal_are_in_it_whatever_people_change_between_them(db: None) -> None:
    """And the agent reads which of its changes later ones replaced."""
    hub = new_hub()
    set_rules(hub.store, PathRule(Effect.PROPOSE, who=_agent(hub)))
    conflicts = replaced = 0
    for seed in range(240 if LONG else 10):
        row, api = Row(random.Random(seed)), Api(hub, session=f"s{seed}")
        memory = curation.create(hub.store.id, f"/{seed}.md", row.now(), ana()).memory
        for number in range(row.chance.randint(3, 7)):
            if row.chance.random() < 0.3:
                row.edit(f"{number}")
                curation.edit(hub.store.id, memory, row.now(), Memory.objects.get(pk=memory).sha256, ana())
            else:
                row.wish()
                api.refused("POST", f"/memories/{memory}", {"content": row.wishes[-1][1]})
        found = Proposal.objects.filter(store=hub.store, state="open").first()
        if found is None:
            continue
        shown = proposal_plan(found)
        (change,) = shown.changes
        assert bool(change.problem) == (row.merged() is None), seed
        decide.merge(hub.store.id, found.number, {memory: _taking(change)}, shown.digest, ana())
        assert texts(hub.store)[f"/{seed}.md"] == row.over(), seed
        outcomes = [one["outcome"] for one in api.good("GET", f"/proposals/{found.number}")["changes"]]
        assert {number for number, outcome in enumerate(outcomes) if outcome != "merged"} == row.replaced, seed
        assert {*outcomes} <= {"merged", "replaced", "merged_in_part"}
        conflicts, replaced = conflicts + bool(change.problem), replaced + outcomes.count("replaced")
    assert conflicts > 1 and replaced > 1
    assert_audit_is_right(hub.store)


def _taking(change: Change) -> Choice:
    return Choice.BEFORE if change.problem else Choice.APPLY


def _assert_page_has_what_became_of_each_hunk(proposal: Proposal, left_out: dict[str, list[int]]) -> None:
    entry = AuditEntry.objects.of_chain(proposal.store_id).get(seq=proposal.seq)
    cut = json.loads(entry.input or "").get("merged_in_part", [])
    told = as_proposed(proposal, cut).had
    assert sorted(told) == cut
    assert all([n for n, taken in enumerate(told[memory], 1) if not taken] == left_out[memory] for memory in cut), (
        proposal.number
    )


def _text(lines: list[str]) -> str:
    """The lines as a text, which lacks a line feed at its end if the last line has an odd length."""
    return "".join(lines).removesuffix("\n" if len("".join(lines[-1:])) % 2 else "")


def _merged_by_git(place: Path, base: list[str], mine: list[str], theirs: list[str]) -> tuple[str, bool]:
    """The text with the changes of both, where conflicts are theirs, and whether there are none."""
    for name, lines in (("base", base), ("mine", mine), ("theirs", theirs)):
        (place / name).write_text(_text(lines))
    command = ["git", "merge-file", "-p", "--diff3", "mine", "base", "theirs"]
    is_clean = subprocess.run(command, cwd=place, capture_output=True, check=False).returncode == 0
    command[3] = "--theirs"
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return done.stdout, is_clean


def _hunks_by_git(place: Path, old: str, new: str) -> list[str]:
    for name, text in (("old", old), ("new", new)):
        (place / name).write_text(text)
    command = ["git", "diff", "--no-index", "-U0", "old", "new"]
    told = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False).stdout
    return ["@@" + hunk for hunk in f"\n{told}".split("\n@@")[1:]]


def _applied_by_git(place: Path, text: str, hunks: list[str]) -> str:
    """The text after some hunks, from the last to the first, so that each is at the lines that it names."""
    (place / "old").write_text(text)
    for hunk in reversed(hunks):
        head, lines = hunk.split("\n", 1)
        old, count = [*head.split()[1].lstrip("-").split(","), "1"][:2]
        new, added = [*head.split()[2].lstrip("+").split(","), "1"][:2]
        new = str(int(old) + (count == "0") - (added == "0"))
        patch = f"--- a/old\n+++ b/old\n@@ -{old},{count} +{new},{added} @@\n{lines}".removesuffix("\n") + "\n"
        command = ["git", "apply", "--unidiff-zero"]
        subprocess.run(command, cwd=place, input=patch, text=True, check=True)
    return (place / "old").read_text()
