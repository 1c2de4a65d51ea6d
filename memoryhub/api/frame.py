"""What the hub does for every operation: checks in a fixed order, values for the function, and its result as JSON.

Operations are declared on Ninja's routers, which make the OpenAPI document. The hub runs the operations itself, because
Ninja makes the checks in another order and takes three times as long.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args, get_type_hints

from django.http import HttpRequest, HttpResponseBase
from pydantic import BaseModel, ValidationError

from memoryhub.actions.accounts import keys_and_roles as access_actions
from memoryhub.actions.core.rules.sight import sight_in
from memoryhub.actions.core.transactions import my_turn
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.actions.memories.calls import Caller, NotRun
from memoryhub.actions.memories.refusals import Refusal
from memoryhub.api import queries
from memoryhub.api.declared import Declared
from memoryhub.api.refusals import problem_of
from memoryhub.api.sentences import sentence_of
from memoryhub.machines import requests
from memoryhub.machines.answers import JsonAnswer
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, Door
from memoryhub.pure import compact_json, strict_json
from memoryhub.pure.protocol.errors import ToolError

Json = dict[str, Any]

MAY = {
    Access.READ: "This needs a key with `read` access.",
    Access.WRITE: "This needs a key with `write` access to the memory store.",
    Access.MANAGE: "This needs a key with `manage` access to the memory store.",
}
ALL_STORES = "This needs a key with `manage` access to all memory stores."
SESSIONS_MAY_NOT = "A request with a session cannot do this."
NOT_WHOLE = "This needs a key that may see every memory of the memory store."

encode = compact_json.writer()


@dataclass(frozen=True, slots=True)
class needs:  # noqa: N801 - it reads as a word where an operation is declared
    """What an operation requires of the key.

    `access` is the lowest sufficient access. `session`: a request that names a session may do it. `all_stores`: the key
    must reach all memory stores; `instead` is a sentence about what other keys may do. `whole`: no path rule may hide
    memories of the store from the key.
    """

    access: Access
    session: bool = True
    all_stores: bool = False
    instead: str = ""
    whole: bool = False

    def __call__(self, request: HttpRequest) -> None:
        """Do nothing. Ninja requires a callable; Endpoint makes the checks."""


@dataclass(slots=True)
class Call:
    """A request whose key allows the operation. `store_id` is "" if the address names no memory store."""

    caller: Caller
    store_id: str
    at: datetime
    elapsed: Callable[[], int]
    session: str | None
    body: bytes

    @property
    def asked(self) -> Asked:
        return Asked(self.caller, Door.API, self.at, self.session, self.elapsed)


def call_of(request: HttpRequest) -> Call:
    """Return the Call of a request that passed the checks."""
    call: Call = request.auth  # type: ignore[attr-defined]
    return call


class Endpoint:
    """The operations of one address. An operation with `auth=None` gets the request unchecked, and checks it itself."""

    def __init__(self, operations: Sequence[Declared]) -> None:
        self.name = operations[0].name
        self.runs = {method: _Run(operation) for operation in operations for method in operation.methods}
        self.methods = tuple(self.runs)
        self.csrf_exempt = True

    def __call__(self, request: HttpRequest, **path: str) -> HttpResponseBase:
        elapsed = requests.stopwatch()
        run = self.runs.get(request.method or "")
        if run is not None and run.needs is None:
            return _answer(run.call(request, **path))
        body = requests.body_of(request)
        if run is None:
            raise Problem.method(", ".join(self.methods))
        return run(request, body, path, elapsed)


class _Run:
    """One operation, with its requirements (`needs`) and the models of its query and body."""

    __slots__ = ("body", "call", "closed_to_sessions", "needs", "query", "takes_body")

    def __init__(self, operation: Declared) -> None:
        self.call = operation.function
        self.needs: needs | None = operation.needs if isinstance(operation.needs, needs) else None
        self.closed_to_sessions = self.needs is not None and not self.needs.session
        self.query, self.body = _models(operation.function)
        self.takes_body = not {"GET", "DELETE"}.issuperset(operation.methods)

    def __call__(
        self, request: HttpRequest, body: bytes, path: dict[str, str], elapsed: Callable[[], int]
    ) -> HttpResponseBase:
        if any("\0" in value for value in path.values()):  # PostgreSQL refuses NUL; no id contains either character
            path = {name: value.replace("\0", "\ufffd") for name, value in path.items()}
        at = requests.moment_of(request)
        with my_turn():
            caller = self._caller(request, path.get("memory_store_id"), at)
            requests.require_size(body, caller)
            values = self._values(request, body)
            session = requests.session_of(request)
            store = path.get("memory_store_id", "")
            request.auth = Call(caller, store, at, elapsed, session, body)  # type: ignore[attr-defined]
            return _answer(_translated(self.call, request, path, values))

    @property
    def _all_stores(self) -> str:
        assert self.needs is not None
        return f"{ALL_STORES} {self.needs.instead}".rstrip()

    def _caller(self, request: HttpRequest, store_id: str | None, at: datetime) -> Caller:
        """Return the caller.

        Raises Problem: 401 without a valid key; 404 if the key does not reach the store; 403 if the key or its session
        may not do the operation. A 403 is audited.
        """
        caller = requests.caller_of(request, store_id, at, Door.API)
        assert self.needs is not None
        if not caller.access.includes(self.needs.access):
            why = self._all_stores if self.needs.all_stores else MAY[self.needs.access]
        elif self.closed_to_sessions and "HTTP_MEMORYHUB_SESSION" in request.META:
            why = SESSIONS_MAY_NOT
        elif self.needs.all_stores and not access_actions.reaches_all(caller):
            why = self._all_stores
        elif self.needs.whole and store_id and sight_in(store_id, caller.actor, at) is not None:
            why = NOT_WHOLE
        else:
            return caller
        requests.note_refusal(request, caller, Refusal(store_id or "", 403, why), door=Door.API, at=at)
        raise Problem.forbidden(why)

    def _values(self, request: HttpRequest, body: bytes) -> dict[str, Any]:
        """Return the validated query and body by parameter name; raises Problem: 415 or 400."""
        values: dict[str, Any] = {}
        given = requests.json_of(request, body) if self.takes_body and (body or self.body) else None
        if given is not None and strict_json.may_be_doubtful(body) and strict_json.doubtful(given):
            raise Problem.invalid("A string of the body has an unpaired surrogate or a NUL character.")
        try:
            if self.query:
                name, model = self.query
                values[name] = model.model_validate(queries.parsed(request.META.get("QUERY_STRING", ""), model))
            if self.body:
                name, model = self.body
                values[name] = model.model_validate(given, strict=True)
        except ValidationError as error:
            raise Problem.invalid(sentence_of(error)) from None
        return values


def _models(view: Callable[..., Any]) -> tuple[tuple[str, type[BaseModel]] | None, tuple[str, type[BaseModel]] | None]:
    """Return the view's parameter for the query and its parameter for the body, each as (name, model).

    A parameter that the view does not have is None.
    """
    query = body = None
    for name, hint in get_type_hints(view, include_extras=True).items():
        if name == "return":
            continue
        model, *how = get_args(hint) or (hint,)
        if inspect.isclass(model) and issubclass(model, BaseModel):
            if how:
                query = name, model
            else:
                body = name, model
    return query, body


def _translated(call: Callable[..., Any], request: HttpRequest, path: dict[str, str], values: dict[str, Any]) -> Any:
    """Return the operation's result. Errors of the actions become Problems."""
    try:
        return call(request, **path, **values)
    except ToolError as error:
        raise problem_of(error) from None
    except NotRun as error:
        raise Problem.not_run(error) from None
    except NoSuchStore:
        raise Problem.no_store() from None


def _answer(result: Any) -> HttpResponseBase:
    """Return `result` if it is a response, else a response with `result` as JSON."""
    if isinstance(result, HttpResponseBase):
        return result
    return JsonAnswer(encode(result))
