"""Acts that need a second person: one person asks, and another one allows or refuses.

Once the act is allowed, the first person sends the form of the act, with exactly the fields that the second person has
seen.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.hub import outbox
from memoryhub.actions.core.transactions import writing
from memoryhub.models import ActRequest, ActRequestState, HubSettings, MailKind, Member, MemoryStore, Role, User
from memoryhub.pure import chain, ids

OPEN_FOR = timedelta(days=7)
"""How long a request can be decided and used."""

ACTS = {
    "erase": _("Erase texts"),
    "redact_version": _("Redact a version"),
    "remove_memories": _("Remove memories permanently"),
    "delete_store": _("Delete a memory store"),
    "release_hold": _("Release a legal hold"),
    "set_policy": _("Make, change or delete a retention policy"),
    "issue_key": _("Issue a key with the access Manage"),
    "invite_administrator": _("Invite an administrator or an admin"),
    "make_admin": _("Give the role admin"),
    "set_administrator": _("Make somebody an administrator of the hub"),
    "unset_administrator": _("Take the role of an administrator of the hub from somebody"),
    "activate_user": _("Activate the account of an administrator or an admin"),
    "password_link": _("Make a link to set a new password"),
    "remove_proofs": _("Remove somebody’s second step and passkeys"),
    "unset_second_person": _("Stop asking for a second person"),
}
"""The acts that cannot be undone, and the acts with which one person could become able to do such acts alone.

All of them also require a fresh proof of who the person is.
"""

OF_ADMINISTRATORS = ("delete_store",)
"""Acts in a memory store that only administrators of the hub may do or allow."""

Fields = Sequence[Sequence[Any]]
Words = Sequence[Sequence[str]]
"""Pairs of a label and a text. An optional third text is the address of a page that shows the text."""


class NotOpen(Exception):
    """The request was decided, used or withdrawn, or has lapsed."""


class MayNotDecide(Exception):
    """The person may not decide the request: the person made it, or does not have the right to do the act."""


class Changed(Exception):
    """The form would now do something other than what the second person allowed."""


class TooFew(Exception):
    """The hub has fewer than two administrators who can sign in."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a request for a second person: the form's fields, the act in words, the reason, and the second
    person's answer."""

    salt: str
    fields: Fields
    words: Words
    reason: str
    answer: str = ""

    def digest(self, act: str, path: str) -> str:
        """Return one commitment to three values: the act, the path of its form, and this content without `answer`."""
        covered = json.dumps([act, path, self.fields, self.words, self.reason])
        return chain.commit(bytes.fromhex(self.salt), covered)


def is_on() -> bool:
    """Return whether the hub requires a second person for acts that can need one."""
    return HubSettings.current().second_person


def administrators() -> int:
    """Return how many administrators of the hub can sign in."""
    return User.objects.filter(is_superuser=True, is_active=True).count()


def may_decide(request: ActRequest, user: User) -> bool:
    """Return whether a person may allow or refuse a request."""
    if request.asked_by_id == user.pk or not user.is_active:
        return False
    store = MemoryStore.objects.filter(pk=request.store).first() if request.store else None
    return user.is_superuser or (store is not None and user.role_in(store) == Role.ADMIN)


def deciders(store: str | None, asked_by: str) -> list[str]:
    """Return the ids of the people who may decide a request of the person `asked_by`.

    `store` is the store of the act; None for an act in the hub.
    """
    admins = Member.objects.filter(store=store, role=Role.ADMIN).values("user") if store else []
    people = User.objects.filter(Q(is_superuser=True) | Q(pk__in=admins), is_active=True)
    return sorted(people.exclude(pk=asked_by).values_list("pk", flat=True))


def content_of(request: ActRequest) -> Content | None:
    """Return the content of a request. Return None if the content was deleted, or was changed after it was sealed."""
    from cryptography.fernet import Fernet, InvalidToken

    if request.content is None:
        return None
    try:
        found = Content(**json.loads(Fernet(_key()).decrypt(request.content.encode())))
    except (InvalidToken, ValueError, TypeError):
        return None
    return found if found.digest(request.act, request.path) == request.digest else None


# ------------------------------------------------------------------------------------------------ asking and deciding


def ask(act: str, path: str, store: str | None, content: Content, by: Act) -> ActRequest:
    with writing():
        head = audit.lock_hub()
        request = ActRequest.objects.create(
            id=ids.new_id(ids.ACT_REQUEST, by.at), act=act, store=store, path=path, content=_encrypted(content),
            digest=content.digest(act, path), asked_by_id=by.actor.id or "", asked_at=by.at,
            expires_at=by.at + OPEN_FOR,
        )  # fmt: skip
        outbox.put(MailKind.SECOND, deciders(store, request.asked_by_id), by.at, about=request.pk)
        audit.append(head, by, Record("propose_act", input=_entry_input(request)))
    return request


def content(fields: Fields, words: Words, reason: str = "") -> Content:
    """Return the content of a new request."""
    plain = [[name, list(values)] for name, values in fields]
    return Content(chain.new_salt(), plain, [list(pair) for pair in words], reason)


