"""The spread of an undo as a drawing: memories with the removed lines, their readers, and what the readers wrote."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _, ngettext

from memoryhub.pure import charts
from memoryhub.web.common.acts import act_words
from memoryhub.web.undo.spread import Reader, Source, Spread, Written

MOST_WRITES = 4
"""The most writes that are drawn for one reader. If there are more, the last box has the number of the others."""

ROW, BOX = 48, 40


@dataclass(frozen=True, slots=True)
class Node:
    """A box of the drawing: its position, its two lines of text, and its kind, which determines its style."""

    x: float
    y: float
    name: str
    facts: str
    kind: str


@dataclass(frozen=True, slots=True)
class Edge:
    path: str
    is_ticked: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """The drawing of a spread. `hidden` counts the readers that are only in the list below the drawing."""

    height: float
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    hidden: int
    box: int = BOX
    width: float = charts.FLOW_WIDTH


@dataclass(frozen=True, slots=True)
class _Text:
    name: str
    facts: str
    kind: str


def drawn(spread: Spread) -> Graph:
    """Return the drawing of the readers that the page lists first."""
    readers = spread.first
    read = {read.source.memory for reader in readers for read in reader.reads}
    sources = [source for source in spread.sources if source.memory in read]
    places = {source.memory: number for number, source in enumerate(sources)}
    last = [_of_writes(reader) for reader in readers]
    middles = [
        ([places[read.source.memory] for read in reader.reads], len(of_reader))
        for reader, of_reader in zip(readers, last, strict=True)
    ]
    flow = charts.flow(len(sources), middles, ROW, BOX)
    texts = (
        [_of_source(source, readers) for source in sources],
        [_of_reader(reader) for reader in readers],
        [text for of_reader in last for text in of_reader],
    )
    nodes = [
        Node(charts.FLOW_X[column], top, text.name, text.facts, text.kind)
        for column, of_column in enumerate(texts)
        for top, text in zip(flow.tops[column], of_column, strict=True)
    ]
    edges = [Edge(path, end[0] == 2 and texts[2][end[1]].kind == "too") for _start, end, path in flow.edges]
    return Graph(flow.height, nodes, edges, len(spread.readers) - len(readers) + spread.rest)


def _of_source(source: Source, readers: Sequence[Reader]) -> _Text:
    """Return the text in the box of a memory: its name, and the lines that were read, if all readers read the same
    lines."""
    seen = {(read.first, read.last) for reader in readers for read in reader.reads if read.source == source}
    (first, last), *other = sorted(seen)
    facts = _("lines %(first)s to %(last)s") if last != first else _("line %(first)s")
    if other:
        facts = _("lines in several places")
    return _Text(source.path.rpartition("/")[2], facts % {"first": first, "last": last}, "source")


def _of_reader(reader: Reader) -> _Text:
    agent = reader.group.last.label or _("unknown")
    session = reader.group.session
    return _Text(session.name if session else agent, agent if session else _("without a session"), "reader")


def _of_writes(reader: Reader) -> list[_Text]:
    written = reader.written
    if len(written) <= MOST_WRITES:
        return [_of_write(each) for each in written]
    rest = len(written) - MOST_WRITES + 1
    more = ngettext("and %(count)s more", "and %(count)s more", rest) % {"count": rest}
    return [*(_of_write(each) for each in written[: MOST_WRITES - 1]), _Text(more, _("in the list"), "more")]


def _of_write(written: Written) -> _Text:
    kind, facts = "write", act_words(written.write.command)
    if written.too:
        kind, facts = "too", _("undone too")
    elif written.flag:
        kind, facts = "flag", _("flagged for review")
    elif written.is_reverted:
        facts = _("already reverted")
    elif written.is_elsewhere:
        facts = _("in %(store)s") % {"store": written.write.store.name}
    return _Text(written.path.rpartition("/")[2] or "/", facts, kind)
