"""Texts that want to become more than text, in every place where an agent or a person may write one."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import Access, Agent, AuditEntry, Door, Key, Memory, MemoryStore, Role, User
from tests.support.fixtures import AT, BY, new_person

TARGET = "/hostile-target"
ELSEWHERE = "elsewhere.example"
HIDDEN = "\u202egnp.exe\u202c \u2066x\u2069 zero\u200bwidth \ufeff"
TAGS = (
    "<script>window.hostile=1</script><img src=x onerror=window.hostile=1><svg onload=window.hostile=1></svg>"
    f"<b hx-get={TARGET} hx-trigger=load hx-on::load=window.hostile=1>b</b><style>*{{display:none}}</style>"
)
ESCAPES = (
    "</textarea></code></pre></title></script><!-- ]]> --><a href=javascript:window.hostile=1>a</a>"
    "\" onmouseover=window.hostile=1 autofocus onfocus=window.hostile=1 x=\"' onfocus=window.hostile=1 '"
    "{{ 7|add:7 }}{% now 'Y' %}&lt;script&gt;&#60;b&#62;"
)
REMOTE = (
    f"<iframe src=https://{ELSEWHERE}/></iframe><img src=https://{ELSEWHERE}/a.png><base href=https://{ELSEWHERE}/>"
    f"<link rel=stylesheet href=https://{ELSEWHERE}/a.css><meta http-equiv=refresh content=0;url=https://{ELSEWHERE}/>"
    f"<form action=https://{ELSEWHERE}/><button>Sign in</button></form>"
)
MARKDOWN = (
    f"![a](https://{ELSEWHERE}/b.png) ![b](//{ELSEWHERE}/c.png) [c](javascript:window.hostile=1)\n\n"
    f"[d](data:text/html,<script>window.hostile=1</script>) <https://{ELSEWHERE}/d> [e]\n\n"
    "[e]: vbscript:window.hostile=1\n"
)
CONTENT = "\n".join(["# Title", TAGS, ESCAPES, REMOTE, HIDDEN, MARKDOWN])
ONE_LINE = TAGS[:90] + '" onfocus=window.hostile=1 x="'
SESSION = '"><svg/onload=window.hostile=1>{{7|add:7}}'
TOOL_ID = "<img src=x onerror=window.hostile=1>\" ' \u202e\u200b"
DIRECTORY = "/<img src=x onerror=window.hostile=1>"
PATH = DIRECTORY + '/" onfocus=window.hostile=1 x=".md'


@dataclass(slots=True)
class World:
    """A store in which everything is hostile, with an agent's calls and a person's acts."""

    store: MemoryStore
    agent: Agent
    key: Key
    secret: str
    person: User

    def call(self, id: str, **input: Any) -> bool:
        """Runs a command through the machines' door; says whether the tool did it."""
        answer = Client().post(
            f"/v1/memory_stores/{self.store.id}/tool_calls",
            json.dumps({"type": "tool_use", "id": id, "name": "memory", "input": input}),
            content_type="application/json",
            headers={"authorization": f"Bearer {self.secret}", "memoryhub-session": SESSION},
        )
        assert answer.status_code == 200, answer.content
        return not answer.json().get("is_error", False)

    def memory(self, path: str = PATH) -> Memory:
        return Memory.objects.at(path).get(store=self.store)


def build() -> World:
    """The hostile world: a memory of three versions, calls that fail, names of everything."""
    settings = stores.StoreSettings(name=f"{ONE_LINE}{HIDDEN}", description=CONTENT[:800])
    store = stores.create_store(settings, **BY)
    agent = keys_and_roles.create_agent(f"{ONE_LINE}{HIDDEN}"[-100:], **BY, description=TAGS + HIDDEN)
    key, secret = keys_and_roles.issue_key(
        agent, stores=[store], access=Access.WRITE, name=ONE_LINE[:80] + "\u202e", **BY
    )
    person = new_person("Eve", is_superuser=True)
    other = new_person(f"{ONE_LINE[:60]}\u202e\u200b")
    keys_and_roles.set_role(store, other, Role.ADMIN, **BY)
    world = World(store, agent, key, secret, person)
    _calls(world)
    _acts(world, other)
    return world


def _calls(world: World) -> None:
    path = f"/memories{PATH}"
    assert world.call(TOOL_ID + "1", command="create", path=path, file_text=CONTENT)
    assert world.call(TOOL_ID + "2", command="view", path=path)
    assert world.call(TOOL_ID + "3", command="insert", path=path, insert_line=0, insert_text=HIDDEN + "\n")
    assert not world.call(TOOL_ID + "4", command="view", path=f"/memories/{TAGS}{HIDDEN}")
    assert not world.call(TOOL_ID + "5", command=TAGS + HIDDEN, path="/memories")
    assert not world.call(TOOL_ID + "6", command="str_replace", path=path, old_str=TAGS * 2, new_str=HIDDEN)


def _acts(world: World, person: User) -> None:
    memory = world.memory()
    act = Act(Actor.person(person), Door.WEB, AT, note=f"{TAGS}{HIDDEN}")
    curation.edit(world.store.id, memory.id, CONTENT.replace("# Title", "# Another"), memory.sha256, act)


def pages(world: World) -> list[str]:
    """The address of every page that shows something of the hostile world."""
    memory = world.memory()
    versions = list(world.store.versions.filter(memory=memory).order_by("number"))
    in_store = {"store_id": world.store.id}
    of_memory = in_store | {"memory_id": memory.id}
    directory = in_store | {"path": DIRECTORY[1:]}
    of_agent = {"agent_id": world.agent.id}
    first = in_store | {"version_id": versions[0].id}
    compare = reverse("compare", kwargs=of_memory) + "?from=1&to=3"
    names = ("store", "edit_store", "archive_store", "new_memory", "members", "store_keys", "store_audit")
    own = ("memory", "edit_memory", "rename_memory", "delete_memory", "versions")
    entries = AuditEntry.objects.of_chain(world.store.id).values_list("seq", flat=True)
    return [
        *(reverse(name) for name in ("stores", "agents", "people", "audit")),
        *(reverse(name, kwargs=in_store) for name in names),
        *(reverse(name, kwargs=of_memory) for name in own),
        reverse("memory", kwargs=of_memory) + "?view=rendered",
        *(reverse(name, kwargs=directory) for name in ("directory", "rename_directory", "delete_directory")),
        *(compare, compare + "&mode=split", compare + "&context=all"),
        *(reverse(name, kwargs=first) for name in ("version", "restore_version")),
        *(reverse(name, kwargs=of_agent) for name in ("agent", "edit_agent", "issue_key")),
        *(reverse(name, kwargs={"key_id": world.key.id}) for name in ("revoke_key", "replace_key")),
        *(reverse("entry", kwargs={"chain": world.store.id, "seq": seq}) for seq in entries),
    ]
