"""Acts of the random walks that people do together: path rules and proposals, comments, assignments, decisions."""

from collections.abc import Callable
from datetime import timedelta

from memoryhub.actions.comments import addressee, comments, on_proposals
from memoryhub.actions.comments.on_proposals import Draft
from memoryhub.actions.core.plans import Choice, Plan, PlanChanged
from memoryhub.actions.core.rules import holds
from memoryhub.actions.history import apply_plan, taking_out
from memoryhub.actions.history.replay import content_of
from memoryhub.actions.history.revert import NeedsChoice
from memoryhub.actions.memories import curation
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.proposals.selected import Parts, may_select, offered
from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.review import assignments, decisions, viewed
from memoryhub.actions.stores import path_rules
from memoryhub.actions.transfer import exporting, importing
from memoryhub.actions.transfer.importing import Brought
from memoryhub.models import (
    Comment,
    Finding,
    HoldKind,
    ImportState,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    ProposalState,
)
from memoryhub.pure.path_rules import Condition, Effect, Lines, PathRule, Verb
from memoryhub.pure.protocol.text import count_lines
from memoryhub.pure.text.hunks import hunks
from memoryhub.pure.transfer import recognition
from tests.redaction import walks, walks_further
from tests.redaction.walks import Walk

REFUSED = (
    assignments.NoReviewer, comments.NoSuchComment, comments.NotANote, comments.NotTheAuthor, comments.TooMany,
    comments.TooManyNotes, decide.AlreadyDecided, NeedsChoice, PlanChanged, path_rules.RulesChanged,
)  # fmt: skip
"""What these acts may answer besides what the others may."""

# ------------------------------------------------------------------------------------------------ path rules


def _save(walk: Walk, rules: list[PathRule]) -> None:
    before = path_rules.of_store(MemoryStore.objects.get(pk=walk.store.pk))
    path_rules.save(walk.store.pk, rules, path_rules.digest(before), walk.act())


def _rule(walk: Walk) -> PathRule:
    choose = walk.random.choice
    effect = choose([*Effect, Effect.PROPOSE, Effect.PROPOSE])
    pattern = choose(["", "/notes/", "/a.md", "/notes/*.md", "/**/b.md"])
    if effect == Effect.HIDE:
        return PathRule(effect, pattern)
    verbs = frozenset(walk.random.sample(list(Verb), walk.random.randint(1, len(Verb))))
    until = choose([None, None, (walk.at + timedelta(days=10)).date()])
    memory = choose([None, None, *Memory.objects.live().filter(store=walk.store).order_by("pk").select_related("text")])
    if memory is None or not memory.text.content:
        return PathRule(effect, pattern, verbs, only_if=choose([None, None, *Condition]), until=until)
    first = walk.random.randint(1, count_lines(memory.text.content))
    return PathRule(effect, memory.path, verbs, "", "Ask Ann", Lines(memory.head_id, first, first), until)


def _path_rules(walk: Walk) -> None:
    _save(walk, [_rule(walk) for _ in range(walk.random.randint(0, 2))])


def _propose(walk: Walk) -> None:
    """Some calls while a rule makes them proposals."""
    _save(walk, [PathRule(Effect.PROPOSE, walk.random.choice(["", "/notes/"]))])
    for _ in range(walk.random.randint(1, 6)):
        walks.ACTS[walk.random.choice(("tool 1", "tool 1", "api 1"))](walk)
    if walk.random.random() < 0.7:
        _save(walk, [])


# ------------------------------------------------------------------------------------------------ proposals


def _open(walk: Walk) -> Proposal:
    """An open proposal; where there is none, one that is made for it."""
    found = Proposal.objects.of_store(walk.store.pk).of_state(ProposalState.OPEN)
    if not found.exists():
        _propose(walk)
    return walk.any(found.all())  # type: ignore[no-any-return]


def _some(walk: Walk) -> Proposal:
    return walk.any(Proposal.objects.of_store(walk.store.pk))  # type: ignore[no-any-return]


