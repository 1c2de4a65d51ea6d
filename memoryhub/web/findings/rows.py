"""The rows of the list of findings: the line with a finding, who wrote it, and which versions contain the value."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memoryhub.actions.core.rules.holds import holds_of
from memoryhub.models import (
    AuditEntry,
    Finding,
    FindingState,
    Hold,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Role,
    Session,
    User,
)
from memoryhub.pure.sensitive import Group
from memoryhub.web.audit.sentences import told_of
from memoryhub.web.common import pages
from memoryhub.web.common.texts import kinds
from memoryhub.web.common.texts.highlights import excerpt
from memoryhub.web.common.versions import origins
from memoryhub.web.common.versions.origins import Origin
from memoryhub.web.review.items import roles_in

MOST_BYTES = 2_000_000
"""The most bytes of text that are read for one page. Further findings are shown without an excerpt."""
MOST_VERSIONS = 50
"""To find the last version with a value, at most this many versions after the finding's own version are searched."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The versions that contain a value: `first` to `last`."""

    newest: bool  # `last` is the newest version
    first: int
    last: int
    more: bool = False  # later versions may contain the value, too


@dataclass(frozen=True, slots=True)
class Item:
    """A finding as a row."""

    finding: Finding
    store: MemoryStore
    memory: Memory
    version: MemoryVersion | None
    group: Group
    label: str
    icon: str
    shown: SafeString | None  # None if the text no longer exists or was not read
    entry: AuditEntry | None  # the entry that made or imported the version
    origin: Origin | None  # the author of an imported version
    session: str | None
    standing: Standing | None  # the versions known to contain the value
    may_decide: bool
    may_erase: bool
    frozen: Hold | None  # the legal hold that forbids changes
    url: str
    closer: AuditEntry | None  # the entry of the act that removed the text

    @property
    def may_edit(self) -> bool:
        return self.memory.is_live and not self.store.is_archived and self.frozen is None

    @property
    def may_take_out(self) -> bool:
        """Return whether the person may remove the lines with the value from the memory."""
        return self.may_decide and self.is_open and self.may_edit and not self.finding.in_path

    def is_in(self, version: MemoryVersion) -> bool:
        """Return whether a version of the memory contains the value, as far as is known."""
        if version.pk == self.finding.version_id:
            return True
        return self.standing is not None and self.standing.first <= version.number <= self.standing.last

    @property
    def says(self) -> str:
        return kinds.says(self.finding.kind)

    @property
    def group_words(self) -> str:
        return str(kinds.GROUP_WORDS[self.group])

    @property
    def place(self) -> str:
        return place_words(self)

    @property
    def is_open(self) -> bool:
        return self.finding.state == FindingState.OPEN


def in_rows(items: Iterable[Item]) -> Iterator[tuple[str, str, str]]:
    """Yield (store, memory, version) of the versions whose lines the items show."""
    for item in items:
        if item.shown is not None and not item.finding.in_path:
            yield item.store.pk, item.memory.pk, item.finding.version_id


