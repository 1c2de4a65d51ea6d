"""The button of an undo says what the undo does: a random walk of previews, of choices in them, and of undos."""

import random
import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Session, User
from memoryhub.web.undo.form import CHOICE, LEAVE_OUT
from tests.support.fixtures import signed_in
from tests.support.long import tried
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

PATHS = ("/a.md", "/b.md", "/c/d.md", "/c/e.md", "/f.md")
WORDS = ("one", "two", "three", "four")
SAID = re.compile(r"Undo changes in (\d+) memor")
DID = re.compile(r"Undid changes in (\d+) memor")
FLAGS, FLAGGED = re.compile(r"[Ff]lag (\d+) memor"), re.compile(r"Flagged (\d+) memor")


def number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0


class Walk:
    """A store in which three sessions and a person write at random, and a person undoes at random."""

    def __init__(self, seed: int, store: MemoryStore, key: str, person: User) -> None:
        self.chance, self.store, self.caller, self.person = random.Random(seed), store, Caller(store, key), person
        self.client, self.undone = signed_in(person), 0

    def write(self) -> None:
        self.caller.session = self.chance.choice(("first", "second", "third", None))
        path, to = self.chance.choice(PATHS), self.chance.choice(PATHS)
        old, new = self.chance.choice(WORDS), self.chance.choice(WORDS)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("create", {"path": f"/memories{path}", "file_text": "".join(f"{word}\n" for word in WORDS)}),
            ("str_replace", {"path": f"/memories{path}", "old_str": f"{old}\n", "new_str": f"{new} {new}\n"}),
            ("insert", {"path": f"/memories{path}", "insert_line": self.chance.randint(0, 3), "insert_text": new}),
            ("delete", {"path": f"/memories{path}"}),
            ("rename", {"old_path": f"/memories{path}", "new_path": f"/memories{to}"}),
            ("view", {"path": f"/memories{path}"}),
        ]
        command, given = self.chance.choices(calls, (3, 5, 3, 1, 1, 3))[0]
        self.caller.call(command, **given)

    def address(self) -> str:
        sessions = list(Session.objects.order_by("name"))
        versions = list(MemoryVersion.objects.filter(store=self.store).order_by("seq", "path").values_list("pk", "seq"))
        version, seq = self.chance.choice(versions)
        choices = [
            reverse("undo_session", args=[self.store.pk, self.chance.choice(sessions).pk]),
            reverse("undo_version", args=[self.store.pk, version]),
            reverse("undo_entry", args=[self.store.pk, seq]),
        ]
        return self.chance.choice(choices)

    def choices(self, page: Any) -> dict[str, Any]:
        """What a person chooses in a preview: what to leave, what becomes of conflicts, and what readers wrote."""
        given: dict[str, Any] = {LEAVE_OUT: [], "shown": ""}
        for change in sorted(page.context["plan"].changes, key=lambda one: one.path):
            if change.problem:
                given[f"{CHOICE}{change.memory}"] = self.chance.choice(change.choices).value
            elif self.chance.random() < 0.2:
                given[LEAVE_OUT].append(change.memory)
        spread = page.context["spread"]
        for reader in spread.readers if spread else ():
            for written in reader.written:
                if written.may_tick:
                    given[f"then-{written.write.seq}"] = self.chance.choice(("too", "flag", "leave", "leave"))
        return given

    def undo(self) -> None:
        """Choose in a preview, look at the page with the choices, press its button, and compare."""
        address = self.address()
        first = self.client.get(address)
        page = self.client.get(address, self.choices(first) | {"shown": ""})
        html = page.content.decode()
        if "data-undo-button" not in html:
            return
        button = unescape(re.search(r"<span data-undo-label>([^<]*)</span>", html)[1])  # type: ignore[index]
        before = self.state()
        last = AuditEntry.objects.of_chain(self.store.pk).newest()[0].seq
        done = self.client.post(address, form_with(html, "digest") | self.sent(page), follow=True)
        text = " ".join(unescape(re.sub(r"<[^>]*>", " ", done.content.decode())).split())
        after = self.state()
        refusals = re.findall(r'role="alert">.*?</div>', done.content.decode(), re.DOTALL)
        if number(SAID, button) == 0 and number(FLAGS, button) == 0:
            assert after == before, button
            return
        if refusals and self.is_chosen(page):
            # Two choices can want one path, such as a memory that is left where another one returns to.
            assert "is already at" in refusals[0] and after == before, refusals
            return
        made = MemoryVersion.objects.filter(store=self.store, seq__gt=last)
        changed = {pk for pk in after if after[pk][0] != before.get(pk, (None,))[0]}
        flagged = {pk for pk in after if after[pk][1] and not before[pk][1]}
        assert number(SAID, button) == number(DID, text) == len(changed) == made.count(), (button, refusals)
        assert number(FLAGS, button) == number(FLAGGED, text) == len(flagged), (button, text[:400])
        self.undone += 1

    def is_chosen(self, page: Any) -> bool:
        """Whether something else than what the page proposes is chosen."""
        given = page.context["given"]
        return any(given.choice(change) != change.choices[0] for change in page.context["plan"].changes)

    def sent(self, page: Any) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for change in page.context["plan"].changes:
            choice = page.context["given"].choice(change).value
            if change.problem:
                given[f"{CHOICE}{change.memory}"] = choice
            elif choice == "keep":
                given.setdefault(LEAVE_OUT, []).append(change.memory)
        spread = page.context["spread"]
        for reader in spread.readers if spread else ():
            for one in reader.written:
                if one.may_tick:
                    given[f"then-{one.write.seq}"] = "too" if one.too else "flag" if one.flag else "leave"
        return given

    def state(self) -> dict[str, tuple[str, bool]]:
        rows = Memory.objects.filter(store=self.store).values_list("pk", "head_id", "flagged")
        return {pk: (head, flagged) for pk, head, flagged in rows}


@pytest.mark.push
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_the_button_says_how_many_memories_an_undo_changes_and_flags(
    store: MemoryStore, key: str, alice: User, seed: int
) -> None:
    walk = Walk(seed, store, key, alice)
    for _ in range(25):
        walk.write()
    for _ in range(tried(100, 8)):
        walk.write()
        walk.undo()
    assert walk.undone > 1
