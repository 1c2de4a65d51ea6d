"""What a second person sees of memories that would be removed permanently."""

import pytest

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import new_person, signed_in
from tests.web.accounts.test_second_person import TURN, ask, text_of
from tests.web.erasure.erasing import write

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_each_memory_that_would_be_removed_is_named(store: MemoryStore, alice: User, superuser: User) -> None:
    other = new_person("Olga", is_superuser=True)
    signed_in(superuser).post(TURN, {"on": "1"})
    first = [write(store, f"/drafts/{number:02}.md", "draft\n").pk for number in range(51)]
    ids = [*first, write(store, "/signed/contract.md", "signed\n").pk]
    request = ask(signed_in(alice), f"/stores/{store.pk}/remove", {"id": ids, "name": store.name, "note": ""})
    page = text_of(signed_in(other).get(f"/acts/{request.pk}"))
    assert "/signed/contract.md" in page and page.count("/drafts/") == 51
