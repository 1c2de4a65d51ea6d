"""What is derived for directories is computed again by `verify_audit`: a listing follows these rows."""

import pytest

from memoryhub.actions.verification import verify
from memoryhub.models import Directory
from tests.api.harness import AT, Hub
from tests.support.write_guard import tampering


def wrong(hub: Hub) -> str:
    _, problem = verify.verify(hub.store.id)
    return problem.what if problem else ""


@pytest.mark.both_databases
def test_a_directory_that_was_moved_out_of_sight_is_noticed(filled: Hub) -> None:
    assert wrong(filled) == ""
    with tampering():
        Directory.objects.filter(store=filled.store, path="/a/c/d").update(parent=None)
    assert wrong(filled) == "directory /a/c/d is not in the one above it"


def test_an_empty_directory_is_noticed(filled: Hub) -> None:
    root = Directory.objects.get(store=filled.store, path="")
    with tampering():
        Directory.objects.create(id="dir_x", store=filled.store, path="/nothing", parent=root, changed_at=AT)
    assert wrong(filled) == "directory /nothing is empty and still there"