def items_of(ids: Sequence[str], user: User, at: datetime) -> list[Item]:
    """Return the items of the findings with these `ids`, in this order. Findings of memories that were just removed are
    left out."""
    found = {f.pk: f for f in Finding.objects.filter(pk__in=ids).select_related("store", "decided_by")}
    findings = [found[id] for id in ids if id in found]
    stores = {finding.store_id for finding in findings}
    memories = Memory.objects.filter(store_id__in=stores).in_bulk({finding.memory_id for finding in findings})
    findings = [finding for finding in findings if finding.memory_id in memories]
    versions = MemoryVersion.objects.filter(store_id__in=stores).in_bulk({finding.version_id for finding in findings})
    texts = _Texts()
    texts.read(versions[f.version_id] for f in findings if f.version_id in versions)
    standing = _standing(findings, memories, versions, texts)
    entries, imported = _entries(findings, versions), origins.of_versions(versions.values())
    closers = _closers(findings)
    named = {entry.session for entry in entries.values() if entry.session}
    sessions = dict(Session.objects.filter(pk__in=named).values_list("id", "name"))
    roles = roles_in(user, stores)
    held = {store: holds_of(store, at) for store in stores}
    items = []
    for finding in findings:
        version = versions.get(finding.version_id)
        entry = entries.get((finding.store_id, version.seq)) if version else None
        role = roles.get(finding.store_id, Role.VIEWER)
        memory = memories[finding.memory_id]
        frozen = held[finding.store_id].stops_changes(memory.pk, memory.path)
        items.append(Item(
            finding=finding, store=finding.store, memory=memory, version=version,
            group=kinds.group_of(finding.kind), label=kinds.label(finding.kind),
            icon=kinds.icon_of(finding.kind), shown=_shown(finding, version, texts), entry=entry,
            origin=imported.get(finding.version_id),
            session=sessions.get(entry.session or "", entry.session) if entry else None,
            standing=standing.get(finding.pk), may_decide=user.is_superuser or role.includes(Role.CURATOR),
            may_erase=user.is_superuser or role.includes(Role.ADMIN), frozen=frozen,
            url=_url(finding, standing.get(finding.pk)), closer=closers.get(finding.pk),
        ))  # fmt: skip
    return items


def _url(finding: Finding, standing: Standing | None) -> str:
    """Return the URL of the line with the finding, on the page of the memory or of a version."""
    if standing is not None and standing.newest and standing.first == standing.last:
        return f"{reverse('memory', args=[finding.store_id, finding.memory_id])}#L{finding.line}"
    return f"{reverse('version', args=[finding.store_id, finding.version_id])}#L{finding.line}"


def _shown(finding: Finding, version: MemoryVersion | None, texts: "_Texts") -> SafeString | None:
    text = (version.path if finding.in_path else texts.of(version)) if version else None
    if text is None or finding.fingerprint is None or finding.end > len(text):
        return None
    return excerpt(text, finding.start, finding.end, finding.kind)


def _entries(findings: Iterable[Finding], versions: Mapping[str, MemoryVersion]) -> dict[tuple[str, int], AuditEntry]:
    """Return {(store, seq): entry} for the entries that made the versions of the findings."""
    by_store: dict[MemoryStore, set[int]] = {}
    for finding in findings:
        if finding.version_id in versions:
            by_store.setdefault(finding.store, set()).add(versions[finding.version_id].seq)
    by_place: dict[tuple[str, int], AuditEntry] = {}
    for store, seqs in by_store.items():
        by_place |= {(store.pk, seq): entry for seq, entry in pages.entries(store, *seqs).items()}
    return by_place


def _closers(findings: Iterable[Finding]) -> dict[str, AuditEntry]:
    """Return {finding id: entry of the act that removed the value} for the findings that the hub resolved."""
    by_store: dict[MemoryStore, dict[str, int]] = {}
    for finding in findings:
        if finding.state == FindingState.RESOLVED and finding.decided_seq and finding.decided_by_id is None:
            by_store.setdefault(finding.store, {})[finding.pk] = finding.decided_seq
    found: dict[str, AuditEntry] = {}
    for store, decided in by_store.items():
        entries = AuditEntry.objects.of_chain(store.pk).of_seqs(set(decided.values()))
        inputs = dict(entries.filter(command="resolve_finding").values_list("seq", "input"))
        acts = {seq: told_of(input).get("entry") for seq, input in inputs.items()}
        known = pages.entries(store, *(act for act in acts.values() if isinstance(act, int)))
        found |= {pk: known[act] for pk, seq in decided.items() if (act := acts.get(seq)) in known}
    return found


# ------------------------------------------------------------------------------------------------ where it stands now


