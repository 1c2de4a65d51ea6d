"""What the tests of the pages of memories share: people's acts, pages, and texts that are hard to keep as they are."""

from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Door, Memory, MemoryStore, Role, User
from tests.support.fixtures import AT, BY, new_person

HOSTILE = (
    "<script>alert(1)</script>\n<img src=x onerror=alert(1)>\n</textarea><b hx-get='/x'>\n{{ 7|add:7 }} {% now 'Y' %}\n"
    "\u202egnp.exe \u200b\u2066 \x01\x7f\ufeff ]]> &amp; &#60;\n"
)
TEXTS = (
    "", "\n", "\n\n\nthree first", "no end", "end\n", "two ends\n\n", "  spaces  \n\t\n", HOSTILE,
    "a\r\nb\r\n", "a\r\nb", "\r\n", "a\rb\n", "\r", "\ra", "a\n\r\nb\r", "␍ and \r", "␍ ⟨CR1⟩ \r\n\n ⟨CR2⟩",
    "日本語\n👩\u200d👩\u200d👧\n", "\u2028\u0085\x0b\x0c\n", "\ufeffbom", "x" * 50_000,
)  # fmt: skip


def new_curator(store: MemoryStore) -> User:
    """Somebody who also edits."""
    user = new_person("Carol")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


def act(person: User | None = None) -> Act:
    return Act(Actor.person(person) if person else Actor.system("tests"), Door.WEB, AT)


def write(store: MemoryStore, path: str, content: str = "text\n") -> Memory:
    return Memory.objects.get(pk=curation.create(store.id, path, content, act()).memory)


def page(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def text_of(memory: Memory) -> str:
    found = Memory.objects.select_related("text").get(pk=memory.pk)
    assert found.text is not None
    return str(found.text.content)


def url_of(memory: Memory, page: str = "") -> str:
    return f"/stores/{memory.store_id}/memories/{memory.id}" + (f"/{page}" if page else "")


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.id).newest()[0]