def _parts(walk: Walk, plan: Plan) -> Parts:
    """Of some texts only some hunks, and of some a text that a person wrote."""
    left_out, texts = dict[str, list[int]](), dict[str, str]()
    for change in filter(may_select, plan.changes):
        old, choice = content_of(plan.store, change.now), walk.random.random()
        if choice < 0.4:
            numbers = range(1, len(hunks(old or "", offered(change).content or "")) + 1)
            left_out[change.memory] = walk.random.sample(numbers, walk.random.randint(0, len(numbers)))
        elif choice < 0.6:
            texts[change.memory] = walk.text()
    return Parts(left_out, texts)


def _drafts(walk: Walk) -> list[Draft]:
    return [Draft(walk.random.choice(walks.WORDS), walk.random.random() < 0.5)] if walk.random.random() < 0.4 else []


def _merge(walk: Walk) -> None:
    proposal = _open(walk)
    plan = proposal_plan(proposal)
    choices: dict[str, Choice] = {one.memory: walk.random.choice(one.choices) for one in plan.changes}
    parts = _parts(walk, plan) if walk.random.random() < 0.5 else Parts()
    decide.merge(
        walk.store.pk, proposal.number, choices, plan.digest, walk.act(), parts=parts, drafts=_drafts(walk)
    )  # fmt: skip


def _refuse(walk: Walk) -> None:
    proposal = _open(walk)
    decide.refuse(walk.store.pk, proposal.number, walk.act(), seen=decide.seen_of(proposal), drafts=_drafts(walk))


def _reopen(walk: Walk) -> None:
    walk.random.choice((_merge, _refuse))(walk)
    decide.reopen(walk.store.pk, _some(walk).number, walk.act())


def _take_back_proposal(walk: Walk) -> None:
    walk.random.choice((_merge, _refuse))(walk)
    decided = Proposal.objects.of_store(walk.store.pk).exclude(seq=None)
    decide.take_back(walk.store.pk, walk.any(decided).seq, walk.act())


def _own_proposals(walk: Walk) -> None:
    """An agent reads its proposals, and withdraws one."""
    number = _some(walk).number
    for hub in (walk.hub, walk.manager):
        url = f"/v1/memory_stores/{walk.store.pk}/proposals"
        hub.send(b"", method="GET", url=url)
        hub.send(b"", method="GET", url=f"{url}/{number}")
        if walk.random.random() < 0.5:
            hub.send(b"", url=f"{url}/{number}/withdraw")


def _bring_proposals(walk: Walk) -> None:
    wanted = exporting.Wanted("jsonl", history=walk.random.random() < 0.7, governance=True)
    data = b"".join(exporting.begin(walk.store.pk, wanted, walk.act()).body())
    read = recognition.read(data, "export.jsonl", importing.bounds())
    job = importing.prepare(walk.store.pk, Brought(read, "export.jsonl"), "", walk.act())
    while importing.step(job.pk, walk.at):
        pass
    job.refresh_from_db()
    if job.state == ImportState.PREVIEW:
        walks_further.start_import(walk, job)


# ------------------------------------------------------------------------------------------------ comments


def _comment(walk: Walk) -> None:
    version = walk.version()
    count = count_lines(version.content or "")
    lines = (1, count) if count and walk.random.random() < 0.7 else None
    agent = addressee.agent_of(version.memory, version.number, lines)
    tell = agent.pk if agent and walk.random.random() < 0.6 else ""
    text = f"@Bob {walk.random.choice(walks.WORDS)}"
    comments.write(walk.store.pk, version.memory_id, version.pk, lines, text, walk.act(), tell=tell)


def _answer(walk: Walk) -> None:
    comment: Comment = walk.any(Comment.objects.of_store(walk.store.pk))
    choice, store, act = walk.random.randrange(5), walk.store.pk, walk.act()
    if choice == 0:
        comments.reply(store, comment.thread, "And so on", act, tell=walk.random.choice(("", comment.agent or "")))
    elif choice == 1:
        comments.edit(store, comment.pk, walk.text().strip(), act)
    elif choice == 2:
        comments.delete(store, comment.pk, act, of_others=True)
    elif choice == 3:
        comments.withdraw(store, comment.pk, act, of_others=True)
    else:
        comments.resolve(store, comment.thread, act, resolved=walk.random.random() < 0.7)


def _comment_on_proposal(walk: Walk) -> None:
    on_proposals.comment(walk.store.pk, _some(walk).number, [Draft("Why?", walk.random.random() < 0.5)], walk.act())


# ------------------------------------------------------------------------------------------------ reviewing


