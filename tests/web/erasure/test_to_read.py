"""After an erasure, the letter names the memories to read: what else they say about the person stays."""

import re

import pytest

from memoryhub.models import Memory, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import erase, find, write
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_memories_in_the_trash_are_to_be_read_too(store: MemoryStore, key: str, alice: User) -> None:
    write(store, "/live.md", "Quellenberg called\n")
    gone = write(store, "/gone.md", "Quellenberg wrote from Hamburg\n")
    write(store, "/other.md", "nothing\n")
    Caller(store, key).delete("/gone.md")
    Caller(store, key).delete("/other.md")
    client = signed_in(alice)
    letter = erase(client, find(client, "quellenberg"))
    to_read = letter[letter.index('id="to-read-title"') :]
    assert re.findall(r'break-anywhere" href="[^"]*">([^<]*)</a>', to_read) == ["/live.md", "/gone.md"]
    assert to_read.count("in the trash") == 1
    deleted = Memory.objects.get(pk=gone.pk)
    link = re.search(r'href="([^"]*)">/gone.md', to_read)
    assert link and "Hamburg" not in deleted.path and client.get(link[1]).status_code == 200
