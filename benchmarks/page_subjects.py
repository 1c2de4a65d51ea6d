"""Finds ids, paths, positions and days in a synthetic store, under the names that the lines of pages use."""

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import quote

from benchmarks.large_store import STORE
from benchmarks.phrases import WIDE
from benchmarks.story import DAYS, DIARY, HANDBOOK, MOVED, POPULAR, TYPICAL
from memoryhub.models import (
    Agent,
    AuditEntry,
    Directory,
    Finding,
    Key,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    ProposalState,
    Review,
    Session,
    User,
)


def subjects() -> dict[str, str]:
    """Return {name: value}, with each value as it is written in addresses and queries."""
    store = MemoryStore.objects.get(name=STORE)
    found = {
        "store": store.id, "agent": Agent.objects.order_by("folded_name")[0].id,
        "rare_agent": Agent.objects.order_by("-folded_name")[0].id, "key": Key.objects.order_by("id")[0].id,
        "ben": User.objects.get(name="Ben").id, "wide_path": WIDE, "typical_path": TYPICAL,
    }  # fmt: skip
    return found | _memories(store) | _places(store) | _entries(store) | _sessions() | _days(store) | _proposals(store)


def _memories(store: MemoryStore) -> dict[str, str]:
    memories = Memory.objects.filter(store=store)
    live = {"handbook": HANDBOOK, "typical": TYPICAL, "moved": MOVED, "diary": DIARY, "popular": POPULAR}
    found = {name: memories.at(path).get().id for name, path in live.items()}
    for name in ("handbook", "typical", "diary", "popular"):
        versions = list(MemoryVersion.objects.filter(store=store, memory=found[name]).order_by("number"))
        ends = (("first", versions[0]), ("middle", versions[len(versions) // 2]), ("last", versions[-1]))
        found |= {f"{name}_{end}": version.id for end, version in ends}
    for name in ("handbook", "diary"):
        found[f"of_{name}"] = Finding.objects.of_memory(store.id, found[name]).newest()[0].id
    trash = list(memories.in_trash().order_by("-deleted_at", "-id").values_list("id", flat=True))
    middle = trash[min(len(trash) // 2, len(trash) - 110)]
    found |= {"trashed": middle, "trash_middle": middle, "trash_last": trash[-20]}
    return found


def _places(store: MemoryStore) -> dict[str, str]:
    """Return {name: value} for directories (without the first slash) and for names in the middle and near the end of a
    large directory.

    In a store of copies, `deep` and `japanese` are copies that have as many children as in a small store, and `deepest`
    has those of all copies that are in the same directories.
    """
    wide = Directory.objects.filter(store=store).at(WIDE).get()
    names = list(Memory.objects.in_directory(wide).values_list("name", flat=True))
    deep = Directory.objects.filter(store=store, path__startswith="/archive/", path__endswith="/2").order_by("path")
    japanese = Directory.objects.filter(store=store, path__in=("/顧客", "/顧客/c01")).order_by("path")
    projects = Directory.objects.filter(store=store).at("/projects").get()
    many = [row.name for row in Directory.objects.in_directory(projects)]
    return {
        "wide": WIDE[1:], "wide_middle": names[_middle(names)], "wide_last": names[-20],
        "in_wide": _usual(wide), "many": "projects", "many_middle": many[_middle(many)],
        "deep": deep[0].path[1:], "deepest": deep.reverse()[0].path[1:], "in_deep": _usual(deep[0]),
        "japanese": japanese.reverse()[0].path[1:], "small": "reference",
        "nowhere": "nowhere/at/all",
    }  # fmt: skip


def _usual(directory: Directory) -> str:
    """Return the memory in a directory whose number of versions is nearest to ten."""
    versions = dict(Memory.objects.in_directory(directory).values_list("id", "version_count"))
    return min(versions, key=lambda memory: abs(versions[memory] - 10))


def _middle(rows: Sequence[object]) -> int:
    """Return a position near the middle, with at least one whole page after it where possible."""
    return max(0, min(len(rows) // 2, len(rows) - 210))


def _entries(store: MemoryStore) -> dict[str, str]:
    """Return {name: seq} for fixed positions in the chain, a review decision, and one entry of each kind after the
    middle."""
    entries = AuditEntry.objects.of_chain(store.id)
    last = entries.newest()[0].seq
    later = entries.filter(seq__gt=last // 2).oldest()
    kinds = {
        "a_view": later.of_command("view").filter(version__isnull=False),
        "an_edit": later.of_command("str_replace").at_path(TYPICAL),
        "a_listing": later.of_command("view").filter(version=None, ok=True),
        "an_error": later.that_ended(ok=False),
        "a_move": later.of_command("rename"),
    }
    places = {"first": 1, "quarter": last // 4, "middle": last // 2, "before_last": last - 100, "last": last}
    places["a_decision"] = Review.objects.filter(store=store, decision="approved").order_by("seq")[0].seq
    places |= {name: found[0].seq for name, found in kinds.items()}
    return {name: str(seq) for name, seq in places.items()}


def _sessions() -> dict[str, str]:
    names = {"session": "ticket-7001", "large_session": "nightly-import"}
    found = {key: Session.objects.get(name=name).id for key, name in names.items()}
    sessions = list(Session.objects.order_by("id").values_list("id", flat=True))
    return found | {"middle_session": sessions[len(sessions) // 2]}


def _days(store: MemoryStore) -> dict[str, str]:
    """Return {`day_n`: the moment n days before the last entry}."""
    newest = AuditEntry.objects.of_chain(store.id).newest()[0].at
    return {f"day_{n}": quote((newest - timedelta(days=n)).isoformat()) for n in range(DAYS)}


def _proposals(store: MemoryStore) -> dict[str, str]:
    """Return {name: number} of the first proposal that waits, of one in the middle, and of decided ones."""
    of_store = Proposal.objects.of_store(store.id).order_by("number")
    waiting = list(of_store.of_state(ProposalState.OPEN).values_list("number", flat=True))
    found = {"first": waiting[0], "middle": waiting[len(waiting) // 2]}
    for state in (ProposalState.MERGED, ProposalState.REFUSED):
        found[str(state)] = of_store.of_state(state).values_list("number", flat=True)[0]
    return {f"proposal_{name}": str(number) for name, number in found.items()}
