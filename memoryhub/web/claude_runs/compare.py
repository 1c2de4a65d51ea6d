"""The page that compares two Claude runs of a store side by side."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memoryhub.models import ClaudeEvent, ClaudeEventKind, ClaudeRun, MemoryStore, MemoryVersion, User
from memoryhub.pure.conversation.options import Options
from memoryhub.pure.text.diffs import REQUEST_WORK, Diff, shortened
from memoryhub.pure.text.matching import Work
from memoryhub.web.claude_runs import rows
from memoryhub.web.claude_runs.access import run_of, who_may_run
from memoryhub.web.claude_runs.forms import StartForm
from memoryhub.web.claude_runs.rows import Item, Listed
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import person
from memoryhub.web.common.pictures import number
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import text_of

MOST_OTHERS = 30
MOST_PATHS = 60
"""The most memories whose changes are compared."""
MOST_ROWS = 24
"""The most rows of a diff."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs. `calls` are the events of its calls; `said` is the last text that Claude wrote."""

    row: Listed
    place: MemoryStore | None
    task: str
    system: str
    calls: Sequence[Item]
    said: SafeString | str


@dataclass(frozen=True, slots=True)
class Fact:
    """One property of the two runs, beside each other."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        return self.first != self.second


@dataclass(frozen=True, slots=True)
class Net:
    """The total change of a run at one path: the versions before and after it (None: no version)."""

    first: MemoryVersion | None
    last: MemoryVersion | None
    memory: str

    @property
    def before(self) -> str | None:
        return text_of(self.first) if self.first else None

    @property
    def after(self) -> str | None:
        return text_of(self.last) if self.last else None


@dataclass(frozen=True, slots=True)
class Made:
    """The results of both runs at a path: the diff of each run (None: the run changed nothing there), and whether both
    results are the same."""

    path: str
    diffs: Sequence[tuple[Diff, int] | None]
    is_same: bool
    versions: Sequence[MemoryVersion]


@require_GET
@who_may_run
def page(request: Request, store: MemoryStore, claude_run_id: str) -> HttpResponse:
    """Compare a run with another run of the store; `with` in the URL is the id of the other run."""
    run = run_of(store, claude_run_id)
    others = list(ClaudeRun.objects.of_store(store.pk).newest().exclude(pk=run.pk)[:MOST_OTHERS])
    named = request.GET.get("with", "")
    like = [one for one in others if one.task == run.task] or others
    other = run_of(store, named) if named else next(iter(like), None)
    if other is not None and other.pk == run.pk:
        raise Http404
    shown: dict[str, object] = {"run": run, "row": rows.listed(run), "others": [rows.listed(one) for one in others]}
    if other is not None:
        sides = [_side(store, one, person(request)) for one in (run, other)]
        shown |= {"other": other, "both": sides, "facts": list(_facts(*sides)), "calls": list(_aligned(*sides))}
        made = _made(*sides)
        shown |= {"made": made}
        shows_of_stores(request, _texts_in(made))
    return render(request, "claude_runs/compare.html", pages.context(request, store, **shown))


def _texts_in(made: Iterable[Made]) -> Iterator[tuple[str, str, str | None]]:
    """Yield (store, memory, version) of the texts that the page shows."""
    for one in made:
        yield from ((version.store_id, version.memory_id, version.pk) for version in one.versions if version.text_id)


def _side(store: MemoryStore, run: ClaudeRun, user: User) -> Side:
    place = rows.place_of(store, run, user)
    calls = [item for item in rows.items(place, run, 0) if item.event.kind == ClaudeEventKind.CALL]
    texts = ClaudeEvent.objects.of_run(run.pk).filter(kind=ClaudeEventKind.TEXT, is_cut=False)
    last = texts.values_list("number", flat=True).last()
    said = rows.items(place, run, last - 1)[0] if last else None
    words = (said.html if said.html is not None else said.text) if said else ""
    return Side(rows.listed(run), place, rows.masked_task(run), rows.masked_system(run), calls, words)


def _facts(one: Side, two: Side) -> Iterator[Fact]:
    """Yield the properties of both runs. An option is left out if it is equal in both."""
    runs = one.row.run, two.row.run

    def fact(name: str, values: Sequence[str]) -> Fact:
        return Fact(name, values[0], values[1])

    yield fact(_("Task"), [one.task, two.task])
    yield fact(_("Model"), [run.model for run in runs])
    yield fact(_("System prompt"), [one.system or "–", two.system or "–"])
    yield fact(_("Works on"), [_place_words(run) for run in runs])
    options = [Options.of(run.options).as_json() for run in runs]
    fields = StartForm.base_fields
    for name in options[0]:
        if options[0][name] != options[1][name]:
            yield fact(str(fields[name].label), [_option_words(given[name]) for given in options])
    yield fact(_("State"), [one.row.state, two.row.state])
    yield fact(_("Answers"), [number(run.turns) for run in runs])
    yield fact(_("Calls"), [number(len(one.calls)), number(len(two.calls))])
    yield fact(_("Tokens in"), [number(run.input_tokens) for run in runs])
    yield fact(_("Tokens out"), [number(run.output_tokens) for run in runs])
    yield fact(_("It took"), [_lasted(run) for run in runs])


def _lasted(run: ClaudeRun) -> str:
    return timesince(run.created_at, run.ended_at).replace("\xa0", " ") if run.ended_at else "–"


def _place_words(run: ClaudeRun) -> str:
    if not run.copy:
        return _("the memory store itself")
    return _("a copy, as it was at entry %(seq)s") % {"seq": run.base}


def _option_words(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return number(value) if isinstance(value, int) else str(value or "–")


def _aligned(one: Side, two: Side) -> Iterator[tuple[Item | None, Item | None]]:
    """Yield pairs of calls with the same command and path, in order. A call without a counterpart is paired with
    None."""
    keys = [[_key(item) for item in side.calls] for side in (one, two)]
    for tag, first, end, start, stop in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        left, right = one.calls[first:end], two.calls[start:stop]
        if tag == "equal":
            yield from zip(left, right, strict=True)
        else:
            yield from ((item, None) for item in left)
            yield from ((None, item) for item in right)


def _key(item: Item) -> tuple[str, ...]:
    if item.told is None:
        return ("", item.words)
    entry = item.told.call.entry
    return (entry.command or "", entry.path or "", entry.new_path or "")


def _made(one: Side, two: Side) -> list[Made]:
    work = Work(REQUEST_WORK)
    nets = [_nets(one), _nets(two)]
    covers = [
        masking.covers(side.place.pk, {net.memory for net in made.values()}) if side.place else {}
        for side, made in zip((one, two), nets, strict=True)
    ]
    found = []
    for path in sorted(nets[0].keys() | nets[1].keys())[:MOST_PATHS]:
        pair = [made.get(path) for made in nets]
        diffs = [_diff(work, net, cover) for net, cover in zip(pair, covers, strict=True)]
        is_same = all(net is not None for net in pair) and pair[0].after == pair[1].after  # type: ignore[union-attr]
        shown = (net for net, diff in zip(pair, diffs, strict=True) if net and diff and diff[0].parts)
        versions = [version for net in shown for version in (net.first, net.last) if version]
        found.append(Made(path, diffs, is_same, versions))
    return found


def _diff(work: Work, net: Net | None, covers: Mapping[str, masking.Cover]) -> tuple[Diff, int] | None:
    if net is None:
        return None
    diff = masking.opened(work, net.before or "", net.after or "", covers.get(net.memory, masking.NOTHING))
    return None if diff is None else shortened(diff, MOST_ROWS)


def _nets(side: Side) -> dict[str, Net]:
    """Return {path: the total change of the run there}. A renamed memory is at both paths."""
    if side.place is None:
        return {}
    seqs = [item.event.seq for item in side.calls if item.event.seq is not None]
    of_place = MemoryVersion.objects.filter(store_id=side.place.pk).select_related("text")
    by_memory: dict[str, list[MemoryVersion]] = defaultdict(list)
    for version in of_place.filter(seq__in=seqs).order_by("memory_id", "number"):
        by_memory[version.memory_id].append(version)
    found: dict[str, Net] = {}
    for memory, versions in by_memory.items():
        before = of_place.filter(memory_id=memory, number=versions[0].number - 1).first()
        last = versions[-1]
        was, now = before.path if before else None, last.path if last.operation != "deleted" else None
        if was is not None and was != now:
            found[was] = Net(before, found[was].last if was in found else None, memory)
        if now is not None:
            earlier = before if was == now else found[now].first if now in found else None
            found[now] = Net(earlier, last, memory)
    return {path: net for path, net in found.items() if net.before != net.after}
