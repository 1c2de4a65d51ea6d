"""What is said where PostgreSQL cannot be reached: the reason that the driver gives, not that the pool waited."""

import os
import sys
from pathlib import Path

import pytest
from django.db import OperationalError, connection

from memoryhub.database import pooled
from memoryhub.doctor import examine
from tests.api.server import ROOT
from tests.support import starts

REFUSED_BY_DRIVER = {
    "SSL error: certificate verify failed": "Renew the certificate of the database server",
    'FATAL:  password authentication failed for user "hub"': "Correct DATABASE_URL",
}


@pytest.mark.parametrize("said", REFUSED_BY_DRIVER)
def test_why_the_driver_cannot_connect_is_said_and_what_to_do(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg, pool = pytest.importorskip("psycopg"), pytest.importorskip("psycopg_pool")

    def refused(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(f"connection failed:\n{said}\n")

    def connect() -> None:
        try:
            with pool.ConnectionPool(min_size=1, timeout=0.2, open=True, **pooled.options()) as opened:
                opened.getconn()
        except psycopg.Error as error:
            raise OperationalError(str(error)) from error

    monkeypatch.setattr(psycopg.Connection, "connect", refused)
    monkeypatch.setattr(examine, "require_hub", lambda: None)
    monkeypatch.setattr(connection, "ensure_connection", connect)
    one = next(iter(examine._database()))
    monkeypatch.setattr(pooled, "_unreached", [])
    assert one.says == f"The database does not answer: connection failed: {' '.join(said.split())}."
    assert one.do.startswith(REFUSED_BY_DRIVER[said])


@pytest.mark.push
def test_a_command_says_why_a_server_cannot_be_reached(tmp_path: Path) -> None:
    pytest.importorskip("psycopg_pool")
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(tmp_path)}
    own["DATABASE_URL"] = "postgres://hub@127.0.0.1:9/hub"
    for command in ("doctor", "verify_audit", "serve"):
        done = starts.run(
            [sys.executable, "manage.py", command], cwd=ROOT, env=own, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr.rpartition("CommandError")[2]
        assert done.returncode and "Connection refused" in said and "get a connection" not in said, said
