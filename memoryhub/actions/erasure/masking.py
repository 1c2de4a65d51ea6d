"""Masks texts in a locked store, in every place where the search found them."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import own_texts
from memoryhub.actions.core.audit.evidence import Evidence, forget_answers, replace_field
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.erasure import places
from memoryhub.actions.erasure.places import REDACTED, Place, Terms
from memoryhub.actions.erasure.redaction import end_findings, mark
from memoryhub.models import (
    AuditEntry,
    Finding,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    SavedView,
    Session,
)
from memoryhub.pure import ids
from memoryhub.pure.path_rules import LONGEST_REASON, of_json
from memoryhub.pure.protocol import paths


class Hit(Protocol):
    """One value that the search found, as in `erasure.Hit`."""

    @property
    def kind(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def memory(self) -> str | None: ...
    @property
    def what(self) -> str: ...


class Erasing:
    """One act of erasure. Live memories get a new version without the texts; older rows are masked in place."""

    def __init__(self, store: Tree, terms: Terms) -> None:
        marks = places.stand_ins(store.store, terms.texts)
        self.store, self.terms = store, Terms(terms.texts, places.named(store.store), marks)
        self.evidence = Evidence(store)

    def everywhere(self, hits: Sequence[Hit]) -> tuple[str, ...]:
        """Mask every hit and return the commitments for the entry. Imports with a hit were cancelled before."""
        of_memories = {hit.memory for hit in hits if hit.kind in ("text", "path") and hit.memory}
        for memory in sorted(of_memories):
            self._newest(memory)
        self._versions([hit for hit in hits if hit.kind in ("text", "path")])
        self._entries([hit for hit in hits if hit.kind == "entry"])
        for place in (*places.PLAIN, *places.PLAIN_JSON):
            self._rows(place)
        self._path_rules()
        self._sessions([hit.id for hit in hits if hit.kind == "session"])
        self._views([hit.id for hit in hits if hit.kind == "view"])
        return self.evidence.write()

    # -------------------------------------------------------------------------------------------- memories

    def _newest(self, memory_id: str) -> None:
        """Mask a live memory's path and text, each in a new version. For a memory in the trash, mask its path
        in place."""
        memory = tree.memory_by_id(self.store, memory_id)
        if memory is None:
            self._in_trash(memory_id)
            return
        content, path = self.terms.masked(memory.content), self.terms.masked_path(memory.path)
        if path != memory.path:
            tree.move_memory(self.store, memory, path)
            memory = tree.memory_by_id(self.store, memory_id)
            assert memory is not None  # it was there a statement ago, and the store is locked
        if content != memory.content:
            tree.write_text(self.store, memory, content)

    def _in_trash(self, memory_id: str) -> None:
        memory = Memory.objects.filter(store_id=self.store.store, pk=memory_id).first()
        if memory is not None:
            path = self.terms.masked_path(memory.path)
            Memory.objects.filter(store_id=self.store.store, pk=memory_id).update(path=path, name=paths.name(path))

    # -------------------------------------------------------------------------------------------- versions

    def _versions(self, hits: Sequence[Hit]) -> None:
        """Mask the texts and paths of versions in place, and record evidence of what they contain afterwards."""
        texts = {hit.id for hit in hits if hit.kind == "text"}
        self._findings_in_paths({hit.memory for hit in hits if hit.kind == "path" and hit.memory})
        found = {version.pk: version for version in self._of_texts(hits, texts)}
        by_path = [hit.id for hit in hits if hit.kind == "path" and hit.id.startswith(ids.MEMORY_VERSION)]
        for part in in_parts(by_path):
            for version in MemoryVersion.objects.among(self.store.store, part):
                found.setdefault(version.pk, version)
        versions = sorted(found.values(), key=lambda version: version.pk)
        forget_answers(self.store, versions, {version.pk: version.path for version in versions})
        own_texts.copy_back(self.store.store, (version.seq for version in versions))
        masked = self._mask_texts(texts)
        for version in versions:
            self._version(version, masked)
        for memory, text in Memory.objects.among(self.store.store, {v.memory_id for v in versions}).values_list(
            "pk", "text_id"
        ):
            if text in masked:
                sha256, size, _ = masked[text]
                Memory.objects.filter(store_id=self.store.store, pk=memory).update(sha256=sha256, size=size)

    def _of_texts(self, hits: Sequence[Hit], texts: set[str]) -> Iterator[MemoryVersion]:
        memories = {hit.memory for hit in hits if hit.id in texts}
        for part in in_parts(sorted(memory for memory in memories if memory)):
            versions = MemoryVersion.objects.filter(store_id=self.store.store, memory_id__in=part)
            yield from (version for version in versions if version.text_id in texts)

    def _mask_texts(self, texts: Iterable[str]) -> dict[str, tuple[str, int, str]]:
        """Mask each text; return {id of a text: its new (SHA-256, size, content)}."""
        masked: dict[str, tuple[str, int, str]] = {}
        for part in in_parts(sorted(texts)):
            for text in MemoryText.objects.filter(store_id=self.store.store, pk__in=part):
                content = self.terms.masked(text.content)
                encoded = content.encode("utf-8", "surrogatepass")
                masked[text.pk] = (hashlib.sha256(encoded).hexdigest(), len(encoded), content)
                self._findings(text, content)
                MemoryText.objects.filter(store_id=self.store.store, pk=text.pk).update(content=content)
        return masked

    def _version(self, version: MemoryVersion, masked: dict[str, tuple[str, int, str]]) -> None:
        if version.text_id in masked:
            version.sha256, version.size, _ = masked[str(version.text_id)]
        if version.path is not None:
            version.path = self.terms.masked_path(version.path)
        mark(self.store, version, whole=False)
        self.evidence.of_version(version)

    def _findings_in_paths(self, memories: Iterable[str]) -> None:
        """Call `_follow` for each finding in a path of these memories, with the path before and after the masking."""
        store = self.store.store
        for part in in_parts(sorted(memories)):
            found = list(Finding.objects.filter(store_id=store, memory_id__in=part, in_path=True))
            versions = MemoryVersion.objects.among(store, {finding.version_id for finding in found})
            at = {version.pk: version.path or "" for version in versions}
            for finding in found:
                path = at.get(finding.version_id, "")
                self._follow(finding, path, self.terms.masked_path(path))

    def _findings(self, text: MemoryText, content: str) -> None:
        """Resolve the findings whose value is no longer in a text, and store the new positions of the text's other
        findings."""
        versions = MemoryVersion.objects.filter(store_id=text.store_id, memory_id=text.memory_id, text_id=text.pk)
        found = Finding.objects.of_memory(text.store_id, text.memory_id).filter(version_id__in=versions.values("pk"))
        for finding in found.filter(in_path=False):
            self._follow(finding, text.content, content)

    def _follow(self, finding: Finding, before: str, after: str) -> None:
        """Store where a finding is in the masked text or path `after`, or resolve it if its value is not there."""
        value = before[finding.start : finding.end]
        start = after.find(value) if value else -1
        if start < 0:
            end_findings(self.store, [finding])
        else:
            of_store = Finding.objects.of_store(self.store.store)
            of_store.filter(pk=finding.pk).update(start=start, end=start + len(value))

    # -------------------------------------------------------------------------------------------- other rows

    def _entries(self, hits: Sequence[Hit]) -> None:
        columns: dict[int, list[str]] = {}
        for hit in hits:
            columns.setdefault(int(hit.id), []).append(hit.what)
        for part in in_parts(sorted(columns)):
            for entry in AuditEntry.objects.of_chain(self.store.store).of_seqs(part).oldest():
                for column in columns[entry.seq]:
                    if getattr(entry, column) is None:
                        continue  # redacted after the search
                    replace_field(self.evidence, entry, column, self._masked(getattr(entry, column), column))

    def _masked(self, value: str, column: str) -> str:
        if column in places.ENTRY_JSON:
            return self.terms.masked_json(value)
        return self.terms.masked_path(value) if column in ("path", "new_path") else self.terms.masked(value)

    def _rows(self, place: Place) -> None:
        """Mask the columns of one of the small tables."""
        for row, column in list(place.having(self.store.store, self.terms)):
            rows = place.rows(self.store.store).filter(pk=row.pk)
            value = getattr(row, column)
            if place.kind == "call":
                rows.update(token=f"{REDACTED}{ids.new_id('', self.store.at)}")
            elif place.escaped:
                rows.update(**{column: self.terms.masked_values(value)})
            else:
                is_place = column in ("path", "new_path", "pattern", "place")
                masked = self.terms.masked_path(value) if is_place else self.terms.masked(value)
                rows.update(**{column: masked[: row._meta.get_field(column).max_length]})  # else PostgreSQL refuses it

    def _path_rules(self) -> None:
        """Mask the reasons and patterns of path rules; each rule still applies to the same memories."""
        for row in places.path_rules(self.store.store, self.terms):
            rules = [
                replace(
                    rule,
                    pattern=self.terms.masked_path(rule.pattern),
                    reason=self.terms.masked(rule.reason)[:LONGEST_REASON],
                ).as_json()
                for rule in of_json(row.path_rules).rules
            ]
            MemoryStore.objects.filter(pk=row.pk).update(path_rules=rules)

    def _sessions(self, found: Sequence[str]) -> None:
        for session in found:
            Session.objects.filter(pk=session).update(name=f"{REDACTED}{session}")

    def _views(self, found: Sequence[str]) -> None:
        for view in SavedView.objects.filter(pk__in=found):
            name = self.terms.masked(view.name)
            if name != view.name:
                name = f"{REDACTED} {view.pk[-6:]}"
            SavedView.objects.filter(pk=view.pk).update(name=name, query="")
