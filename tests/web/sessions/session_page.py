"""The page of a session, as a person opens it."""

from typing import Any

from django.urls import reverse

from memoryhub.models import Session, User
from tests.support.fixtures import signed_in


def found(name: str = "run-1") -> Session:
    return Session.objects.get(name=name)


def session_page(user: User, session: Session | None = None, **query: str) -> Any:
    response = signed_in(user).get(reverse("session", args=[(session or found()).pk]), query)
    assert response.status_code == 200
    return response


def calls(response: Any) -> list[tuple[str, int]]:
    return [(call.entry.chain, call.entry.seq) for call in response.context["calls"].rows]
