"""Where acts need a second person, policies do: they remove permanently, too."""

import re

import pytest

from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.models import MemoryStore, RetentionPolicy, Role, User
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.accounts.test_second_person import TURN, allow, ask, do, is_whole, text_of

pytestmark = pytest.mark.django_db


def test_nobody_removes_alone_by_a_policy_made_for_it(store: MemoryStore, alice: User, superuser: User) -> None:
    new_person("Olga", is_superuser=True), signed_in(superuser).post(TURN, {"on": "1"})
    admin = new_person("Ada")
    set_role(store, admin, Role.ADMIN, **BY)
    client, where = signed_in(alice), f"/stores/{store.pk}/retention/new"
    form = {"name": "One", "grace_days": "30", "use_keep_versions": "on", "keep_versions": "1", "act": "save"}
    page = text_of(client.post(where, form))
    seen = re.search(r'name="seen" value="([^"]+)"', page)
    assert seen is not None and "A second person is needed. On the next page, you ask this person." in page
    request = ask(client, where, form | {"seen": seen[1]})
    assert not RetentionPolicy.objects.exists()
    assert "Keeps the newest version of each memory." in text_of(signed_in(admin).get(f"/acts/{request.pk}"))
    allow(admin, request)
    do(client, request)
    policy = RetentionPolicy.objects.get()
    where = f"/retention/policies/{policy.pk}"
    form |= {"grace_days": "1", "keep_versions": "1000"}
    seen = re.search(r'name="seen" value="([^"]+)"', text_of(client.post(where, form)))
    assert seen is not None
    read = text_of(signed_in(admin).get(f"/acts/{ask(client, where, form | {'seen': seen[1]}).pk}"))
    told = read[read.index("What this act does") :]
    assert "moved a memory to the trash, the memory is removed permanently after 1 day there" in told, (
        "it empties the trash of other policies"
    )
    assert "Until now" in told and "Keeps the newest version of each memory." in told
    where = f"/retention/policies/{policy.pk}/delete"
    assert "A second person is needed" in text_of(client.get(where))
    request = ask(client, where, {})
    assert RetentionPolicy.objects.exists() and request.store == store.pk
    assert "If no other policy matches, they are removed permanently 30 days after" in text_of(
        signed_in(admin).get(f"/acts/{request.pk}")
    )
    allow(admin, request)
    do(client, request)
    assert not RetentionPolicy.objects.exists() and is_whole(store.pk)
