"""The charts of a dashboard. A chart has a table, and its bars and points can have links."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.core.audit.commands import COMMANDS as COMMANDS_IN_WORDS
from memoryhub.actions.figures import Delta
from memoryhub.actions.verification.entries import WRITES
from memoryhub.models.figures import OK
from memoryhub.pure import charts
from memoryhub.pure.protocol.kinds import Kind
from memoryhub.pure.text.filter_words import WRITING
from memoryhub.templatetags.look import size
from memoryhub.web.common.errors.kinds import WORDS
from memoryhub.web.common.pictures import Cell, Label, Mark, Picture, Row, Series, number
from memoryhub.web.dashboards.figures import ERROR, PROPOSED, READ, Figures
from memoryhub.web.dashboards.links import Links, days
from memoryhub.web.dashboards.period import Column, place

COMMANDS = ("view", "create", "str_replace", "insert", "edit", "rename", "delete")
"""The commands with a colour of their own. OTHERS are all other commands; they have no filter, and therefore no
link."""

OTHERS = ""
MANY = 14
"""With more columns than this, the last label is too wide to be centred below its column."""

NAMED = 12
"""The most agents and people listed by name. All others are summed up in one row."""


def commands_over_time(found: Figures, among: Sequence[Column], links: Links) -> Picture:
    """Return the chart of operations over time, stacked by command."""
    counts = _by_column(found.all, among, lambda command: command if command in COMMANDS else OTHERS)
    sums = Counter[str]()
    for (_column, command), count in counts.items():
        sums[command] += count
    used = [command for command in (*COMMANDS, OTHERS) if sums[command]]
    drawn = charts.stacked([[counts[column, command] for command in used] for column in range(len(among))])

    def link(column: int, command: str) -> str:
        return links.column(among[column], command=command) if command != OTHERS else ""

    rows = [
        [
            day_cell(column, links),
            *(Cell(counts[at, command], number(counts[at, command]), link(at, command)) for command in used),
            _sum(sum(counts[at, command] for command in used), links.column(column)),
        ]
        for at, column in reversed(list(enumerate(among)))
    ]
    total = sum(sums.values())
    return Picture(
        "operations", "bars", _("What was done, by command"),
        ngettext("%(count)s call or action from %(first)s to %(last)s.",
                 "%(count)s calls and actions from %(first)s to %(last)s.", total) % {
            "count": number(total), "first": _day(among[0].start), "last": _day(_last(among)),
        },
        [_("Day"), *map(_named, used), _("All")], rows, empty="" if total else _("Nothing happened in these days."),
        drawn=drawn, marks=_of_commands(drawn, used, among, link), labels=column_labels(among),
        ticks=ticks_of(drawn.ticks, number), wide=True,
        legend=[
            Series(_colour(command), _named(command), number(sums[command]), links.audit(
                **days(among[0].start), command=command) if command != OTHERS else "", title=command)
            for command in used
        ],
    )  # fmt: skip


def _of_commands(
    drawn: charts.Bars, used: Sequence[str], among: Sequence[Column], link: Callable[[int, str], str]
) -> list[Mark]:
    """Return the bars of the chart as marks with names and links."""
    words = _("%(day)s: %(count)s × %(command)s")
    marks = []
    for bar in drawn.bars:
        command = used[bar.series]
        details = {"day": among[bar.column].name, "count": number(bar.value), "command": _named(command)}
        marks.append(Mark(bar, _colour(command), words % details, link(bar.column, command)))
    return marks


def _colour(command: str) -> int:
    return (*COMMANDS, OTHERS).index(command) + 1


def reads_and_writes(found: Figures, among: Sequence[Column], links: Links) -> Picture:
    """Return the chart of reads above the axis and writes below it; errors are left out."""
    counts = _by_column(found.ok, among, lambda command: "r" if command == READ else "w" if command in WRITES else "")
    reads, writes = ([counts[column, kind] for column in range(len(among))] for kind in "rw")
    drawn = charts.mirrored(reads, writes)

    def link(column: int, series: int) -> str:
        return links.column(among[column], outcome="ok", command=WRITING if series else READ)

    names = (_("read"), _("written"))
    marks = [
        Mark(bar, 9 + bar.series, f"{among[bar.column].name}: {number(bar.value)} {names[bar.series]}",
             link(bar.column, bar.series))
        for bar in drawn.bars
    ]  # fmt: skip
    rows = [
        [
            day_cell(column, links), Cell(reads[at], number(reads[at]), link(at, 0)),
            Cell(writes[at], number(writes[at]), link(at, 1)),
        ]
        for at, column in reversed(list(enumerate(among)))
    ]  # fmt: skip
    total = sum(reads), sum(writes)
    since = days(among[0].start)
    return Picture(
        "reads", "bars", _("Reads against writes"),
        _("Reads, above the line: %(reads)s. Writes, below it: %(writes)s. Views of a directory count as reads. "
          "Calls that got an error count as neither.") % {
            "reads": number(total[0]), "writes": number(total[1]),
        },
        [_("Day"), _("Reads"), _("Writes")], rows,
        empty="" if any(total) else _("Nothing was read or written in these days."),
        drawn=drawn, marks=marks, labels=column_labels(among),
        ticks=ticks_of(drawn.ticks, lambda value: number(abs(value))),
        legend=[
            Series(9, _("Reads"), number(total[0]), links.audit(**since, command=READ, outcome="ok")),
            Series(10, _("Writes"), number(total[1]), links.audit(**since, command=WRITING, outcome="ok")),
        ],
    )  # fmt: skip


def growth(before: Delta, by_day: Mapping[date, Delta], among: Sequence[Column], links: Links) -> list[Picture]:
    """Return two line charts: the number of memories and of bytes at the end of each column."""
    memories, sizes = [], []
    held = Delta(before.memories, before.bytes, before.versions)
    added = [Delta() for _column in among]
    for day, delta in by_day.items():
        at = place(day, among)
        if at is not None:
            added[at].add(delta.memories, delta.bytes, delta.versions)
    for delta in added:
        held.add(delta.memories, delta.bytes, delta.versions)
        memories.append(held.memories)
        sizes.append(held.bytes)
    says = ngettext(
        "%(count)s memory at the end of %(day)s.", "%(count)s memories at the end of %(day)s.", memories[-1]
    )
    return [
        _line("memories", _("Memories"), says, memories, added, among, links, number, 11),
        _line("bytes", _("Bytes"), _("%(count)s at the end of %(day)s."), sizes, added, among, links, size, 12,
              charts.binary_unit(max(sizes, default=0))),
    ]  # fmt: skip


def _line(
    name: str, title: str, says: str, values: Sequence[int], added: Sequence[Delta], among: Sequence[Column],
    links: Links, shown: Callable[[int], str], series: int, unit: int = 1,
) -> Picture:  # fmt: skip
    drawn = charts.line(values, unit=unit)
    marks = [
        Mark(dot, series, f"{among[dot.column].name}: {shown(dot.value)}", links.column(among[dot.column]))
        for dot in drawn.dots
    ]
    rows = [
        [
            day_cell(column, links), Cell(values[at], shown(values[at])),
            Cell(added[at].versions, number(added[at].versions)),
        ]
        for at, column in reversed(list(enumerate(among)))
    ]  # fmt: skip
    return Picture(
        name, "line", title, says % {"count": shown(values[-1]), "day": _day(_last(among))},
        [_("Day"), title, _("Versions written")], rows, drawn=drawn, marks=marks, labels=column_labels(among),
        ticks=ticks_of(drawn.ticks, shown), series=series,
        empty="" if any(values) else _("There was no memory in these days."),
    )  # fmt: skip


def by_author(found: Figures, names: Mapping[str, tuple[str, str]], since: date, links: Links) -> Picture:
    """Return the list of agents and people with their operations, errors and proposed changes. `names` is {id: (kind,
    name)}."""
    sums = Counter[str]()
    for (author, _ended), count in found.authors.items():
        sums[author] += count
    order = sorted(sums, key=lambda author: (-sums[author], author))
    most = sums[order[0]] if order else 0
    items = [_of_author(found, author, names, most, since, links) for author in order[:NAMED]]
    rest, others = sum(sums[author] for author in order[NAMED:]), len(order) - NAMED
    if rest:
        label = ngettext("%(count)s other", "%(count)s others", others) % {"count": others}
        items.append(Row(label, "", _acts(rest), charts.share(rest, most)))
    rows = [
        [
            Cell(_name_of(author, names)[1], _name_of(author, names)[1]),
            _writes(found, author, since, links),
            *(Cell(count := found.authors[author, end], number(count)) for end in (OK, ERROR, PROPOSED)),
        ]
        for author in order[:500]
    ]  # fmt: skip
    return Picture(
        "authors", "list", _("By agent and person"),
        _("All calls and acts of each agent and person, and how often they got an error or proposed a change."),
        [_("Who"), _("Writes"), _("Succeeded"), _("Errors"), _("Proposed")], rows, items=items, series=9,
        empty="" if items else _("Nothing happened in these days."),
    )  # fmt: skip


def _of_author(
    found: Figures, author: str, names: Mapping[str, tuple[str, str]], most: int, since: date, links: Links
) -> Row:
    ok, wrong, proposed = (found.authors[author, ended] for ended in (OK, ERROR, PROPOSED))
    kind, name = _name_of(author, names)
    writes = found.writes[author]
    wrote = ngettext("%(count)s write", "%(count)s writes", writes) % {"count": number(writes)} if writes else ""
    notes = [
        ngettext("%(count)s error", "%(count)s errors", wrong) % {"count": number(wrong)} if wrong else "",
        _("%(count)s proposed") % {"count": number(proposed)} if proposed else "",
    ]
    url = links.audit(author=author, **days(since)) if author else ""
    return Row(
        name, url, _acts(ok + wrong + proposed), charts.share(ok, most), charts.share(wrong, most),
        charts.share(proposed, most), ", ".join(filter(None, notes)), kind, wrote,
    )  # fmt: skip


def _acts(count: int) -> str:
    return _("%(count)s in all") % {"count": number(count)}


def _writes(found: Figures, author: str, since: date, links: Links) -> Cell:
    """Return the number of an author's writes, with a link to them."""
    count = found.writes[author]
    url = links.audit(author=author, command=WRITING, outcome="ok", **days(since)) if author and count else ""
    return Cell(count, number(count), url)


