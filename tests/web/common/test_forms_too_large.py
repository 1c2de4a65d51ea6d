"""Forms that are larger than the hub takes are refused on a page in words."""

import pytest
from django.conf import settings

from memoryhub.models import MemoryStore, User
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db

FIELDS = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS or 0
BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0


@pytest.mark.parametrize("form", [{"id": ["x"] * FIELDS, "act": "hold"}, {"ids": "x" * BYTES}], ids=["fields", "bytes"])
def test_a_form_that_is_too_large_is_refused_in_words(store: MemoryStore, alice: User, form: dict[str, object]) -> None:
    client, url = signed_in(alice), f"/stores/{store.id}/selection"
    for headers in ({}, {"hx-request": "true"}):
        answer = client.post(url, form, headers=headers)
        assert answer.status_code == 400
        assert "This form is too large" in answer.content.decode() and "Nothing was changed" in answer.content.decode()
    assert answer.headers["HX-Retarget"] == "#alerts"


def test_many_of_a_selection_are_refused_by_their_number(store: MemoryStore, alice: User) -> None:
    form = {"id": [f"mem_{number:026}" for number in range(1_100)], "act": "hold"}
    assert "500" in signed_in(alice).post(f"/stores/{store.id}/selection", form).content.decode()