def allow(request_id: str, user: User, by: Act) -> ActRequest:
    """Allow an act, as a second person. Raises NotOpen and MayNotDecide."""
    return _decided(request_id, user, ActRequestState.ALLOWED, "allow_act", by)


def refuse(request_id: str, user: User, answer: str, by: Act) -> ActRequest:
    """Refuse an act, as a second person. Raises NotOpen and MayNotDecide."""
    return _decided(request_id, user, ActRequestState.REFUSED, "refuse_act", by, answer)


def withdraw(request_id: str, user: User, by: Act) -> None:
    """Withdraw a request that this person made, even if it was allowed. Raises NotOpen."""
    with writing():
        head = audit.lock_hub()
        request = _open(request_id, by.at)
        if request.asked_by_id != user.pk:
            raise NotOpen
        _change(request, state=ActRequestState.WITHDRAWN, content=None)
        audit.append(head, by, Record("withdraw_act", input=_entry_input(request)))


def use(act: str, path: str, wanted: Content, user: User, by: Act) -> User | None:
    """Use up the permission for exactly this act, and return the second person who gave it; None if there is no such
    permission.

    Raises Changed if the same form was allowed, but would do something else now.
    """
    has_changed = False
    with writing():
        head = audit.lock_hub()
        mine = ActRequest.objects.open(by.at).filter(state=ActRequestState.ALLOWED, asked_by=user, act=act, path=path)
        for request in mine.select_related("decided_by").order_by("pk"):
            found, second = content_of(request), request.decided_by
            if found is None or found.fields != wanted.fields or second is None or not may_decide(request, second):
                continue
            if found.words != wanted.words:
                has_changed = True
                continue
            _change(request, state=ActRequestState.USED, content=None)
            audit.append(head, by, Record("start_act", input=_entry_input(request, second=second)))
            return second
    if has_changed:
        raise Changed
    return None


def lapse(user: User, at: datetime) -> None:
    """End the open requests that a person made or allowed.

    Call it in the transaction that deactivates the person or takes the role of an administrator away, before the entry
    of that act is written.
    """
    # Otherwise the requests would count again if the person got the right back.
    open_ones = ActRequest.objects.filter(
        state__in=(ActRequestState.WAITING, ActRequestState.ALLOWED), expires_at__gt=at
    )
    open_ones.filter(Q(asked_by=user) | Q(decided_by=user)).update(expires_at=at, content=None)


def forget(at: datetime) -> None:
    """Remove the contents of all requests whose `expires_at` has passed, even of refused requests."""
    old = ActRequest.objects.filter(content__isnull=False, expires_at__lte=at)
    if old.exists():
        with writing():
            old.update(content=None)


def _decided(
    request_id: str, user: User, state: ActRequestState, command: str, by: Act, answer: str = ""
) -> ActRequest:
    with writing():
        head = audit.lock_hub()
        request = _open(request_id, by.at)
        found = content_of(request)
        if request.state != ActRequestState.WAITING or found is None:
            raise NotOpen
        if not may_decide(request, user):
            raise MayNotDecide
        kept = _encrypted(Content(found.salt, found.fields, found.words, found.reason, answer))
        _change(request, state=state, decided_by=user, decided_at=by.at, content=kept)
        outbox.put(MailKind.SECOND, [request.asked_by_id], by.at, about=request.pk)
        audit.append(head, by, Record(command, input=_entry_input(request)))
    return request


def _open(request_id: str, at: datetime) -> ActRequest:
    found = ActRequest.objects.open(at).filter(pk=request_id).select_related("asked_by").first()
    if found is None:
        raise NotOpen
    return found


def _change(request: ActRequest, **values: object) -> None:
    for name, value in values.items():
        setattr(request, name, value)
    request.save()


def _entry_input(request: ActRequest, second: User | None = None) -> str:
    told: dict[str, object] = {"request": request.pk, "act": str(ACTS[request.act]), "place": request.path}
    if second is not None:
        told |= {"second": second.pk, "name": str(second)}
    elif request.state != ActRequestState.WAITING:
        told |= {"asked_by": request.asked_by_id, "name": str(request.asked_by)}
    return audit.to_json(told)


# ------------------------------------------------------------------------------------------------ the setting


def turn(by: Act, *, on: bool) -> bool:
    """Set whether the hub requires a second person. Return whether this changed. Raises TooFew."""
    if on and administrators() < 2:
        raise TooFew
    with writing():
        head = audit.lock_hub()
        row, _made = HubSettings.objects.get_or_create(pk=1)
        if row.second_person == on:
            return False
        HubSettings.objects.filter(pk=1).update(second_person=on)
        audit.append(head, by, Record("set_second_person" if on else "unset_second_person"))
    return True


def _encrypted(content: Content) -> str:
    from cryptography.fernet import Fernet

    values: Mapping[str, object] = {name: getattr(content, name) for name in Content.__slots__}
    return Fernet(_key()).encrypt(json.dumps(values).encode()).decode()


def _key() -> bytes:
    """Return the key that encrypts the contents of requests. It is derived from SECRET_KEY."""
    # Derived from SECRET_KEY, which is not in the database.
    return base64.urlsafe_b64encode(hashlib.sha256(b"memoryhub.act_request" + settings.SECRET_KEY.encode()).digest())
