"""Puts random texts into every place of a store in which somebody's text may stand."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.findings import findings, rules
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import policies
from memoryhub.actions.review import decisions
from memoryhub.actions.search import saved_views
from memoryhub.actions.stores import stores
from memoryhub.actions.transfer.exporting import entries
from memoryhub.models import (
    Door,
    Finding,
    FindingState,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryVersion,
    User,
)  # fmt: skip
from memoryhub.pure.sensitive import KINDS
from tests.redaction.texts import AWKWARD, WIDE, Source
from tests.support.write_guard import arranging
from tests.web.history.versions import Caller


@dataclass
class Planter:
    """A store, somebody who edits it and an agent that works in it; each method is a kind of place."""

    store: MemoryStore
    caller: Caller
    person: User
    source: Source

    def everywhere(self) -> None:
        rules.save_rules(self.store.pk, dict.fromkeys(KINDS, "off"), self.act())
        for plant in (
            self.heads, self.old_versions, self.paths, self.trash, self.refused, self.edits, self.reviews,
            self.sessions, self.tokens, self.large, self.settings, self.lists, self.moved, self.selections,
        ):  # fmt: skip
            plant()
        self.source.take("nowhere", 0)
        for number, text in enumerate(self.source.take("a head among others", 35)):
            self.create(f"/rest/{number % 7}/{number}.md", f"begin {text} end\n")
        self.caller.call("view", path="/memories")

    def act(self, note: str | None = None) -> Act:
        self.caller.at += timedelta(seconds=1)
        return Act(Actor.person(self.person), Door.WEB, self.caller.at, note=note)

    def create(self, path: str, text: str) -> Memory:
        return self.caller.create(path, text)

    # -------------------------------------------------------------------------------------------- memories

    def heads(self) -> None:
        for number, text in enumerate(self.source.take("a head", 40)):
            memory = self.create(f"/heads/{number}.md", f"one\n{text}\nthree {text}\n")
            self.caller.call("view", path=f"/memories{memory.path}", view_range=[1, 2])
        for number, text in enumerate(self.source.take("a head, not ASCII", 30, letters=WIDE)):
            self.create(f"/wide/{number}.md", f"{text}\n")
        for number, text in enumerate(self.source.take("a head, quoted", 20, letters=AWKWARD)):
            self.create(f"/quoted/{number}.md", f"begin\n{text}\n")
            self.caller.call("str_replace", path=f"/memories/quoted/{number}.md", old_str="begin", new_str="began")

    def old_versions(self) -> None:
        for number, text in enumerate(self.source.take("an old version", 50)):
            path = f"/old/{number % 5}/{number}.md"
            self.create(path, f"begin\n{text}\nend\n")
            self.caller.call("view", path=f"/memories{path}")
            self.caller.call("str_replace", path=f"/memories{path}", old_str=text, new_str="harmless")
        self.create("/log.md", "begin\n")
        for text in self.source.take("a line that came and stayed", 20):
            self.caller.call("insert", path="/memories/log.md", insert_line=1, insert_text=f"{text}\n")

    def paths(self) -> None:
        for text in self.source.take("a name", 30):
            self.create(f"/names/{text}.md", "harmless\n")
            self.caller.call("view", path=f"/memories/names/{text}.md")
        for text in self.source.take("a directory", 20):
            self.create(f"/places/{text}/inner/a.md", "harmless\n")
        for text in self.source.take("a name, not ASCII", 10, high=40, letters=WIDE):
            self.create(f"/names/{text}.md", "harmless\n")
        for number, text in enumerate(self.source.take("a name before", 15)):
            self.create(f"/names/{text}", "harmless\n")
            self.caller.call("rename", old_path=f"/memories/names/{text}", new_path=f"/memories/names/{number}")
        self.caller.call("view", path="/memories/names")
        self.caller.call("view", path="/memories/places")

    def trash(self) -> None:
        for number, text in enumerate(self.source.take("the trash", 15)):
            self.create(f"/trash/{number}.md", f"{text}\n")
            self.caller.delete(f"/trash/{number}.md")
        for text in self.source.take("a name in the trash", 10):
            self.create(f"/trash/{text}.md", "harmless\n")
            self.caller.delete(f"/trash/{text}.md")

    def large(self) -> None:
        for number, text in enumerate(self.source.take("a large head", 12, 3_000, 60_000)):
            self.create(f"/large/{number}.md", text)
        for number, text in enumerate(self.source.take("a large old version", 8, 3_000, 30_000)):
            memory = self.create(f"/large/old-{number}.md", text)
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            curation.edit(self.store.pk, memory.pk, "harmless\n", sha256, self.act())

    # -------------------------------------------------------------------------------------------- calls

    def refused(self) -> None:
        for text in self.source.take("a call that found nothing", 15):
            self.caller.call("str_replace", path="/memories/log.md", old_str=text, new_str="x")
        for text in self.source.take("a path that is not there", 15):
            self.caller.call("view", path=f"/memories/{text}")
        for text in self.source.take("a path that is none", 10):
            self.caller.call("create", path=f"/elsewhere/{text}", file_text="x")
        for text in self.source.take("an argument that nobody asked for", 5):
            self.caller.call("view", path="/memories", because=[{text: text}])
        for text in self.source.take("a command that there is not", 5):
            self.caller.call(text, path="/memories")

    def sessions(self) -> None:
        before = self.caller.session
        for text in self.source.take("a session", 15):
            self.caller.session = text
            self.caller.call("view", path="/memories/log.md")
        self.caller.session = before

    def tokens(self) -> None:
        for text in self.source.take("a token", 15):
            for _ in range(2):
                self.caller.call("view", id=f"toolu_{text}", path="/memories/log.md")
        for number, text in enumerate(self.source.take("a call that was repeated", 5)):
            for _ in range(2):
                self.caller.call(
                    "create", id=f"again_{number}", path=f"/memories/again/{number}.md", file_text=f"{text}\n"
                )

    # -------------------------------------------------------------------------------------------- people

    def edits(self) -> None:
        people = self.source.few(10)
        for number, text in enumerate(self.source.take("a person's edit", 10)):
            done = curation.create(self.store.pk, f"/people/{number}.md", "one\n", self.act())
            sha256 = hashlib.sha256(b"one\n").hexdigest()
            curation.edit(self.store.pk, str(done.memory), f"{text}\n", sha256, self.act())
        for number, text in enumerate(self.source.take("the note of an edit", 20)):
            here = f"/people/{number % people}.md"
            curation.rename(self.store.pk, here, "/people/moving.md", self.act(text))
            curation.rename(self.store.pk, "/people/moving.md", here, self.act())

    def reviews(self) -> None:
        notes = self.source.take("the note of a review", 20)
        half = len(notes) // 2
        waiting = MemoryVersion.objects.filter(store=self.store, review_state="unreviewed").order_by("seq")
        for version, text in zip(waiting[:half], notes[:half], strict=True):
            decisions.approve(self.store.pk, version.pk, self.act(text), earlier=0)
        memories = Memory.objects.live().filter(store=self.store, flagged=False).order_by("pk")[: len(notes) - half]
        for memory, text in zip(memories, notes[half:], strict=True):
            decisions.flag(self.store.pk, [memory.head_id], self.act(text))
        memory = Memory.objects.at("/log.md").get(store=self.store)
        for text in self.source.take("the note of a finding", 5):
            with arranging():
                found = Finding.objects.create(
                    id=f"find_{text[:20]}", store=self.store, memory=memory, version_id=memory.head_id, kind="email",
                    line=1, start=0, end=1, fingerprint=None, at=self.caller.at,
                )  # fmt: skip
            findings.decide(self.store.pk, [found.pk], FindingState.DISMISSED, text, self.act(text))

    def settings(self) -> None:
        for text in self.source.take("why something is pinned", 5):
            holds.place(self.store.pk, self.act(), kind=HoldKind.PIN, reason=text, path="/heads")
        for text in self.source.take("the case of a hold", 3):
            holds.place(self.store.pk, self.act(), kind=HoldKind.PIN, reason="why", path="/heads", case_number=text)
        for text in self.source.take("what is pinned", 3):
            holds.place(self.store.pk, self.act(), kind=HoldKind.PIN, reason="why", path=f"/places/{text}")
        for text in self.source.take("a policy", 5):
            settings = policies.PolicySettings(name=text, pattern=f"/{text[:8]}*", expire_unread_days=9_999)
            policies.save_policy(self.store.pk, settings, self.act())
        for text in self.source.take("a policy's pattern", 5):
            settings = policies.PolicySettings(name="Tidy up", pattern=f"/{text}/", expire_unread_days=9_999)
            policies.save_policy(self.store.pk, settings, self.act())
        (before, now) = self.source.take("what the store is about", 2)
        by: dict[str, Any] = {"actor": Actor.person(self.person), "door": Door.WEB}
        for text in (before, now):
            settings_of_store = stores.StoreSettings(name=self.store.name, description=f"About {text}.")
            stores.edit_store(self.store, settings_of_store, at=self.act().at, **by)

    def lists(self) -> None:
        for number, text in enumerate(self.source.take("a saved view's query", 5)):
            saved_views.save(
                self.person, self.store, "store_audit", f"View {number}", f"q=path%3A%2F{text}", self.act(),
                is_shared=bool(number % 2),
            )  # fmt: skip
        for text in self.source.take("a saved view's name", 5):
            saved_views.save(self.person, self.store, "store_audit", text, "", self.act(), is_shared=True)
        for text in self.source.take("the filter of an export", 5):
            entries.export_audit([self.store.pk], f"path:/{text}", "csv", self.act())

    def moved(self) -> None:
        for number, text in enumerate(self.source.take("a restored version", 5)):
            memory = self.create(f"/restored/{number}.md", f"{text}\n")
            first = memory.head_id
            self.caller.call("str_replace", path=f"/memories{memory.path}", old_str=text, new_str="gone")
            curation.restore(self.store.pk, first, self.act())

    def selections(self) -> None:
        for text in self.source.take("a directory that was moved", 5):
            self.create(f"/moving/{text}/a.md", "harmless\n")
            self.caller.call("rename", old_path=f"/memories/moving/{text}", new_path=f"/memories/moved/{text}")
