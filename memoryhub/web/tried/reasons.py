"""Sentences that say why the answer to a replayed call differs from the recorded answer."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from memoryhub.actions.core.audit import Actor
from memoryhub.actions.core.rules.sight import sees, sight_in
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, Session
from memoryhub.pure.path_rules import Verb
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.commands import WRITES
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.kinds import Kind, kind_of

MOST_LOOKED_AT = 20
"""The most versions of a call's memories that are searched for the reason of a difference: the newest ones."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence on why an answer differs."""

    words: str
    seq: int | None = None  # the entry that the sentence is about
    rule_url: str = ""  # the page that shows the path rule


@dataclass(frozen=True, slots=True)
class Span:
    """The entries that can explain why the two answers to a replayed call differ."""

    start: int  # the first entry that is replayed
    last: int  # the store's newest entry
    is_past: bool  # the store was first put back to its state before `start`
    kept: Collection[str] = ()  # the paths that were not put back


_GOVERNED = {
    Kind.RULE: (gettext_lazy("a path rule"), gettext_lazy("A path rule refuses it now.")),
    Kind.PROPOSED: (gettext_lazy("a path rule"), gettext_lazy("A path rule makes it a proposal now.")),
    Kind.LIMIT: (gettext_lazy("a limit"), gettext_lazy("A limit refuses it now.")),
    Kind.SENSITIVE: (
        gettext_lazy("the rules for sensitive text"), gettext_lazy("The rules for sensitive text refuse it now."),
    ),
    Kind.READ_ONLY: (gettext_lazy("the access of the key"), gettext_lazy("The key may only read now.")),
    Kind.ARCHIVED: (gettext_lazy("the archived store"), gettext_lazy("The memory store is archived now.")),
    Kind.HELD: (gettext_lazy("a legal hold"), gettext_lazy("A legal hold forbids it now.")),
}  # fmt: skip
"""{kind of a refusal: (what refused, the sentence for a call that is refused only now)}"""


class Reasons:
    """Finds the reasons why answers of one replay differ from the recorded answers, call by call in their order."""

    def __init__(self, store: MemoryStore, session: Session, span: Span, at: datetime) -> None:
        self._store, self._session, self._span, self._at = store, session, span, at
        self._before: list[tuple[int, Collection[str], str]] = []

    def of(self, entry: AuditEntry, before: str, new: AuditEntry, after: str) -> list[Reason]:
        """Return one or more reasons why the recorded answer `before` and the answer `after` in the replay differ."""
        places = {path for path in (entry.path, entry.new_path, new.path, new.new_path) if path is not None}
        reasons = [*self._governed(entry, before, new, after, places), *self._earlier(places)]
        reasons += self._changed(entry, places)
        self._note(entry, places, _("An earlier call of the session has another outcome here."))
        return reasons or [self._of_the_store(entry)]

    def _of_the_store(self, entry: AuditEntry) -> Reason:
        """Return a reason if there is no other: texts were erased, versions were removed, or a setting changed."""
        entries = AuditEntry.objects.of_chain(self._store.pk).between(entry.seq, self._span.last)
        for command in ("erase", "redact"):
            if erased := entries.of_command(command).newest().in_brief().first():
                who = {"who": erased.label or _("Someone")}
                return Reason(
                    _("%(who)s has since erased texts from the memory store, maybe this one.") % who, erased.seq
                )
        for command in ("purge", "prune_versions"):
            if entries.of_command(command).newest().in_brief().first():
                return Reason(
                    _(
                        "Memories or old versions have since been removed permanently. The call may have been "
                        "about one of them."
                    )
                )
        return Reason(
            _(
                "No version of these memories explains the difference: a setting of the memory store or the hub has "
                "changed."
            )
        )

    def _rule_url(self, kind: Kind, entry: AuditEntry) -> str:
        verbs = {"create": Verb.CREATE, "delete": Verb.DELETE, "rename": Verb.RENAME}
        if kind not in (Kind.RULE, Kind.PROPOSED) or entry.path is None:
            return ""
        asked = {"who": entry.actor_id or "", "verb": verbs.get(entry.command or "", Verb.EDIT), "path": entry.path}
        return reverse("path_rules", args=[self._store.pk], query=asked, fragment="ask")

    def left_out(self, entry: AuditEntry) -> None:
        """If the call of an entry writes, record that it was not run again."""
        places = {path for path in (entry.path, entry.new_path) if path is not None}
        self._note(entry, places, _("An earlier call of the session could not be run again."))

    def _note(self, entry: AuditEntry, places: Collection[str], words: str) -> None:
        if entry.command in WRITES:
            self._before.append((entry.seq, places, words))

    def _governed(
        self, entry: AuditEntry, before: str, new: AuditEntry, after: str, places: Collection[str]
    ) -> Iterator[Reason]:
        """Yield reasons why `before` and `after` differ: path rules, limits, holds, or a memory that could not be put
        back."""
        now = None if new.ok else kind_of(after)
        then = None if entry.ok else kind_of(before)
        if now in _GOVERNED and now != then:
            yield Reason(str(_GOVERNED[now][1]), rule_url=self._rule_url(now, entry))
        if then in _GOVERNED and now not in _GOVERNED:
            yield Reason(
                _("At that time, %(what)s refused the call. Now it would not be refused.")
                % {"what": _GOVERNED[then][0]}
            )
        actor = Actor(entry.actor_kind, entry.actor_id, entry.author_id, entry.label or "")
        try:
            is_hidden = not sees(sight_in(self._store.pk, actor, self._at), *places)
        except ToolError:
            is_hidden = False
        if is_hidden:
            yield Reason(_("A path rule hides it from this agent now."))
        if any(_touch(place, kept) for place in places for kept in self._span.kept):
            yield Reason(_("It could not be put back as it was, because its text is gone."))

    def _earlier(self, places: Collection[str]) -> Iterator[Reason]:
        """Yield at most one reason, about an earlier write at one of the `places`.

        It is the last such write that could not be run again, or that had another outcome in the replay.
        """
        for seq, others, words in reversed(self._before):
            if any(_touch(one, other) for one in places for other in others):
                yield Reason(words, seq)
                return

    def _changed(self, entry: AuditEntry, places: Collection[str]) -> Iterator[Reason]:
        """Yield at most one reason, on who changed the memories of the call."""
        span, where = self._span, Q(memory_id=entry.memory) if entry.memory else Q(pk__in=[])
        low, high = (span.start - 1, entry.seq - 1) if span.is_past else (entry.seq, span.last)
        for place in places:
            first, end = paths.subtree(place)
            where |= Q(path=place) | Q(path__gte=first, path__lt=end)
        versions = MemoryVersion.objects.filter(store_id=self._store.pk).between(low, high).filter(where)
        seqs = list(versions.order_by("-seq").values_list("seq", flat=True)[:MOST_LOOKED_AT])
        entries = AuditEntry.objects.of_chain(self._store.pk).of_seqs(seqs).newest().in_brief()
        for one in entries:
            is_own = one.session == self._session.pk
            if not (span.is_past and is_own):
                yield Reason(_words(one, is_own=is_own, is_past=span.is_past), one.seq)
                return


def _words(entry: AuditEntry, *, is_own: bool, is_past: bool) -> str:
    who = {"who": entry.label or _("Someone")}
    if is_own:
        return _("The session itself has changed it since.")
    if is_past:
        return _("%(who)s changed it while the session ran. The replay has only the calls of the session.") % who
    return _("%(who)s has changed it since.") % who


def _touch(one: str, other: str) -> bool:
    """Return whether the paths are equal or one of them is under the other."""
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")
