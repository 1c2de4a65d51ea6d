"""The environment when it is wrong: a sentence with a hint, never a traceback; and secrets that are made once."""

import logging
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as live
from django.core.management import CommandError, call_command
from django.db import OperationalError

from memoryhub import checks, settings as shipped
from memoryhub.database.connections import _checkpoint_until
from memoryhub.management.commands import serve
from memoryhub.models import MemoryStore, User
from memoryhub.operating.logs import filters
from memoryhub.operating.logs.lines import WithoutTokens
from memoryhub.settings import cookie_names
from tests.api.server import put_migrated
from tests.support import starts
from tests.support.fixtures import signed_in

ROOT = Path(__file__).resolve().parent.parent.parent


def started(directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the hub's own check says under such an environment."""
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(directory), **environment}
    command = [sys.executable, "manage.py", "check", "--tag", checks.OWN]
    return starts.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=False)


def test_without_an_address_links_lead_to_where_the_hub_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for host, port, before, after in (
        ("127.0.0.1", 8171, "", "http://127.0.0.1:8171"), ("0.0.0.0", 8000, "", "http://127.0.0.1:8000"),
        ("localhost", 80, "", "http://localhost:80"), ("127.0.0.1", 8171, "https://hub.example", "https://hub.example"),
        ("::1", 8171, "", "http://[::1]:8171"), ("192.168.1.5", 8171, "", ""),
    ):  # fmt: skip
        monkeypatch.setenv("MEMORYHUB_URL", before)
        monkeypatch.setattr(live, "MEMORYHUB_URL", "http://127.0.0.1:8000")
        for name in ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME"):
            monkeypatch.setattr(live, name, getattr(live, name))
        serve.settle_address(host, port)
        assert os.environ["MEMORYHUB_URL"] == after, host
        assert before or not after or after == live.MEMORYHUB_URL


def ids(found: Any) -> set[str]:
    return {message.id for message in found}


def test_every_wrong_value_is_an_error_with_a_hint_at_start(tmp_path: Path) -> None:
    answer = started(
        tmp_path,
        DATABASE_URL="postgres://user:hush@host:port/name",
        MEMORYHUB_URL="http://[::1",
        TRUSTED_PROXIES="proxy",
        MEMORYHUB_LOG_LEVEL="loud",
        DISABLE_SERVER_SIDE_CURSORS="true",
        SECRET_KEY="short",
        ALLOWED_HOSTS="https://alt.example",
        MEMORYHUB_AUDIT_STREAM="syslog://host",
    )
    assert answer.returncode == 1 and "Traceback" not in answer.stderr and "hush" not in answer.stderr
    for id in ("E001", "E005", "E007", "E008", "E021", "E022", "E024", "E034"):
        assert f"memoryhub.{id}" in answer.stderr


def test_values_that_end_with_a_line_break_are_taken_without_it(tmp_path: Path) -> None:
    names = ("MEMORYHUB_URL", "MEMORYHUB_BACKUP_PASSPHRASE", "MEMORYHUB_METRICS_TOKEN")
    own = {
        "PATH": os.environ["PATH"],
        "MEMORYHUB_DATA_DIR": str(tmp_path),
        **dict.fromkeys(names, "https://hub.example\n"),
    }
    said = f"from memoryhub import settings as s; print([s.{names[0]}, s.{names[1]}, s.{names[2]}])"
    done = starts.run([sys.executable, "-c", said], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    assert done.stdout == f"{['https://hub.example'] * 3}\n"


@pytest.mark.parametrize(
    "name", ["MEMORYHUB_AUDIT_KEY", "SECRET_KEY", "MEMORYHUB_BACKUP_PASSPHRASE", "MEMORYHUB_METRICS_TOKEN"]
)
def test_a_secret_that_is_not_text_is_named_and_not_shown(tmp_path: Path, name: str) -> None:
    answer = started(tmp_path, **{name: os.fsdecode(b"secret\xff" * 8)})
    assert (answer.returncode, "secret" in answer.stderr, "Traceback" in answer.stderr) == (1, False, False)
    assert answer.stderr.startswith(f"{name} is not text in UTF-8.")


@pytest.mark.parametrize("value", ["full mode", "\udcff"])
def test_a_wrong_mode_of_sqlite_is_named_by_doctor(tmp_path: Path, value: str) -> None:
    put_migrated(tmp_path / "hub")
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(tmp_path / "hub")}
    own["MEMORYHUB_SQLITE_SYNCHRONOUS"] = value
    for command in ("doctor", "create_store"):
        done = starts.run(
            [sys.executable, "manage.py", command, *(["X"] if command == "create_store" else [])],
            cwd=ROOT, env=own, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert (done.returncode, "Traceback" in said, "syntax error" in said) == (1, False, False), said
        assert "MEMORYHUB_SQLITE_SYNCHRONOUS is not a mode the hub runs in" in said


@pytest.mark.push
def test_a_directory_for_copies_that_is_none_is_an_error_before_a_redaction_needs_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for wrong in ("nowhere", "file"):
        answer = started(tmp_path / "data", SQLITE_TMPDIR=str(tmp_path / wrong))
        assert answer.returncode == 1 and "memoryhub.E023" in answer.stderr and "Traceback" not in answer.stderr
    assert started(tmp_path / "data", SQLITE_TMPDIR=str(tmp_path)).returncode == 0
    assert started(tmp_path / "data").returncode == 0


def test_a_data_directory_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    answer = started(tmp_path / "taken" / "data")
    assert answer.returncode != 0 and "Traceback" not in answer.stderr
    assert "MEMORYHUB_DATA_DIR" in answer.stderr
    answer = started(tmp_path / "taken" / "data", SECRET_KEY="s" * 60, MEMORYHUB_AUDIT_KEY="a" * 60)
    assert answer.returncode == 1 and "memoryhub.E006" in answer.stderr and "Traceback" not in answer.stderr


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/name", "postgres://host:port/name", "sqlit:///x"])
def test_an_address_of_no_database_of_ours_is_none(url: str) -> None:
    assert shipped.database_of(url) == {"ENGINE": "django.db.backends.dummy"}


def test_options_of_the_database_address_are_kept(tmp_path: Path) -> None:
    code = (
        "from memoryhub import settings; options = settings.DATABASES['default']['OPTIONS'];"
        " print(options['sslmode'], options['connect_timeout'], options['keepalives_count'], 'pool' in options,"
        " options['prepare_threshold'])"
    )
    url = "postgres://user@host/name?sslmode=verify-full&connect_timeout=5"
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(tmp_path), "DATABASE_URL": url}
    for by_transaction, prepared_after in (("", "5"), ("1", "None")):
        environment = own | {"DISABLE_SERVER_SIDE_CURSORS": by_transaction}
        command = [sys.executable, "-c", code]
        printed = starts.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert printed.stdout.strip() == f"verify-full 5 3 True {prepared_after}"


