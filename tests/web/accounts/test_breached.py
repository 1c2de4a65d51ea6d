"""New passwords that are in the hub's list of breached ones."""

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest

from memoryhub import checks
from memoryhub.models import User
from memoryhub.pure import breached
from memoryhub.web.accounts import breached_passwords
from tests.support.fixtures import PASSWORD, signed_in

STOLEN = "a stolen pass phrase"


def digests(*passwords: str) -> list[str]:
    return sorted(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest().upper() for text in passwords)


@pytest.mark.parametrize("ending", ["\n", ":17\r\n", ":1234567890\n"])
def test_each_line_of_a_list_is_found_and_nothing_else(tmp_path: Path, ending: str) -> None:
    listed, others = [f"in {number}" for number in range(60)], [f"out {number}" for number in range(200)]
    counts = random.Random(1)
    for size in (0, 1, 2, 3, 60):
        lines = [line + (ending if counts.random() < 0.5 else "\n") for line in digests(*listed[:size])]
        file = tmp_path / f"{size}.txt"
        file.write_text("".join(lines), newline="")
        assert [one for one in listed if breached.is_listed(one, file)] == listed[:size]
        assert not any(breached.is_listed(one, file) for one in others)


@pytest.mark.django_db
def test_a_stolen_password_is_not_taken(charlie: User, tmp_path: Path, settings: Any) -> None:
    file = tmp_path / "list.txt"
    file.write_text("\n".join(digests(STOLEN, "x", "y")) + "\n")
    name = f"{breached_passwords.__name__}.{breached_passwords.NotBreached.__name__}"
    settings.AUTH_PASSWORD_VALIDATORS = [{"NAME": name, "OPTIONS": {"file": str(file)}}]
    settings.MEMORYHUB_BREACHED_PASSWORDS = str(file)
    client = signed_in(charlie)
    for new, status in ((STOLEN, 200), ("a pass phrase that nobody stole", 303)):
        form = {"current": PASSWORD, "password": new, "again": new}
        answer = client.post("/account/password", form)
        assert answer.status_code == status and ("list of stolen" in answer.content.decode()) == (status == 200)
    file.unlink()
    assert "memoryhub.E044" in {check.id for check in checks.environment()}
