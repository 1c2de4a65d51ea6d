"""The pages of a store's and the hub's retention policies, with the results of the last runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.actions.retention import policies
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import HubSettings, Memory, MemoryStore, RetentionPolicy, Role, Run, RunItem
from memoryhub.pure.retention_rules import DEFAULT_GRACE_DAYS
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store, person, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.retention import rows as retention_rows, sentences as retention_words
from memoryhub.web.retention.forms import query
from memoryhub.web.retention.runs import rows as runs_rows

EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Card:
    """A policy in words. `did` says what the last run did because of the policy. `url` is empty if the person may not
    edit the policy."""

    policy: RetentionPolicy
    pattern: str
    sentences: Sequence[str]
    did: Sequence[str]
    url: str
    delete_url: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A suggested policy; `url` opens the form with it."""

    title: str
    sentences: Sequence[str]
    url: str


@dataclass(frozen=True, slots=True)
class Times:
    """When the policies are applied next, the last run, and a run that awaits approval.

    `next` is None if the policies were never applied yet.
    """

    next: datetime | None
    last: runs_rows.Summary | None
    waiting: Run | None

    @property
    def is_late(self) -> bool:
        return self.next is not None and self.next < timezone.now() - EVERY


@require_safe
@in_store(Role.ADMIN)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    saved = list(RetentionPolicy.objects.concerning(store.pk))
    times = _times(store.pk)
    did = _did(times.last.run) if times.last else {}
    own = [_card(policy, did, may_edit=True) for policy in _sorted(saved) if policy.store_id]
    is_superuser = person(request).is_superuser
    of_hub = [_card(policy, did, may_edit=is_superuser) for policy in _sorted(saved) if not policy.store_id]
    new_url = reverse("new_policy", args=[store.pk])
    return render(
        request,
        "retention/store.html",
        pages.context(
            request,
            store,
            cards=own,
            hub_cards=of_hub,
            times=times,
            new_url=new_url,
            drafts=_drafts(new_url),
            left=0 if saved else Memory.objects.in_trash().filter(store=store, expired_by__isnull=False).count(),
            grace=DEFAULT_GRACE_DAYS,
            has_paused=any(policy.paused for policy in saved),
            is_superuser=is_superuser,
        ),
    )


@require_safe
@superuser_only
def hub_page(request: Request) -> HttpResponse:
    saved = _sorted(RetentionPolicy.objects.of_hub())
    new_url = reverse("new_hub_policy")
    times = _times(None)
    return render(
        request,
        "retention/hub.html",
        {
            "cards": [_card(policy, {}, may_edit=True) for policy in saved],
            "new_url": new_url,
            "drafts": _drafts(new_url),
            "times": times,
            "with_own": MemoryStore.objects.filter(
                pk__in=RetentionPolicy.objects.exclude(store=None).values("store")
            ).by_name(),
            "runs": [runs_rows.summary(run) for run in Run.objects.of_store(None).newest()[:5]],
        },
    )


def _sorted(found: object) -> list[RetentionPolicy]:
    """Return policies in order of precedence, the most specific first."""
    rows: list[RetentionPolicy] = list(found)  # type: ignore[call-overload]
    return sorted(rows, key=lambda policy: policies.rules_of(policy).specificity)


def _card(policy: RetentionPolicy, did: dict[str, list[str]], *, may_edit: bool) -> Card:
    return Card(
        policy,
        retention_words.pattern_words(policy.pattern),
        retention_words.sentences(policies.rules_of(policy)),
        did.get(policy.pk, ()),
        reverse("policy", args=[policy.pk]) if may_edit else "",
        reverse("delete_policy", args=[policy.pk]) if may_edit else "",
    )


def _times(store_id: str | None) -> Times:
    runs = Run.objects.of_store(store_id).newest()
    last, waiting = runs.first(), runs.open().filter(state="waiting").first()
    checked_at = HubSettings.current().checked_at
    return Times(checked_at and checked_at + EVERY, runs_rows.summary(last) if last else None, waiting)


def _did(run: Run) -> dict[str, list[str]]:
    """Return {policy id: what a run did because of this policy, in words}."""
    items = RunItem.objects.filter(run=run, skipped="").order_by("policy", "removal")
    found: dict[str, list[str]] = {}
    for policy, removal, count in items.values_list("policy", "removal").annotate(Sum("count")):
        found.setdefault(policy or "", []).append(retention_rows.counted(removal, count))
    return found


def _drafts(new_url: str) -> list[Draft]:
    proposed = (
        PolicySettings(_("Forget what nobody reads"), expire_unread_days=90, grace_days=30),
        PolicySettings(_("Tidy up old versions"), keep_versions=20, keep_version_days=30),
        PolicySettings(_("Short-lived notes"), "/scratch/", expire_older_days=30, grace_days=7),
    )
    return [
        Draft(
            draft.name,
            [
                *(
                    [_("For %(which)s.") % {"which": retention_words.pattern_words(draft.pattern)}]
                    if draft.pattern
                    else []
                ),
                *retention_words.sentences(draft.as_policy(None)),
            ],
            f"{new_url}?{query(draft)}",
        )
        for draft in proposed
    ]
