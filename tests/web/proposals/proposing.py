"""What the tests of proposals' pages share: an agent under a rule that holds its changes back, and people's answers."""

import re
from html import unescape
from typing import Any

from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import path_rules
from memoryhub.models import AuditEntry, Memory, MemoryStore, Proposal, User
from memoryhub.pure.path_rules import Effect, PathRule
from tests.support.fixtures import BY
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

LINES = "".join(f"{number}\n" for number in ("one", "two", "three", "four", "five", "six", "seven"))


def holds_back(store: MemoryStore, pattern: str = "/policies/", effect: Effect = Effect.PROPOSE) -> None:
    """Makes what agents change under a path wait for a person, by the only rule of the store."""
    now = MemoryStore.objects.get(pk=store.pk)
    before = path_rules.of_store(now)
    path_rules.save(store.pk, (PathRule(effect, pattern),), path_rules.digest(before), Act(**BY))


def begun(store: MemoryStore, key: str, *paths: str) -> Caller:
    """An agent that has written some memories, and whose changes are held back from now on."""
    caller = Caller(store, key, session="run-7")
    for path in paths:
        caller.create(path, LINES)
    holds_back(store)
    return caller


def proposes(caller: Caller, command: str, path: str, **input: Any) -> None:
    told = caller.call(command, path=f"/memories{path}", **input).content
    assert "Not written: this change is now part of proposal #" in told, told


def replaces(caller: Caller, path: str, old: str, new: str) -> None:
    proposes(caller, "str_replace", path, old_str=old, new_str=new)


def moves(caller: Caller, path: str, to: str) -> None:
    told = caller.call("rename", old_path=f"/memories{path}", new_path=f"/memories{to}").content
    assert "proposal #" in told, told


def listed(store: MemoryStore, query: str = "") -> str:
    return reverse("proposals", args=[store.pk]) + query


def url_of(store: MemoryStore, number: int = 1) -> str:
    return reverse("proposal", args=[store.pk, number])


def send(client: Client, store: MemoryStore, number: int = 1, /, **given: str) -> Any:
    """Merges as a browser would, with what a person has chosen besides."""
    url = url_of(store, number)
    fields = form_with(client.get(url).content.decode(), "digest")
    return client.post(url, fields | {"decision": "merge"} | given, follow=True)


def send_without(client: Client, store: MemoryStore, *hunks: str, **given: str) -> Any:
    """Merges without some hunks of proposal 1, each `memory:number`, as a browser would: a tick that is off is not
    sent."""
    url = url_of(store)
    html = client.get(url).content.decode()
    offered = re.findall(r'name="offered" value="([^"]+)"', html)
    assert set(hunks) <= set(offered) == set(re.findall(r'name="take" value="([^"]+)"', html))
    ticked = [hunk for hunk in offered if hunk not in hunks]
    fields = form_with(html, "digest") | {"offered": offered, "take": ticked, "decision": "merge"}
    return client.post(url, fields | given, follow=True)


def press(client: Client, store: MemoryStore, page: Any, **given: Any) -> Any:
    """Presses a button on the page of proposal 1, with what is in its form."""
    html = page.content.decode()
    fields: dict[str, Any] = form_with(html, "digest")
    for name in ("offered", "take"):
        ticked = "[^>]* checked" if name == "take" else ""
        fields[name] = re.findall(rf'name="{name}" value="([^"]+)"{ticked}', html)
    for memory, text in re.findall(r'<textarea id="text-([^"]+)"[^>]*>\n(.*?)</textarea>', html, re.DOTALL):
        fields[f"text-{memory}"] = unescape(text)
    return client.post(url_of(store), fields | given, follow=True)


def refuse(client: Client, store: MemoryStore, number: int = 1, /, **given: str) -> Any:
    url = url_of(store, number)
    fields = form_with(client.get(url).content.decode(), "changed")
    return client.post(url, fields | {"decision": "refuse"} | given, follow=True)


def edit(store: MemoryStore, path: str, old: str, new: str, by: User) -> None:
    """A person changes a memory, whatever the rules say to agents."""
    memory = Memory.objects.at(path).select_related("text").get(store=store)
    assert memory.text
    curation.edit(store.pk, memory.pk, memory.text.content.replace(old, new), memory.sha256, act(by))


def texts(store: MemoryStore) -> dict[str, str]:
    return dict(Memory.objects.live().filter(store=store).values_list("path", "text__content"))


def state(store: MemoryStore, number: int = 1) -> tuple[str, str]:
    """The state of a proposal, and the reason."""
    proposal = Proposal.objects.of_store(store.pk).get(number=number)
    return proposal.state, proposal.reason


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.pk).newest()[0]
