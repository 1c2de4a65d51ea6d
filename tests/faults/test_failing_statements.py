"""Each statement of each command fails once: nothing is half done, and nothing is said to be done that is not.

Where a statement fails, the answer is an error and no table has changed. After the commit, a request of the API or of a
page reads what it answers; if that fails, the act is done as a whole. The statements are counted in the process of the
test; how the hub behaves when the database really goes away is tried in `test_faults`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.sql import statements
from memoryhub.actions.verification.verify import verify
from memoryhub.models import Access, Agent, AuditEntry, Memory, MemoryStore, User
from tests.faults.test_faults import times
from tests.support.fixtures import BY, signed_in
from tests.web.browser_forms import form_with, sent
from tests.web.memories.pages import page, url_of

pytestmark = pytest.mark.django_db
OF_BROWSERS = {"BrowserSession", "CallWindow", "Claim", "Key", "RefusalWindow", "RefusedCalls", "TryCounter"}
"""What counts tries and uses, or moves on with the clock, whatever becomes of the act."""
MOST = 400

TOOL: dict[str, dict[str, Any]] = {
    "view": {"command": "view", "path": "/memories/notes/a.md"},
    "view of a directory": {"command": "view", "path": "/memories"},
    "create": {"command": "create", "path": "/memories/new/b.md", "file_text": "One\npassword: hunter2secret\n"},
    "str_replace": {"command": "str_replace", "path": "/memories/notes/a.md", "old_str": "One", "new_str": "Two"},
    "insert": {"command": "insert", "path": "/memories/notes/a.md", "insert_line": 1, "insert_text": "More\n"},
    "delete": {"command": "delete", "path": "/memories/notes/a.md"},
    "delete of a directory": {"command": "delete", "path": "/memories/notes"},
    "rename": {"command": "rename", "old_path": "/memories/notes/a.md", "new_path": "/memories/moved/a.md"},
    "rename of a directory": {"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/moved"},
    "a refused call": {"command": "view", "path": "/memories/missing.md"},
}
Ask = Callable[[], Any]


@contextmanager
def failing_at(number: int) -> Iterator[list[int]]:
    """Let the statement of this number fail, one that the driver is sent directly with the driver's own error; yields a
    list with what is left to count."""
    left = [number]

    def count(done: Callable[[], Any], failure: type[Exception]) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise failure("disk I/O error")
        return done()

    def orm(execute: Any, query: str, params: Any, many: bool, context: Any) -> Any:
        return count(lambda: execute(query, params, many, context), OperationalError)

    def direct(original: Callable[..., Any]) -> Callable[..., Any]:
        failure = connection.Database.OperationalError
        return lambda *one, **options: count(lambda: original(*one, **options), failure)

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(orm):
        for name in ("_run", "_run_many"):
            patch.setattr(statements, name, direct(getattr(statements, name)))
        yield left


def tables() -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the hub."""
    models = [model for model in apps.get_app_config("memoryhub").get_models() if model.__name__ not in OF_BROWSERS]
    return {model.__name__: sorted(map(repr, model._base_manager.values_list())) for model in models}  # type: ignore[misc]


def fail_everywhere(ask: Ask, statuses: set[int], *, reads_after: bool = False) -> int:
    """Let each statement fail (in the short form each fifth one) until the act is done; return how many there were.
    `reads_after`: the act may be done while a later statement fails."""
    before, entries = tables(), AuditEntry.objects.count()
    for number in range(1, MOST, times(5, 1)):
        with failing_at(number) as left:
            answer = ask()
        if left[0] > 0:
            assert answer.status_code in statuses, (number, answer.content)
            return number - 1
        assert answer.status_code == 503 and answer.headers["Retry-After"], (number, answer.status_code, answer.content)
        if reads_after and AuditEntry.objects.count() == entries + 1:
            return number
        assert tables() == before, f"statement {number} left something"
    raise AssertionError("it does not end")


@pytest.fixture
def programs(store: MemoryStore, agent: Agent) -> Client:
    """A program with a key that may manage the store, which has memories, one of them in the trash."""
    secret = keys_and_roles.issue_key(agent, stores=[store], access=Access.MANAGE, **BY)[1]
    client = Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)
    for path in ("/notes/a.md", "/notes/b.md", "/gone.md"):
        call(client, store, {"command": "create", "path": f"/memories{path}", "file_text": "One\nTwo\n"})
    call(client, store, {"command": "delete", "path": "/memories/gone.md"})
    return client


def call(client: Client, store: MemoryStore, input: dict[str, Any], id: str = "") -> Any:
    block = {"type": "tool_use", "id": id or f"toolu_{AuditEntry.objects.count()}", "name": "memory", "input": input}
    return client.post(f"/v1/memory_stores/{store.pk}/tool_calls", block, content_type="application/json")


@pytest.mark.parametrize("name", TOOL)
def test_a_tool_call_of_which_any_statement_fails_is_not_done_and_can_be_sent_again(
    programs: Client, store: MemoryStore, name: str
) -> None:
    entries = AuditEntry.objects.count()
    done = fail_everywhere(lambda: call(programs, store, TOOL[name], "toolu_same"), {200})
    assert done >= 4 and AuditEntry.objects.count() == entries + 1 and verify(store.pk)[1] is None


@pytest.mark.push
def test_requests_of_the_api_of_which_any_statement_fails_are_not_done(programs: Client, store: MemoryStore) -> None:
    base, memory = f"/v1/memory_stores/{store.pk}", Memory.objects.live().get(store=store, path="/notes/a.md").pk
    version = Memory.objects.get(store=store, pk=memory).head_id
    asks: list[Ask] = [
        lambda: programs.post(f"{base}/memories", {"path": "/c.md", "content": "x"}, content_type="application/json"),
        lambda: programs.post(f"{base}/memories/{memory}", {"content": "Neu"}, content_type="application/json"),
        lambda: programs.post(f"{base}/memory_versions/{version}/redact", {}, content_type="application/json"),
        lambda: programs.delete(f"{base}/memories/{memory}"),
        lambda: programs.post(f"{base}/archive", {}, content_type="application/json"),
    ]
    for ask in asks:
        assert fail_everywhere(ask, {200}, reads_after=True) >= 4
        assert verify(store.pk)[1] is None


@pytest.mark.push
def test_acts_of_people_of_which_any_statement_fails_are_not_done(
    programs: Client, store: MemoryStore, alice: User
) -> None:
    del programs
    browser = signed_in(alice)
    browser.raise_request_exception = False
    memory = Memory.objects.live().get(store=store, path="/notes/a.md")
    newest = AuditEntry.objects.of_chain(store.pk).newest().values_list("seq", flat=True)
    decide = reverse("decide", args=[store.pk])
    edit = sent(form_with(page(browser, url_of(memory, "edit")), "sha256"), text="Three\n")
    approved: list[int] = []
    asks: dict[str, Ask] = {
        "approve": lambda: browser.post(decide, {"version": memory.head_id, "decision": "approve"}),
        "take back": lambda: browser.post(reverse("undo_decision", args=[store.pk, approved[0]])),
        "edit": lambda: browser.post(reverse("edit_memory", args=[store.pk, memory.pk]), edit),
        "delete": lambda: browser.post(reverse("delete_memory", args=[store.pk, memory.pk])),
    }
    for name, ask in asks.items():
        entries = AuditEntry.objects.of_chain(store.pk).count()
        assert fail_everywhere(ask, {200, 302, 303}, reads_after=True) >= 4
        assert AuditEntry.objects.of_chain(store.pk).count() == entries + 1, name
        assert verify(store.pk)[1] is None
        approved.append(newest[0])