def _assign(walk: Walk) -> None:
    to = walk.random.choice([None, walk.person.pk, walk.guest.pk])
    if walk.random.random() < 0.5:
        assignments.assign(walk.store.pk, walk.memory().pk, to, walk.act())
    else:
        assignments.assign_proposal(walk.store.pk, _open(walk).number, to, walk.act())


def _approve(walk: Walk) -> None:
    version = walk.any(MemoryVersion.objects.filter(store=walk.store).unreviewed())
    earlier = decisions.earlier_than(version).count()
    decisions.approve(walk.store.pk, version.pk, walk.act(), earlier=earlier)


def _edit_and_approve(walk: Walk) -> None:
    memory = walk.memory()
    text = walk.random.choice((walk.text(), memory.text.content if memory.text else ""))
    act = walk.act()
    curation.edit(walk.store.pk, memory.pk, text, memory.sha256, act, override="kept", reviewed=memory.head_id)


def _take_out(walk: Walk) -> None:
    """The lines of a finding; now and then, another version is undone with them and a memory is flagged."""
    finding = walk.any(Finding.objects.of_store(walk.store.pk)).pk
    too = [walk.version().pk] if walk.random.random() < 0.4 else []
    taken = taking_out.plan_of(walk.store.pk, finding, too)
    if taken is None:
        raise IndexError
    taking_out.take_out(
        walk.store.pk, finding, walks_further.choices(walk, taken.plan), taken.plan.digest, walk.act(),
        versions=too, flagged=[walk.version().pk],
    )  # fmt: skip


def _undo_and_flag(walk: Walk) -> None:
    version = walk.version()
    plan = apply_plan.undo_plan(walk.store.pk, [version.pk])
    apply_plan.undo(
        walk.store.pk, [version.pk], walks_further.choices(walk, plan), plan.digest, walk.act(),
        told={"version": version.pk}, flagged=[walk.version().pk],
    )  # fmt: skip


def _restore_by_api(walk: Walk) -> None:
    url = f"/v1/memory_stores/{walk.store.pk}/memory_versions/{walk.version().pk}/restore"
    walk.manager.send(walk.random.choice(({}, {"path": walk.path()})), url=url)


def _view_changes(walk: Walk) -> None:
    do = walk.random.choice((viewed.mark, viewed.mark, viewed.unmark))
    do(walk.version(), walk.person)


# ------------------------------------------------------------------------------------------------ keeping


def _freeze(walk: Walk) -> None:
    ends_at = walk.random.choice((None, walk.at + timedelta(days=5)))
    path = walk.random.choice((walk.path(), "/notes", "/notes/deep"))
    holds.place(
        walk.store.pk, walk.act(), kind=HoldKind.HOLD, path=path, reason="a dispute", freezes=True, ends_at=ends_at
    )  # fmt: skip


def _hold_memory(walk: Walk) -> None:
    kind = walk.random.choice(list(HoldKind))
    holds.place(walk.store.pk, walk.act(), kind=kind, memory=walk.memory().pk, reason="a dispute")


def _policy_of_hub(walk: Walk) -> None:
    days: dict[str, int] = walk.random.choice(
        ({"keep_versions": 2}, {"expire_older_days": 30}, {"keep_entry_days": 60})
    )
    settings = PolicySettings("Hub", walk.random.choice(("", "/notes/")), **days)  # type: ignore[arg-type]
    policies.save_policy(None, settings, walk.act())


ACTS: dict[str, Callable[[Walk], None]] = {
    "path rules": _path_rules, "propose 1": _propose, "propose 2": _propose, "propose 3": _propose, "merge 1": _merge,
    "merge 2": _merge, "refuse": _refuse, "reopen": _reopen, "take back proposal": _take_back_proposal,
    "own proposals": _own_proposals, "bring proposals": _bring_proposals, "comment 1": _comment, "comment 2": _comment,
    "answer": _answer, "comment on proposal": _comment_on_proposal, "assign": _assign, "approve": _approve,
    "edit and approve": _edit_and_approve, "take out": _take_out, "undo and flag": _undo_and_flag,
    "restore by api": _restore_by_api, "view changes": _view_changes, "freeze": _freeze, "hold memory": _hold_memory,
    "policy of hub": _policy_of_hub,
}  # fmt: skip
