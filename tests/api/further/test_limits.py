"""What the API has beyond the official one, in an archived store and at the limit of calls."""

import pytest

from memoryhub.actions.stores import stores
from memoryhub.models import Access, MemoryVersion
from tests.api.further.managed import get, post, refusal
from tests.api.harness import BY, Hub, new_hub, new_secret

pytestmark = pytest.mark.django_db


def test_the_archive_and_a_limit_of_calls(managed: Hub) -> None:
    few = new_hub(limit_calls=1)
    few.call(command="create", path="/memories/a.md", file_text="x")
    manager = Hub(few.store, new_secret(few.store, Access.MANAGE))
    made = MemoryVersion.objects.get(store=few.store).pk
    assert get(manager, "search", query="x").status == 200
    for path in (f"memory_versions/{made}/diff", "search?query=x", "audit_entries"):
        assert refusal(get(manager, path)) == (429, "rate_limit_error"), path
    assert refusal(post(manager, f"memory_versions/{made}/restore"))[0] == 429
    stores.set_archived(managed.store, True, **BY)
    assert get(managed, "search", query="tea").status == 200
