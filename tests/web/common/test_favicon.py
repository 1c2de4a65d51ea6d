"""The icon under its traditional URL."""

from django.test import Client


def test_the_icon_is_where_programs_look_for_it(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert "favicon" in answer.headers["Location"] and answer.headers["Location"].endswith(".svg")
