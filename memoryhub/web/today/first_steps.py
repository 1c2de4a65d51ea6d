"""The first steps in a new hub, shown on the home page until each is done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from memoryhub.models import Invitation, Key, Review, User


@dataclass(frozen=True, slots=True)
class Step:
    """One of the first steps: what to do, and a link."""

    title: str  # what to do
    text: str  # why
    is_done: bool
    is_next: bool = False  # the first step that is not done
    is_waiting: bool = False  # something outside of the pages ends the step, such as an agent's first call
    act: str = ""  # the text of the link
    url: str = ""


def first_steps(stores: Sequence[str], user: User, at: datetime, *, has_waiting: bool) -> Sequence[Step]:
    """Return the five steps for an administrator of the hub. Return none for other people, or if all steps are done.

    `stores` are the ids of visible stores. `has_waiting` means that versions await review.
    """
    if not user.is_superuser:
        return ()
    invited = User.objects.exclude(pk=user.pk).exists() or Invitation.objects.open(at).exists()
    reviewed = bool(stores) and Review.objects.filter(store_id__in=stores).exists()
    if invited and reviewed:
        return ()
    steps: list[Step] = []
    for step in _steps(stores, at, invited=invited, reviewed=reviewed, wrote=reviewed or has_waiting):
        is_next = not step.is_done and all(earlier.is_done for earlier in steps)
        steps.append(
            Step(step.title, step.text, step.is_done, is_next, step.is_waiting and is_next, step.act, step.url)
        )
    return steps


def _steps(stores: Sequence[str], at: datetime, *, invited: bool, reviewed: bool, wrote: bool) -> Iterator[Step]:
    yield Step(
        _("Create a memory store"),
        _("A tree of memories that agents read and write, and that people see, correct and govern here."),
        bool(stores),
        act=_("Create a memory store"),
        url=reverse("new_store"),
    )
    yield _connect(stores, at, wrote=wrote)
    yield Step(
        _("Let the agent write a memory"),
        _(
            "Tell your agent something that it should remember. The agent writes a memory with the memory tool. To "
            "write a memory without an agent, copy the call from the page of the memory store."
        ),
        wrote,
        is_waiting=True,
        act=_("Show the memory store"),
        url=reverse("store", args=[stores[0]]) if stores else "",
    )
    yield Step(
        _("Review what the agent wrote"),
        _("Approve a version that is right, and revert one that is wrong."),
        reviewed,
        act=_("Open the inbox"),
        url=reverse("review"),
    )
    yield Step(
        _("Invite a reviewer"),
        _("A curator reviews what agents write, and needs no knowledge of programming."),
        invited,
        act=_("Invite a person"),
        url=reverse("people") + "#invite-title",
    )


def _connect(stores: Sequence[str], at: datetime, *, wrote: bool) -> Step:
    """Return the step for connecting an agent.

    The step is done if an agent `wrote`. While a usable key exists, any call of an agent is enough.
    """
    title = _("Connect an agent")
    of_agents = Key.objects.exclude(pk__in=Key.objects.of_hub())
    newest = of_agents.usable(at).newest().first()
    if newest is None:
        text = _("Issue a key, choose your client, and copy what it needs.")
        url = reverse("store_keys", args=[stores[0]]) if stores else ""
        return Step(title, text, wrote, act=_("Issue a key"), url=url)
    called = wrote or of_agents.filter(last_used_at__isnull=False).exists()
    text = _("An agent has called the hub.") if called else _("Waiting for the first call…")
    url = reverse("agent", args=[newest.agent_id])
    return Step(title, text, called, is_waiting=True, act=_("Show the agent"), url=url)
