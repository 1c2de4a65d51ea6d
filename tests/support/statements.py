"""What is wrong with an SQL statement on large tables: that it does not name the memory store of each of them.

A large table's store column has to equal a value, be one of given values, or equal the store column of another table in
the statement of which the same is true; large tables that are joined have to be joined on it, too; and no update writes
it. A subquery may equate with the statement around it, also with a row of a small table there.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import sqlglot
from sqlglot import exp

Column = tuple[str, str]
"""The name under which a statement knows a table, and a column of it."""

_HASH = sha256().digest_size
_READS_OR_CHANGES = re.compile(r"[\s(]*(select|with|update|delete|insert)\b", re.IGNORECASE)
_LISTS = re.compile(r"\b(IN) \(0(?:, ?0)+\)", re.IGNORECASE)
_ROWS = re.compile(r"(\(0(?:, ?0)*\))(?:, ?\(0(?:, ?0)*\))+")
_NUMBERS = re.compile(r"\b(LIMIT|OFFSET) \d+", re.IGNORECASE)


def shape_of(statement: str) -> str:
    """A statement without its values: of however many that are listed, inserted or bounded, one is left."""
    shape = statement.replace("%s", "0").replace("?", "0").replace("%%", "%")
    return _NUMBERS.sub(r"\1 1", _LISTS.sub(r"\1 (0)", _ROWS.sub(r"\1", shape)))


def asks_for_rows(statement: str) -> bool:
    """Whether it reads or changes rows, as no transaction, setting or table does."""
    return _READS_OR_CHANGES.match(statement) is not None


class Facts:
    """What the conditions of one statement say about columns: which have given values, and which equal each other."""

    def __init__(self) -> None:
        self.given: set[Column] = set()
        self.small: set[str] = set()
        self._group: dict[Column, Column] = {}

    def equate(self, one: Column, other: Column) -> None:
        self._group[self.group(one)] = self.group(other)

    def group(self, column: Column) -> Column:
        while column in self._group:
            column = self._group[column]
        return column

    def known(self) -> set[Column]:
        return self.given | self._group.keys() | set(self._group.values())

    def all_given(self) -> set[Column]:
        return {column for column in self.known() if self.is_given(column)}

    def is_given(self, column: Column) -> bool:
        return self.group(column) in {self.group(known) for known in self.given}


class Checker:
    """Reads statements in one dialect; `stores` is the store column of each large table.

    Processes that share the file `right` write the hash of each shape without a mistake into it, and parse it once.
    """

    def __init__(self, stores: Mapping[str, str], dialect: str, right: Path | None = None) -> None:
        self.stores, self.dialect, self.right = dict(stores), dialect, right
        self._known: set[bytes] = set()
        self._read = 0
        self._large = re.compile("|".join(map(re.escape, self.stores)))
        self.problems = lru_cache(maxsize=50_000)(self._problems)
        self._of_shape = lru_cache(maxsize=20_000)(self._examined)

    def _problems(self, statement: str) -> tuple[str, ...]:
        """One sentence a mistake; none of a statement that has nothing to do with large tables."""
        if not self._large.search(statement) or not asks_for_rows(statement):
            return ()
        return self._of_shape(shape_of(statement))

    def _examined(self, shape: str) -> tuple[str, ...]:
        if self.right is None:
            return self._parsed(shape)
        name = sha256(shape.encode()).digest()
        if name in self._known or name in self._hashes_in(self.right):
            return ()
        problems = self._parsed(shape)
        if not problems:
            with self.right.open("ab", buffering=0) as file:  # one write at the end: no other process comes between
                file.write(name)
        return problems

    def _hashes_in(self, right: Path) -> set[bytes]:
        """The hashes that are in the file by now."""
        with suppress(FileNotFoundError), right.open("rb") as file:
            file.seek(self._read)
            more = file.read()
            self._known.update(more[start : start + _HASH] for start in range(0, len(more), _HASH))
            self._read += len(more)
        return self._known

    def _parsed(self, shape: str) -> tuple[str, ...]:
        tree = sqlglot.parse_one(shape, dialect=self.dialect)
        return tuple(dict.fromkeys(self._query(tree, Facts())))

    def _query(self, query: exp.Expression, around: Facts) -> Iterator[str]:
        """The mistakes of one query and of those in it; `around` is what the query around it has found out."""
        if isinstance(query, exp.Insert | exp.SetOperation | exp.Subquery) or not _has_rows(query):
            for inner in _inner_queries(query):
                yield from self._query(inner, around)
            return
        tables = dict(_tables(query))
        facts = _facts(query, tables, around)
        facts.small = (around.small - tables.keys()) | {name for name, own in tables.items() if own not in self.stores}
        large = [(name, self.stores[table]) for name, table in tables.items() if table in self.stores]
        for name, column in large:
            if not facts.is_given((name, column)):
                yield f"{tables[name]} without its store"
        for one, other in pairwise(large):
            if facts.group(one) != facts.group(other):
                yield f"{tables[one[0]]} and {tables[other[0]]} joined without equating their stores"
        if isinstance(query, exp.Update):
            yield from self._assigned(query)
        for inner in _inner_queries(query):
            yield from self._query(inner, facts)

    def _assigned(self, update: exp.Update) -> Iterator[str]:
        table = update.this.name
        if any(self.stores.get(table) == assignment.this.name for assignment in update.expressions):
            yield f"{table} gets another store"


def _facts(query: exp.Expression, tables: Mapping[str, str], around: Facts) -> Facts:
    facts = Facts()  # a name of this query hides one of the query around it
    facts.given = {column for column in around.all_given() if column[0] not in tables}
    for condition in _conditions(query):
        _learn(condition, facts, next(iter(tables), ""))
    facts.given |= {column for column in facts.known() if column[0] in around.small - tables.keys()}
    return facts


def _learn(condition: exp.Expression, facts: Facts, only: str) -> None:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        for part in condition.flatten():
            _learn(part, facts, only)
    elif isinstance(condition, exp.Or):
        _learn_either(condition, facts, only)
    elif isinstance(condition, exp.EQ | exp.Is):
        _learn_equal(condition.this.unnest(), condition.expression.unnest(), facts, only)
    elif isinstance(condition, exp.In) and not condition.args.get("query"):
        values = condition.expressions
        if isinstance(condition.this, exp.Column) and all(map(_is_value, values)):
            facts.given.add(_column(condition.this, only))
        elif isinstance(condition.this, exp.Tuple) and all(
            _is_value(value) for row in values for value in row.expressions
        ):
            facts.given |= {_column(part, only) for part in condition.this.expressions if isinstance(part, exp.Column)}


def _learn_either(condition: exp.Or, facts: Facts, only: str) -> None:
    """Of alternatives only what each of them says."""
    each = []
    for part in condition.flatten():
        own = Facts()
        _learn(part, own, only)
        each.append(own.given)
    facts.given |= set.intersection(*each)


def _learn_equal(one: exp.Expression, other: exp.Expression, facts: Facts, only: str) -> None:
    if isinstance(one, exp.Tuple) and isinstance(other, exp.Tuple):
        for left, right in zip(one.expressions, other.expressions, strict=True):
            _learn_equal(left, right, facts, only)
        return
    if isinstance(other, exp.Column):
        one, other = other, one
    if not isinstance(one, exp.Column):
        return
    if isinstance(other, exp.Column):
        facts.equate(_column(one, only), _column(other, only))
    elif _is_value(other):
        facts.given.add(_column(one, only))


def _is_value(node: exp.Expression) -> bool:
    return not any(node.find_all(exp.Column, exp.Select))


def _column(column: exp.Column, only: str) -> Column:
    return column.table or only, column.name


def _has_rows(query: exp.Expression) -> bool:
    return isinstance(query, exp.Select | exp.Update | exp.Delete)


def _tables(query: exp.Expression) -> Iterator[tuple[str, str]]:
    """The tables that a query names itself: what it calls them, and their own names."""
    for node in _sources(query):
        if isinstance(node, exp.Table):
            yield node.alias_or_name, node.name


def _sources(query: exp.Expression) -> Iterator[exp.Expression]:
    first = query.args.get("from_") or query.args.get("from")
    if isinstance(query, exp.Update | exp.Delete):
        yield query.this
        yield from query.args.get("using") or ()
    if first is not None:
        yield first.this
        yield from (join.this for join in first.this.args.get("joins") or ())
    yield from (join.this for join in query.args.get("joins") or ())


def _conditions(query: exp.Expression) -> Iterator[exp.Expression]:
    if where := query.args.get("where"):
        yield where.this
    first = query.args.get("from_") or query.args.get("from")
    joins = [*(query.args.get("joins") or ()), *((first and first.this.args.get("joins")) or ())]
    yield from (join.args["on"] for join in joins if join.args.get("on"))


def _inner_queries(query: exp.Expression) -> Iterator[exp.Expression]:
    """The queries right within a query, not those within them."""
    for child in query.iter_expressions():
        if isinstance(child, exp.Select | exp.SetOperation):
            yield child
        else:
            yield from _inner_queries(child)
