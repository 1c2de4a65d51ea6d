"""A running identity provider, for the tests of single sign-on."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memoryhub.actions.verification import verify
from memoryhub.models import HUB, AuditEntry
from memoryhub.web.accounts import provider
from tests.web.accounts.identity_provider import CLIENT, SECRET

DORA = {"sub": "1001", "email": "Dora@example.com", "email_verified": True, "name": "Dora", "groups": ["support"]}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass
class Provider:
    """The running provider, as a test and a browser use it."""

    issuer: str

    def says(self, **told: Any) -> int:
        """Change what it says; returns how often it was asked about a person who uses the hub."""
        body = json.dumps(told).encode()
        with urllib.request.urlopen(f"{self.issuer}/control", body) as answer:
            return int(json.load(answer)["asked"])

    def back_from(self, address: str) -> str:
        """Sign in at the provider; returns the address of the hub to which it sends the browser."""
        with pytest.raises(urllib.error.HTTPError) as answer:
            urllib.request.build_opener(NoRedirect).open(address)
        answer.value.close()
        return str(answer.value.headers["Location"]).removeprefix("http://127.0.0.1:8000")


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    script = Path(__file__).with_name("identity_provider.py")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield Provider(process.stdout.readline().strip())
    process.terminate()
    process.wait()


@pytest.fixture
def idp(running: Provider, settings: Any) -> Iterator[Provider]:
    settings.MEMORYHUB_OIDC_ISSUER, settings.MEMORYHUB_OIDC_CLIENT_ID = running.issuer, CLIENT
    settings.MEMORYHUB_OIDC_CLIENT_SECRET, settings.MEMORYHUB_OIDC_NAME = SECRET, "Acme"
    running.says(person=DORA, wrong={}, in_userinfo=False, is_down=False, is_ended=False, is_mute=False)
    yield running
    provider.forget()
    assert not AuditEntry.objects.exists() or verify.verify(HUB)[1] is None
