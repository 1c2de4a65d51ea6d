"""Sessions at the API in the shape of Anthropic's: where a directory sync puts their memory stores."""

import pytest

from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from tests.api.harness import BY, Hub, new_secret


@pytest.mark.parametrize(
    ("name", "path"),
    [("First steps", "first-steps"), ("Größe_2 (alt).md", "gr-e-2-alt-md"), ("--A  B--", "a-b"), ("日本", None)],
)
def test_a_session_mounts_a_store_at_its_name_as_the_sdk_describes_it(db: None, name: str, path: str | None) -> None:
    """Small letters, and one hyphen for each run of other characters than ASCII letters and digits."""
    store = stores.create_store(StoreSettings(name=name), **BY)
    hub = Hub(store, new_secret(store))
    assert hub.send(hub.block(command="view", path="/memories"), memoryhub_session="run").status == 200
    (session,) = hub.send(b"", method="GET", url=f"/v1/sessions?memory_store_id={store.id}").value["data"]
    assert session["resources"][0]["mount_path"] == f"/mnt/memory/{path or store.id}"
