"""Which policy applies to a path and why, when a rule is due, and which memories a pattern matches."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.actions.core.rules.holds import holds_of
from memoryhub.actions.retention import policies
from memoryhub.models import Directory, Memory, MemoryStore, RetentionPolicy, Role
from memoryhub.pure import retention_rules
from memoryhub.pure.retention_rules import Policy
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.typed_paths import below_root, is_only_directory
from memoryhub.web.retention import sentences as retention_words
from memoryhub.web.retention.due import fate_of, kept_by, over

LONGEST = 1024
MOST_LOOKED_AT = 5_000
"""The most paths that are compared with a pattern while a person types it."""

MOST_EXAMPLES = 8
MOST_THROWN = 10
"""The most memories in the trash that the explanation of a path lists: the newest ones."""


@dataclass(frozen=True, slots=True)
class ExplainedPolicy:
    """A policy, whether it matches a path, whether it applies to the path (`wins`), and the reason."""

    policy: Policy
    wins: bool
    matches: bool
    why: str
    sentences: Sequence[str]
    pattern: str
    url: str

    @property
    def is_of_hub(self) -> bool:
        return self.policy.store is None


@dataclass(frozen=True, slots=True)
class Examples:
    """Some memories that match a pattern."""

    paths: Sequence[str]
    count: int  # matches among the compared paths
    is_cut: bool  # not all paths were compared

    @property
    def more(self) -> int:
        return self.count - len(self.paths)


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Explain which policy applies to a path, and what will happen to memories that were deleted there."""
    path = unicodedata.normalize("NFC", request.GET.get("path", "").strip().replace("\0", "")[:LONGEST])
    path = below_root(path, [store.pk])
    problem = "" if not path or path.startswith("/") else _("A path begins with a slash: /customers/acme.md")
    shown = {} if problem or not path else _explained(request, store, path)
    return render(request, "retention/explain.html", pages.context(request, store, path=path, problem=problem, **shown))


@require_safe
@in_store(Role.ADMIN)
def pattern(request: Request, store: MemoryStore) -> HttpResponse:
    """Answer with a fragment of a form: a pattern in words, and examples of matching memories.

    With `brief` in the URL, the number of matches is shown, but no examples. The pattern is in the first query
    parameter whose name ends with `pattern`, for example `form-0-pattern`.
    """
    typed = next((request.GET[name] for name in request.GET if name.endswith("pattern")), "")
    given = unicodedata.normalize("NFC", typed.strip().replace("\0", "")[:LONGEST])
    shown = {"store": store, **about_pattern(store, given), "is_brief": "brief" in request.GET}
    return render(request, "retention/_pattern.html", shown)


def about_pattern(store: MemoryStore, given: str, most: int = MOST_LOOKED_AT) -> dict[str, object]:
    """Return the template context of the fragment that explains a pattern. At most `most` paths are compared."""
    given = below_root(given, [store.pk], RetentionPolicy.objects.values_list("pattern", flat=True))
    problem = retention_words.pattern_problem(given)
    given = given if given != "/" else ""
    return {
        "pattern": given,
        "pattern_problem": problem,
        "pattern_words": retention_words.pattern_words(given),
        "examples": None if problem else examples(store, given, most),
        "directory_meant": "" if problem or not is_only_directory(given, [store.pk]) else f"{given}/",
    }


def about_patterns(store: MemoryStore, given: Sequence[str]) -> list[dict[str, object]]:
    """Return the template contexts of the fragments that explain several patterns.

    For all patterns together, at most MOST_LOOKED_AT paths are compared.
    """
    return [about_pattern(store, one.strip(), MOST_LOOKED_AT // len(given)) for one in given]


def examples(store: MemoryStore, given: str, most: int = MOST_LOOKED_AT) -> Examples:
    """Return examples of matches among the first `most` paths with the pattern's fixed prefix.

    An empty pattern means every memory; for it, only the count is returned.
    """
    if not given:
        return Examples((), store.memory_count, False)
    start = given.partition("*")[0]
    found = Memory.objects.live().filter(store=store, path__gte=start, path__lt=start + "\U0010ffff")
    paths = found.order_by("path").values_list("path", flat=True)
    if given.endswith("/") and start == given:
        counts = (
            Directory.objects.at(given.removesuffix("/")).filter(store=store).values_list("memory_count", flat=True)
        )
        return Examples(list(paths[:MOST_EXAMPLES]), counts.first() or 0, False)
    looked_at = list(paths[: most + 1])
    matching = [path for path in looked_at[:most] if retention_rules.matches(given, path)]
    return Examples(matching[:MOST_EXAMPLES], len(matching), len(looked_at) > most)


def _explained(request: Request, store: MemoryStore, path: str) -> dict[str, object]:
    now = timezone.now()
    memory = Memory.objects.at(path).filter(store=store).first()
    saved = policies.concerning(store.pk)
    held = holds_of(store.pk, now)
    thrown = Memory.objects.in_trash().filter(store=store, path=path).order_by("-deleted_at", "pk")[:MOST_THROWN]
    rules = [_explained_policy(request, candidate) for candidate in retention_rules.explained(saved, path)]
    return {
        "memory": memory,
        "told": sorted(rules, key=lambda one: (not one.wins, not one.matches)),
        "winner": next((one for one in rules if one.wins), None),
        "fate": fate_of(memory, saved, now) if memory else None,
        "thrown": [{"memory": one, "kept": kept_by(one, saved, held, now)} for one in thrown],
        "holds": over(store.pk, memory.pk if memory else "", path, now),
    }


def _explained_policy(request: Request, candidate: retention_rules.Candidate) -> ExplainedPolicy:
    policy = candidate.policy
    return ExplainedPolicy(
        policy,
        candidate.wins,
        candidate.matches,
        retention_words.why(candidate),
        retention_words.sentences(policy),
        retention_words.pattern_words(policy.pattern),
        reverse("policy", args=[policy.id]) if _may_edit(request, policy) else "",
    )


def _may_edit(request: Request, policy: Policy) -> bool:
    role: Role = request.role
    return role.includes(Role.ADMIN) if policy.store else bool(getattr(request.user, "is_superuser", False))
