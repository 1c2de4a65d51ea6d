"""As many path rules as a memory store may have: at a lower limit, since a form of a hundred takes long to show."""

import pytest

from memoryhub.models import MemoryStore, User
from memoryhub.pure import path_rules
from memoryhub.web.path_rules import edit, forms
from tests.support.fixtures import signed_in
from tests.web.path_rules.test_path_rules import editor, form, patterns, row, rules_of, tried_and_saved

pytestmark = pytest.mark.django_db

MOST = 10


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (path_rules, forms, edit):
        monkeypatch.setattr(module, "MOST_RULES", MOST)
    monkeypatch.setattr(forms, "MOST_ROWS", 2 * MOST)
    monkeypatch.setattr(forms.PathRuleRows, "max_num", MOST)
    monkeypatch.setattr(forms.PathRuleRows, "absolute_max", 2 * MOST)


def test_more_rules_than_there_may_be_are_not_tried(store: MemoryStore, alice: User) -> None:
    many = form(signed_in(alice), store, "try", *[row("/a/")] * (MOST + 1))
    assert many.status_code == 200 and "What these rules would have done" not in many.content.decode()
    assert rules_of(store) == []


def test_as_many_rules_as_there_may_be_are_saved_and_one_more_drops_none(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    whole = {"only_if": "", "until": ""}
    assert tried_and_saved(client, store, *(row(f"/{n}/", **whole) for n in range(MOST))).status_code == 303
    assert len(rules_of(store)) == MOST
    opened = client.get(f"{editor(store)}?allow=/tickets/")
    shown = patterns(opened)
    assert shown == ["/tickets/", *(f"/{n}/" for n in range(MOST))]
    assert f"at most {MOST} rules" in opened.content.decode()
    rows, seen = [row(pattern, **whole) for pattern in shown], {"seen": opened.context["seen"]}
    assert f"at most {MOST} rules" in form(client, store, "save", *rows, **seen).content.decode()
    assert patterns(form(client, store, "remove-1", *rows)) == [shown[0], *shown[2:]]
    assert [rule["pattern"] for rule in rules_of(store)] == shown[1:]