def test_further_names_are_allowed_beside_the_hubs_own(tmp_path: Path) -> None:
    own = {"PATH": os.environ["PATH"], "MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_URL": "https://hub.example.com"}
    for named in ("", "intranet, .example.org"):
        code = "from memoryhub import settings; print(*settings.ALLOWED_HOSTS)"
        command = [sys.executable, "-c", code]
        environment = own | {"ALLOWED_HOSTS": named}
        printed = starts.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        always = {"hub.example.com", "127.0.0.1", "[::1]", "localhost"}
        assert set(printed.stdout.split()) == always | set(named.replace(",", "").split())


@pytest.mark.parametrize(
    ("url", "is_right"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://hub.example.com:8443", True),
        ("http://[::1]:8000", True),
        ("https://hub.example.com:port", False),
        ("https://user@hub.example.com", False),
        ("https://hub.example.com/hub", False),
        ("https://hub.example.com?a", False),
        ("ftp://hub.example.com", False),
        ("hub.example.com", False),
    ],
)
def test_the_hubs_own_address_is_scheme_host_and_port(settings: Any, url: str, is_right: bool) -> None:
    settings.MEMORYHUB_URL = url
    assert ("memoryhub.E001" not in ids(checks.environment())) == is_right


@pytest.mark.parametrize(
    ("name", "is_right"),
    [
        ("intranet", True), (".example.org", True), ("10.0.0.7", True), ("[fd00::1]", True), ("*", True),
        ("https://alt.example", False), ("a b", False), ("a:8000", False), ("fd00::1", False), ("a/b", False),
        ("bücher.example", False), ("*.example.org", False), ("a..b", False),
    ],
)  # fmt: skip
def test_a_further_name_is_a_host_without_scheme_and_port(settings: Any, name: str, is_right: bool) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "[::1]", name]
    assert ("memoryhub.E024" not in ids(checks.environment())) == is_right


def test_the_settings_of_sign_ins_are_checked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYHUB_SIGN_IN_HOURS", "0")
    monkeypatch.setenv("MEMORYHUB_FRESH_MINUTES", "none")
    monkeypatch.setenv("MEMORYHUB_OIDC_ROLES", "support=owner@memstore_1")
    settings.MEMORYHUB_OIDC_ISSUER = "http://id.example.com"
    found = [check for check in checks.environment() if check.id in ("memoryhub.E040", "memoryhub.E043")]
    assert ["SIGN_IN_HOURS" in found[0].msg, "support=owner" in found[1].msg, len(found)] == [True, True, 2]
    assert {"memoryhub.E041", "memoryhub.E042"} <= set(ids(checks.environment()))


