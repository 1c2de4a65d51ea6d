"""What a second person sees of memories that would be removed permanently, and who asks for it."""

import re

import pytest

from memoryhub.models import Memory, MemoryStore, User
from tests.support.fixtures import new_person, signed_in
from tests.web.accounts.test_second_person import TURN, allow, ask, do, text_of
from tests.web.erasure.erasing import write

pytestmark = pytest.mark.django_db


def test_each_memory_that_would_be_removed_is_named(store: MemoryStore, alice: User, superuser: User) -> None:
    other = new_person("Olga", is_superuser=True)
    signed_in(superuser).post(TURN, {"on": "1"})
    first = [write(store, f"/drafts/{number:02}.md", "draft\n").pk for number in range(51)]
    ids = [*first, write(store, "/signed/contract.md", "signed\n").pk]
    request = ask(signed_in(alice), f"/stores/{store.pk}/remove", {"id": ids, "name": store.name, "note": ""})
    page = text_of(signed_in(other).get(f"/acts/{request.pk}"))
    assert "/signed/contract.md" in page and page.count("/drafts/") == 51


def test_the_second_person_can_open_what_is_removed_and_reads_the_note_as_the_reason(
    store: MemoryStore, superuser: User
) -> None:
    other, client = new_person("Olga", is_superuser=True), signed_in(superuser)
    client.post(TURN, {"on": "1"})
    memory = write(store, "/a.md", "one\n")
    page, address = f"/stores/{store.pk}/memories/{memory.pk}", f"/stores/{store.pk}/remove"
    form = {"id": memory.pk, "name": "a.md", "note": "Ticket 8"}
    asked = text_of(client.post(address, form))
    assert re.search(r'<textarea name="second_reason"[^>]*>\s*Ticket 8</textarea>', asked)
    assert page not in asked.partition("<h2>")[2], "it would leave the form"
    request = ask(client, address, form)
    assert f'<a href="{page}">/a.md</a>' in text_of(signed_in(other).get(f"/acts/{request.pk}"))
    allow(other, request)
    assert "allowed: you can do it now" in text_of(client.get("/"))
    assert "you can do it now" not in text_of(signed_in(other).get(f"/acts/{request.pk}"))
    do(client, request)
    assert not Memory.objects.filter(pk=memory.pk).exists()
