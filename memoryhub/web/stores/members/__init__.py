"""The members of a memory store and the invitations to it, for its admins."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.accounts import keys_and_roles, people, withdrawals
from memoryhub.actions.accounts.second_person import Words
from memoryhub.models import Key, Member, MemoryStore, Role, User, Webhook
from memoryhub.models.access import fold_email
from memoryhub.templatetags.visible import isolated
from memoryhub.web.accounts.leaving_keys import Sending, count_of, ending_of, rows_of, webhooks_of
from memoryhub.web.accounts.left_behind import left_in
from memoryhub.web.accounts.people import shown_link
from memoryhub.web.agents.rows import KeyRow
from memoryhub.web.common.guards.access import by, in_store, person
from memoryhub.web.common.guards.second import guard
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import ROWS, asked, fresh_form, page, see_other, spend_form
from memoryhub.web.stores.members.forms import AddMemberForm, RoleForm


@never_cache
@in_store(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def members(request: Request, store: MemoryStore) -> HttpResponse:
    """List the members. On POST, add a person whom the admin can see, or invite any other person."""
    form = AddMemberForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, store, form)
    email, role = form.cleaned_data["email"], Role(form.cleaned_data["role"])
    user = _known(person(request), email)
    if user is not None and (reason := _why_not(store, user)):
        form.add_error("email", reason)
        return _page(request, store, form)
    if role == Role.ADMIN and (asks := guard(request, "make_admin", lambda: _words(store, email))) is not None:
        return asks
    if user is None:
        return _invite(request, store, email, role)
    keys_and_roles.set_role(store, user, role, **by(request))
    messages.success(request, _("%(name)s is now a member.") % {"name": isolated(str(user))})
    return see_other(request, "members", store.id)


def _words(store: MemoryStore, email: str) -> Words:
    return [(_("Person"), email), (_("Role"), str(Role.ADMIN.label)), (_("Memory store"), store.name)]


def _known(me: User, email: str) -> User | None:
    """Return the person with an e-mail address if `me` can see them, else None."""
    # anyone else is invited, so that the page does not reveal whether an account exists
    found = User.objects.filter(email=fold_email(email))
    if not me.is_superuser:
        stores = Member.objects.filter(user=me, role=Role.ADMIN).values("store")
        found = found.filter(Exists(Member.objects.filter(user=OuterRef("pk"), store__in=stores)))
    return found.first()


def _why_not(store: MemoryStore, user: User) -> str | None:
    if not user.is_active:
        return _("This person's account is deactivated.")
    if store.members.filter(user=user).exists():
        return _("This person is already a member. Change the role in the list.")
    return None


def _invite(request: Request, store: MemoryStore, email: str, role: Role) -> HttpResponse:
    back = reverse("members", args=[store.id])
    if not spend_form(request):
        return see_other(request, back)
    try:
        invitation, token = people.invite(email=email, store=store, role=role, mails=True, **by(request))
    except people.MayNotInvite:
        raise PermissionDenied from None
    return shown_link(request, invitation, token, back)


@in_store(Role.ADMIN)
@require_POST
def set_role(request: Request, store: MemoryStore, user_id: str) -> HttpResponse:
    """Change a member's role. For a lower role, redirect to `leaving` if the member has open work, keys or webhooks."""
    member = _member(store, user_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest()
    role = Role(form.cleaned_data["role"])
    if role == Role.ADMIN != member.role:
        asks = guard(request, "make_admin", lambda: _words(store, member.user.email))
        if asks is not None:
            return asks
    return _change(request, store, member, role)


@in_store(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def leaving(request: Request, store: MemoryStore, user_id: str) -> HttpResponse:
    """Show a member's open work, keys and webhooks before the member gets a lower role or none.

    On POST, change the role, revoke the ticked keys and pause the ticked webhooks.
    """
    member = _member(store, user_id)
    wanted = request.GET.get("role", "")
    if wanted not in ("", Role.VIEWER, Role.CURATOR):  # not admin, for which `set_role` requires a proof
        raise Http404
    role = Role(wanted) if wanted else None
    if request.method == "POST":
        return _write(request, store, member, role, loses=True)
    keys, webhooks = _goes_on(request, store, member)
    ending = Q(pk=None)
    if role is None or not role.includes(Role(member.role)):
        ending |= Q(user=None, email=member.user.email)
    if role != Role.ADMIN and not member.user.is_superuser:
        ending |= Q(made_by=member.user)
    invitations = store.invitations.open(timezone.now()).filter(ending).newest()[:ROWS]
    more = count_of(Key.objects.for_store(store), member.user) - len(keys) if keys else 0
    shown: dict[str, Any] = {"member": member, "role": role, "keys": keys, "webhooks": webhooks}
    shown |= {"invitations": invitations, "left": left_in(store, member.user, role)}
    return render(
        request, "stores/members/leaving.html", context(request, store, subtab="members", more_keys=more, **shown)
    )


@in_store(Role.ADMIN)
@require_POST
def withdraw(request: Request, store: MemoryStore, invitation_id: str) -> HttpResponse:
    """Withdraw an unused invitation to this store."""
    invitation = get_object_or_404(store.invitations.open(timezone.now()).newest(), pk=invitation_id)
    withdrawals.withdraw(invitation, **by(request))
    messages.success(request, _("The invitation is withdrawn: its link no longer works."))
    return see_other(request, "members", store.id)


def _member(store: MemoryStore, user_id: str) -> Member:
    return get_object_or_404(store.members.select_related("user"), user=user_id)


def _goes_on(request: Request, store: MemoryStore, member: Member) -> tuple[list[KeyRow], list[Sending]]:
    """Return the keys and webhooks of the member that go on working after the member has lost the role.

    For a superuser, both lists are empty, because a superuser loses no right.
    """
    if member.user.is_superuser:
        return [], []
    keys = rows_of(Key.objects.for_store(store), member.user, person(request))
    return keys, webhooks_of(Webhook.objects.of_place(store.id), member.user)


def _change(request: Request, store: MemoryStore, member: Member, role: Role) -> HttpResponse:
    """Change a role. If the member would lose rights, and has open work, keys or webhooks, redirect to `leaving`
    instead."""
    loses = not role.includes(Role(member.role))
    if loses and (left_in(store, member.user, role) or any(_goes_on(request, store, member))):
        return see_other(request, reverse("leaving", args=[store.id, member.user_id]) + f"?role={role.value}")
    return _write(request, store, member, role, loses=loses)


def _write(request: Request, store: MemoryStore, member: Member, role: Role | None, *, loses: bool) -> HttpResponse:
    """Save the role of a member, or end the membership if `role` is None. `loses` means that the member loses
    rights."""
    me = person(request)
    behind = left_in(store, member.user, role)
    more: dict[str, Any] = by(request)
    ending = None
    if loses and not member.user.is_superuser:  # who loses no right
        ending = ending_of(request, member.user, Key.objects.for_store(store), Webhook.objects.of_place(store.id))
        more |= {"revoke": ending.keys, "pause": ending.webhooks}
    try:
        keys_and_roles.set_role(store, member.user, role, keep_admin=not me.is_superuser, **more)
    except keys_and_roles.LastAdministrator:
        messages.error(request, _("A memory store needs at least one admin. Give this role to another person first."))
        return see_other(request, "members", store.id)
    done = _("%(name)s now has another role.") if role else _("%(name)s is no longer a member.")
    said = done % {"name": isolated(str(member.user))}
    messages.success(request, f"{said} {behind.outcome}" if behind else said)
    if ending is not None:
        ending.say_late(request)
    left = member.user == me and role != Role.ADMIN and not me.is_superuser
    return see_other(request, "stores") if left else see_other(request, "members", store.id)


def _page(request: Request, store: MemoryStore, form: AddMemberForm) -> HttpResponse:
    shown = {
        "page": page(store.members.select_related("user"), "user__email", asked(request, "after")),
        "invitations": store.invitations.open(timezone.now()).newest()[:ROWS],
        "form": form,
        "form_once": fresh_form(),
        "roles": Role.choices,
    }
    return render(request, "stores/members/page.html", context(request, store, **shown))
