"""The input of an entry is read through its field alone, which puts it together: here is who else names the column."""

import ast
from collections.abc import Iterator

from memoryhub.models import AuditEntry
from memoryhub.models.inputs import InputField, selected
from memoryhub.pure.text import kept_once
from tests.house.test_house import name_of, our_files

CONDITIONS = {
    "actions/core/audit/own_texts.py": "knows that a text may be in the version",
    "models/inputs.py": "is the field",
    "actions/retention/policies.py": "acts about a policy",
    "actions/transfer/exporting/entries.py": "an export of a person names a table",
    "actions/memories/viewing.py": "the settings of a memory store",
    "actions/webhooks/facts.py": "acts of people and of the hub",
    "web/retention/runs/rows.py": "an undo of a run",
    "web/sessions/undone.py": "an undo of a session",
    "web/transfer/imports/rows.py": "an undo of an import",
}
"""The modules with an expression or a condition on the column. It sees what is stored, which may lack a text."""

EXPRESSIONS = frozenset({"F", "Length", "StrIndex", "Substr", "Cast", "Coalesce", "Upper", "Lower", "OuterRef"})
RAW = ("e.input", "x.input", "auditentry.input", "select input", '"input"')


def uses(source: str) -> Iterator[str]:
    """What in a module is about the column itself, and not about the value that the field returns."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and (node.arg or "").startswith("input__"):
            yield f"{node.arg}="
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in EXPRESSIONS and any(isinstance(a, ast.Constant) and a.value == "input" for a in node.args):
                yield f"{name}(input)"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "auditentry" in node.value:
            yield from (raw for raw in RAW if raw in node.value)


def test_no_other_module_has_a_condition_on_the_column() -> None:
    files = our_files("memoryhub", "benchmarks", types=frozenset({".py"}))
    found = {name_of(path).removeprefix("memoryhub/"): list(uses(path.read_text(encoding="utf-8"))) for path in files}
    named = {name for name, what in found.items() if what}
    assert named == set(CONDITIONS), found


def test_the_search_finds_each_way_to_name_the_column() -> None:
    for source in (
        "rows.filter(input__contains=x)",
        'F("input")',
        'Length("input")',
        'Statement("select input from memoryhub_auditentry")',
    ):
        assert list(uses(source)), source
    assert not list(uses('rows.values_list("seq", "input")'))


def test_the_field_selects_what_belongs_to_the_input() -> None:
    assert isinstance(AuditEntry._meta.get_field("input"), InputField)
    text = selected("e")
    assert f"'{kept_once.MARK}'" in text and f"'{kept_once.BREAK}'" in text and "%" not in text
    assert str(AuditEntry.objects.values("input").query).count("memoryhub_memorytext") == 1