def _name_of(author: str, names: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    return names.get(author, ("system", author or _("The hub itself")))


def errors(found: Figures, since: date, links: Links) -> Picture:
    """Return the list of errors by kind. Calls that became part of a proposal are counted separately."""
    order = [kind for kind, count in found.errors.most_common() if count]
    most = max(found.errors.values(), default=0)
    named = {kind: (str(WORDS.get(Kind(kind), kind)), links.audit(**days(since), error=kind)) for kind in order}
    items = [Row(*named[kind], number(found.errors[kind]), charts.share(found.errors[kind], most)) for kind in order]
    rows = [[Cell(kind, *named[kind]), Cell(found.errors[kind], number(found.errors[kind]))] for kind in order]
    total = sum(found.errors.values())
    proposed = found.proposed.total()
    said = [
        ngettext("%(count)s call was answered with an error.", "%(count)s calls were answered with an error.", total)
        % {"count": number(total)},
        ngettext("%(count)s more became part of a proposal.", "%(count)s more became part of proposals.", proposed)
        % {"count": number(proposed)} if proposed else "",
    ]  # fmt: skip
    return Picture(
        "errors", "list", _("Errors by kind"), " ".join(filter(None, said)),
        [_("Kind"), _("Errors")], rows, items=items, series=16,
        empty="" if items else _("No call was refused in these days."),
        more=(_("What was proposed"), links.audit(**days(since), outcome="proposed")) if proposed else None,
    )  # fmt: skip


def _by_column(
    counts: Mapping[tuple[date, str], int], among: Sequence[Column], name: Callable[[str], str]
) -> Counter[tuple[int, str]]:
    """Return {(column number, group): count}. `counts` is {(day, command): count}; `name` gives a command's group."""
    found: Counter[tuple[int, str]] = Counter()
    for (day, command), count in counts.items():
        if (at := place(day, among)) is not None:
            found[at, name(command)] += count
    return found


def _named(command: str) -> str:
    """Return the words for what a command did, such as “replaced text”; “others” if `command` is empty."""
    return COMMANDS_IN_WORDS[command].label if command else _("others")


def _last(among: Sequence[Column]) -> date:
    return among[-1].end - timedelta(days=1)


def _day(day: date) -> str:
    return date_format(day, "j F Y")


def day_cell(column: Column, links: Links) -> Cell:
    """Return the first cell of the table row for a column, with a link to the audit of its days."""
    return Cell(column.start.isoformat(), column.name, links.column(column))


def _sum(value: int, url: str) -> Cell:
    return Cell(value, number(value), url)


def column_labels(among: Sequence[Column]) -> list[Label]:
    """Return the labels below the columns of a chart."""
    count = len(among)
    found = [Label(charts.middle(at, count), among[at].label) for at in charts.labelled(count)]
    if count > MANY:
        found[-1] = Label(100, among[-1].label, "end")
    return found


def ticks_of(ticks: Iterable[charts.Tick], shown: Callable[[int], str]) -> list[tuple[float, str]]:
    """Return the lines of a scale as pairs: (height, label). `shown` turns a value into its label."""
    return [(tick.y, shown(tick.value)) for tick in ticks]