@pytest.mark.parametrize("name", ["RUN_TOKENS", "DAY_TOKENS", "DAYS"])
def test_the_settings_of_claude_runs_are_checked(settings: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for value, is_right in (("1", True), ("0", False), ("many", False), ("none", name != "DAYS")):
        monkeypatch.setenv(f"MEMORYHUB_CLAUDE_{name}", value)
        assert ("memoryhub.E033" not in ids(checks.environment())) == is_right, value
    settings.ANTHROPIC_BASE_URL = "api.anthropic.com"
    settings.MEMORYHUB_EXPERIMENTAL = ["dreams", "flying"]
    assert {"memoryhub.E032", "memoryhub.E036"} <= set(ids(checks.environment()))
    settings.ANTHROPIC_BASE_URL = settings.MEMORYHUB_OIDC_ISSUER = "https://[::1"  # which Python does not split
    assert {"memoryhub.E032", "memoryhub.E041"} <= set(ids(checks.environment()))


def test_each_problem_has_an_id_of_its_own() -> None:
    named = re.findall(r'id="(memoryhub\.\w+)"', Path(checks.__file__).read_text())
    assert len(named) > 20
    assert [id for id in named if named.count(id) > 1] == []


def test_https_without_a_trusted_proxy_is_pointed_out(settings: Any) -> None:
    settings.MEMORYHUB_URL = "https://hub.example.com"
    assert "memoryhub.I001" in ids(checks.environment())
    settings.TRUSTED_PROXIES = ["10.0.0.7"]
    assert "memoryhub.I001" not in ids(checks.environment())


def test_processes_that_start_at_once_keep_one_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYHUB_AUDIT_KEY", raising=False)
    monkeypatch.setattr(shipped, "DATA_DIR", tmp_path)
    for number in range(20):
        read: list[str] = []
        gate = threading.Barrier(8)

        def start(number: int = number, read: list[str] = read, gate: threading.Barrier = gate) -> None:
            gate.wait()
            read.append(shipped.kept_secret("MEMORYHUB_AUDIT_KEY", f"key{number}"))

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = tmp_path / f"key{number}"
        assert read == [kept.read_text()] * 8 and len(read[0]) == 64
        assert kept.stat().st_mode & 0o777 == 0o600


def test_the_checkpointer_outlives_a_disk_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    from memoryhub.database import connections

    stop, tries = threading.Event(), []

    class Driver:
        def execute(self, statement: str) -> Any:
            tries.append(statement)
            if len(tries) == 3:
                stop.set()
            raise sqlite3.OperationalError("database or disk is full")

    class Connection:
        connection = Driver()
        wrap_database_errors = connections.connection.wrap_database_errors

        def ensure_connection(self) -> None: ...

        def close(self) -> None: ...

    if live.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        return  # other databases have no checkpointer
    monkeypatch.setattr(connections, "connection", Connection())
    _checkpoint_until(stop, threading.RLock(), 0.001)
    assert len(tries) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments", [["Scout", "--days", "0"], ["Scout", "--days", "-1"], ["Scout", "--days", "9999999999"], ["x" * 101]]
)
def test_a_key_is_not_issued_for_senseless_days_or_names(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("issue_key", *arguments, "--all-stores")


@pytest.mark.django_db
def test_a_page_that_somebody_may_not_see_is_one_line_in_the_log(
    store: MemoryStore, bob: User, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert signed_in(bob).get(f"/stores/{store.id}/members").status_code == 403
    (handler,) = (each for each in logging.getLogger().handlers if isinstance(each.formatter, WithoutTokens))
    lines = [handler.format(record) for record in caplog.records if handler.filter(record)]
    assert [line.count("\n") for line in lines] == [0]
    assert "WARNING" in lines[0] and f"/stores/{store.id}/members" in lines[0]


def test_a_database_that_fails_is_said_once_a_minute_in_one_line_and_other_errors_whole() -> None:
    seconds = [0.0]
    once = filters.OncePerMinute(lambda: seconds[0])

    def said(error: Exception, message: str = "The database did not answer %s", *values: object) -> str | None:
        record = logging.LogRecord(
            "memoryhub", logging.ERROR, "", 1, message, values or ("req_1",), (type(error), error, None)
        )
        return record.getMessage() if once.filter(record) else None

    full = OperationalError("database or disk is full")
    assert said(full) == "The database did not answer req_1: database or disk is full"
    assert [said(full) for _ in range(300)] == [None] * 300
    assert said(OperationalError("database is locked")) is not None
    seconds[0] = 61
    assert (said(full) or "").endswith("database or disk is full (300 more like this since the last line)")
    broken = ValueError("broken")
    assert [said(broken) for _ in range(3)] == ["The database did not answer req_1"] * 3


@pytest.mark.parametrize(
    ("url", "session"),
    [
        ("http://127.0.0.1:8000", "sessionid"),
        ("http://127.0.0.1:8414", "sessionid_8414"),
        ("http://localhost:9000", "sessionid_9000"),
        ("http://[::1]:9000", "sessionid_9000"),
        ("https://hub.example.com", "sessionid"),
        ("https://hub.example.com:8443", "sessionid"),
        ("http://127.0.0.1:nonsense", "sessionid"),
    ],
)
def test_hubs_on_other_ports_of_one_machine_have_cookies_of_their_own(url: str, session: str) -> None:
    assert cookie_names(url) == (session, session.replace("sessionid", "csrftoken"))