class _Texts:
    """The loaded texts of versions. A text is not loaded if the total would then exceed MOST_BYTES."""

    def __init__(self) -> None:
        self.left = MOST_BYTES
        self.loaded: dict[str, str] = {}

    def read(self, versions: Iterable[MemoryVersion]) -> None:
        wanted: dict[str, set[str]] = {}
        for version in versions:
            if version.text_id and version.text_id not in self.loaded and (version.size or 0) <= self.left:
                wanted.setdefault(version.store_id, set()).add(version.text_id)
                self.left -= version.size or 0
        for store_id, texts in wanted.items():
            self.loaded |= MemoryText.objects.contents(store_id, texts)

    def of(self, version: MemoryVersion | None) -> str | None:
        return self.loaded.get(version.text_id or "") if version else None


def _standing(
    findings: Sequence[Finding], memories: Mapping[str, Memory], versions: Mapping[str, MemoryVersion], texts: _Texts
) -> dict[str, Standing]:
    """Return {finding id: the versions that contain its value} for the findings whose text could be read."""
    values = {f.pk: text[f.start : f.end] for f in findings if (text := _text_of(f, versions, texts)) is not None}
    known = [finding for finding in findings if values.get(finding.pk)]
    later = _later(known, memories, versions)
    texts.read(version for of_memory in later.values() for version in of_memory)
    found = {}
    for finding in known:
        first = versions[finding.version_id]
        has = [v.number for v in later.get(finding.memory_id, ()) if _has(v, finding, values[finding.pk], texts)]
        numbers = [number for number in has if number >= first.number] or [first.number]
        head = memories[finding.memory_id].head_id
        last = max(numbers)
        newest = any(v.pk == head and v.number == last for v in (first, *later.get(finding.memory_id, ())))
        cut = not newest and last - first.number >= MOST_VERSIONS
        found[finding.pk] = Standing(newest, first.number, last, cut)
    return found


def _text_of(finding: Finding, versions: Mapping[str, MemoryVersion], texts: _Texts) -> str | None:
    version = versions.get(finding.version_id)
    if version is None or finding.fingerprint is None:
        return None
    return version.path if finding.in_path else texts.of(version)


def _has(version: MemoryVersion, finding: Finding, value: str, texts: _Texts) -> bool:
    text = version.path if finding.in_path else texts.of(version)
    return text is not None and value in text


def _later(
    findings: Collection[Finding], memories: Mapping[str, Memory], versions: Mapping[str, MemoryVersion]
) -> dict[str, list[MemoryVersion]]:
    """Return {memory id: the versions in which its findings may still be, newest first}.

    For each finding, these are the next MOST_VERSIONS versions after the finding's version, and the newest version.
    """
    wanted = []
    for finding in findings:
        number, memory = versions[finding.version_id].number, memories[finding.memory_id]
        if memory.head_id != finding.version_id:
            of_memory = Q(store_id=finding.store_id, memory_id=memory.pk)
            wanted += [
                of_memory & Q(number__gt=number, number__lte=number + MOST_VERSIONS),
                Q(store_id=finding.store_id, pk=memory.head_id),
            ]
    found: dict[str, list[MemoryVersion]] = {}
    if wanted:
        columns = ("store_id", "memory_id", "number", "path", "text_id", "size")
        for version in MemoryVersion.objects.filter(reduce(or_, wanted)).order_by("-number").only(*columns):
            found.setdefault(version.memory_id, []).append(version)
    return found


def place_words(item: Item) -> str:
    """Return words that say which versions currently contain the value."""
    standing, memory = item.standing, item.memory
    if standing is None:
        return ""
    if standing.newest:
        return _("in the newest version") if memory.is_live else _("in the newest version, in the trash")
    if standing.first == standing.last:
        return _("only in version %(first)s") % {"first": standing.first}
    words = _("only in older versions, %(first)s to %(last)s")
    if standing.more:
        words = _("not in the newest version, but in older versions since version %(first)s")
    return words % {"first": standing.first, "last": standing.last}
