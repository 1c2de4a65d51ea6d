"""A store whose memory has several versions."""

import pytest

from memoryhub.models import Access
from tests.api.harness import Hub, new_secret


@pytest.fixture
def managed(hub: Hub) -> Hub:
    """A store whose memory /a/b.md has three versions, with a key that may manage it."""
    hub.call(command="create", path="/memories/a/b.md", file_text="one\ntwo\nthree")
    hub.call(command="str_replace", path="/memories/a/b.md", old_str="two", new_str="TEA")
    hub.call(command="insert", path="/memories/a/b.md", insert_line=0, insert_text="zero\n")
    hub.call(command="create", path="/memories/c.md", file_text="tea and cake\n")
    return Hub(hub.store, new_secret(hub.store, Access.MANAGE))
