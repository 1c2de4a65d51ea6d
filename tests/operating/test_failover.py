"""PostgreSQL fails over, goes away or stands behind PgBouncer: the hub says so soon, and goes on when it is back."""

import contextlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection

from memoryhub import settings as shipped
from tests.api.server import ROOT, Agent, Server, served
from tests.faults import postgres
from tests.support import cluster, starts
from tests.support.long import LONG

pytestmark = pytest.mark.both_databases

SOON = 2.5
"""Seconds within which a request is refused: two, and what a busy machine adds."""


class Clusters:
    """PostgreSQL servers of one test, each with its data and its socket in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def new(self, name: str) -> Path:
        cluster.start(self.directory / name, postgres.migrated())
        return self.directory / name

    def replica(self, of: Path, name: str) -> Path:
        """A standby that follows another server."""
        place = self.directory / name
        place.mkdir(mode=0o755)
        if account := cluster._account():
            shutil.chown(place, account)
        backup = [cluster._binary("pg_basebackup"), "-h", str(of), "-U", "memoryhub", "-D", str(place / "data"), "-R"]
        cluster._run([*backup, "-c", "fast"], place)
        self.start(place)
        return place

    def start(self, place: Path) -> None:
        options = {**cluster.SETTINGS, "unix_socket_directories": str(place)}
        given = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        self.control(place, "-l", str(place / "log"), "-o", given, "start")

    def control(self, place: Path, *arguments: str) -> None:
        cluster._run([cluster._binary("pg_ctl"), "-D", str(place / "data"), "-w", *arguments], place)

    def run(self, place: Path, statement: str) -> None:
        cluster._run(
            [cluster._binary("psql"), "-h", str(place), "-U", "memoryhub", "-d", "postgres", "-qc", statement], place
        )


def address(*places: Path, name: str = "postgres", more: str = "") -> str:
    return f"postgres://memoryhub@{','.join(quote(str(place), safe='') for place in places)}/{name}{more}"


@pytest.fixture
def clusters() -> Iterator[Clusters]:
    if connection.vendor == "sqlite" and not LONG:
        pytest.skip("the run on PostgreSQL has the short form")
    directory = Path(tempfile.mkdtemp(prefix="memoryhub-failover-"))
    directory.chmod(0o711)
    found = Clusters(directory)
    try:
        yield found
    except cluster.NoPostgreSQL:
        pytest.skip("there is no PostgreSQL on this machine")
    finally:
        for place in directory.iterdir():
            cluster.stop(place)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def one(clusters: Clusters) -> Path:
    try:
        return clusters.new("one")
    except cluster.NoPostgreSQL:
        if os.environ.get("MEMORYHUB_REQUIRE_POSTGRES"):
            raise
        pytest.skip("there is no PostgreSQL on this machine")


def view(agent: Agent, number: object) -> tuple[int, dict[str, str]]:
    """Status and headers of a call."""
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory"}
    status, headers, _ = agent.send(block | {"input": {"command": "view", "path": "/memories"}})
    return status, headers


def until(agent: Agent, wanted: int, seconds: float = 30) -> None:
    """Asks until the answer has this status; no answer on the way is a failure of the hub itself, or late."""
    end = time.monotonic() + seconds
    number = 0
    while True:
        begun = time.monotonic()
        status, headers = view(agent, f"{wanted}{begun}{number}")
        assert status in (200, 503), status
        assert status == 200 or headers["retry-after"]
        if status == wanted:
            return
        assert time.monotonic() < end, f"still {status}"
        number += 1
        time.sleep(0.2)


def page(server: Server, path: str) -> tuple[int, str]:
    """Status and text of a page that anybody may ask for."""
    connection: http.client.HTTPConnection = server.connect()
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read().decode()


@pytest.mark.long
def test_a_database_that_has_become_read_only_is_503_at_each_door_and_served_again_afterwards(
    clusters: Clusters, one: Path, tmp_path: Path
) -> None:
    with served(tmp_path, address=address(one)) as server:
        agent = Agent(server, *server.new_store())
        until(agent, 200)
        clusters.run(one, "alter system set default_transaction_read_only = on")
        clusters.run(one, "select pg_reload_conf()")
        until(agent, 503)
        agent.url = agent.url.replace("/v1/memory_stores/", "/mcp/").removesuffix("/tool_calls")
        call = {"name": "memory", "arguments": {"command": "view", "path": "/memories"}}
        status, headers, _ = agent.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        assert (status, headers["retry-after"]) == (503, "1")
        clusters.run(one, "alter system reset default_transaction_read_only")
        clusters.run(one, "select pg_reload_conf()")
        agent.url = agent.url.replace("/mcp/", "/v1/memory_stores/") + "/tool_calls"
        until(agent, 200)


def test_a_server_that_is_down_is_503_within_two_seconds_and_dead_connections_are_noticed_before_a_call_gets_one(
    clusters: Clusters, one: Path, tmp_path: Path
) -> None:
    with served(tmp_path, address=address(one)) as server:
        store, secret = server.new_store()
        agent = Agent(server, store, secret)
        until(agent, 200)
        clusters.run(one, "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        for number in range(8):
            assert view(agent, f"after{number}")[0] == 200  # each connection of the pool was dead
        clusters.control(one, "-m", "immediate", "stop")
        for number in range(3):
            begun = time.monotonic()
            assert view(agent, f"down{number}")[0] == 503
            assert time.monotonic() - begun < SOON
        stranger, begun = Agent(server, store, "mh_unknown"), time.monotonic()
        assert view(stranger, "unknown")[0] == 503  # the key is looked up before the body is read
        assert time.monotonic() - begun < SOON
        status, text = page(server, "/invitations/unknown")
        assert (status, "The database does not answer" in text) == (503, True)
        clusters.start(one)
        until(agent, 200)


@pytest.mark.long
def test_several_hosts_in_the_address_are_followed_to_the_one_that_takes_writes(
    clusters: Clusters, one: Path, tmp_path: Path
) -> None:
    two = clusters.replica(one, "two")
    both = address(two, one, more="?target_session_attrs=read-write")
    with served(tmp_path, address=both) as server:
        agent = Agent(server, *server.new_store())
        assert agent.call("toolu_1", command="create", path="/memories/a.md", file_text="one")[0] == "ok"
        until(agent, 200)
        time.sleep(1)  # for the standby
        clusters.control(one, "-m", "immediate", "stop")
        assert view(agent, "down")[0] == 503
        clusters.control(two, "promote")
        until(agent, 200)
        assert "one" in agent.call("toolu_2", command="view", path="/memories/a.md")[1]
        assert agent.call("toolu_1", command="create", path="/memories/a.md", file_text="one")[0] == "ok"  # once


def test_serve_on_a_replica_says_what_is_wrong_in_one_sentence(clusters: Clusters, one: Path, tmp_path: Path) -> None:
    two = clusters.replica(one, "two")
    own = {"MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_STATIC_ROOT": str(tmp_path / "static")}
    done = starts.run(
        [sys.executable, "manage.py", "serve", "--port", "1"], cwd=ROOT, check=False, text=True, capture_output=True,
        env={**os.environ, **own, "DATABASE_URL": address(two)}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    (sentence,) = done.stderr.strip().splitlines()
    assert "it is a replica, or read-only" in sentence


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("postgres://hub:p%40ss@a,b/hub", "a,b", "5432,5432"),
        ("postgres://hub:p%40ss@a.example.com:5433,b:5434/hub?target_session_attrs=read-write", "a.example.com,b",
         "5433,5434"),
        ("postgres://hub:p%40ss@%2Frun%2Fone,%2Frun%2Ftwo:1/hub", "/run/one,/run/two", "5432,1"),
    ],
)  # fmt: skip
def test_an_address_names_several_hosts(url: str, host: str, port: str) -> None:
    database = shipped.database_of(url)
    assert (database["HOST"], database["PORT"], database["USER"], database["PASSWORD"], database["NAME"]) == (
        host, port, "hub", "p@ss", "hub",
    )  # fmt: skip


@pytest.mark.parametrize("url", ["postgres://hub@a,/hub", "postgres://hub@a,b:x/hub", "postgres://hub@a,:1/hub"])
def test_an_address_with_a_wrong_host_among_several_is_no_database(url: str) -> None:
    assert shipped.database_of(url)["ENGINE"] == "django.db.backends.dummy"


def bouncer() -> str | None:
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@pytest.fixture
def pooled(one: Path) -> Iterator[Callable[..., str]]:
    """The address of a PgBouncer in transaction mode with two connections to the server."""
    program = bouncer()
    if program is None:
        pytest.skip("pgbouncer is not installed")
    place = one.parent / "bouncer"
    place.mkdir()
    (place / "users").write_text('"memoryhub" ""\n')
    (place / "ini").write_text(
        f"[databases]\npostgres = host={one} dbname=postgres\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {place}\n"
        f"listen_port = 5432\nauth_type = any\nauth_file = {place}/users\npool_mode = transaction\n"
        "default_pool_size = 2\nmax_client_conn = 200\n"
        "[databases]\npostgres = host=" + f"{one} dbname=postgres user=memoryhub\n"
    )
    account = cluster._account()
    if account:
        for path in (place, *place.iterdir()):
            shutil.chown(path, account)
    process = subprocess.Popen(
        [*(["runuser", "-u", account, "--"] if account else []), program, "-q", str(place / "ini")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(100):
            if (place / ".s.PGSQL.5432").exists():
                break
            time.sleep(0.1)
        yield lambda: address(place)
    finally:
        process.terminate()
        process.wait(10)


def test_the_hub_runs_behind_pgbouncer_in_transaction_mode(pooled: Callable[..., str], tmp_path: Path) -> None:
    with served(tmp_path, address=pooled(), DISABLE_SERVER_SIDE_CURSORS="1") as server:
        store, secret = server.new_store()
        agents = [Agent(server, store, secret) for _ in range(6)]
        for number in range(60):
            agent = agents[number % len(agents)]
            made = agent.call(f"toolu_{number}", command="create", path=f"/memories/{number}.md", file_text="one")
            assert made[0] == "ok"
        assert server.run("verify_audit", check=False).returncode == 0
        assert server.run("export_store", store, "--output", str(tmp_path / "all.zip"), check=False).returncode == 0


def locked(place: Path, what: str) -> psycopg.Connection[Any]:
    """Another session, that keeps a lock until it is closed."""
    other = psycopg.connect(address(place))
    other.execute("set lock_timeout = 0")
    other.execute(what)
    return other


@pytest.mark.long
def test_a_lock_that_another_session_keeps_is_waited_for_ten_seconds_and_everything_goes_on_afterwards(
    one: Path, tmp_path: Path
) -> None:
    with served(tmp_path, address=address(one)) as server:
        agent = Agent(server, *server.new_store())
        until(agent, 200)
        for what in ("lock table memoryhub_memory", "select from memoryhub_memorystore for update"):
            block = {"type": "tool_use", "id": what, "name": "memory"}
            create = block | {"input": {"command": "create", "path": f"/memories/{len(what)}", "file_text": ""}}
            with contextlib.closing(locked(one, what)):
                begun = time.monotonic()
                status, headers, _ = agent.send(create)
                assert (status, headers["retry-after"]) == (503, "1")
                assert 9 < time.monotonic() - begun < 15
            status, headers, result = agent.send(create)
            assert (status, result["is_error"], headers.get("idempotent-replay")) == (200, False, None)


@pytest.mark.long
def test_a_lock_timeout_of_the_role_counts_before_that_of_the_hub(
    clusters: Clusters, one: Path, tmp_path: Path
) -> None:
    clusters.run(one, "alter role memoryhub set lock_timeout = '300ms'")
    with served(tmp_path, address=address(one)) as server:
        agent = Agent(server, *server.new_store())
        until(agent, 200)
        with contextlib.closing(locked(one, "lock table memoryhub_memory")):
            begun = time.monotonic()
            assert view(agent, "locked")[0] == 503
            assert time.monotonic() - begun < 3
        until(agent, 200)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of its own with 150 MB, for a server."""
    place = Path(tempfile.mkdtemp(prefix="memoryhub-failover-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=150m,mode=755", "none", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:
        place.rmdir()
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
    place.rmdir()


@pytest.mark.long
def test_while_the_disk_of_postgresql_is_full_readyz_says_so_and_what_is_refused_is_not_done(
    small_disk: Path, tmp_path: Path
) -> None:
    one = small_disk / "one"
    try:
        cluster.start(one, postgres.migrated())
    except cluster.NoPostgreSQL:
        pytest.skip("there is no PostgreSQL on this machine")
    try:
        with served(tmp_path, address=address(one)) as server:
            agent = Agent(server, *server.new_store())
            until(agent, 200)
            with (small_disk / "filling").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
                while stream.write(bytes(1 << 16)):
                    pass
            done = [write(agent, number)[0] for number in range(400)]
            assert done.count(503) > 100
            for status, text in [page(server, "/readyz") for _ in range(8)]:  # of each worker
                assert (status, "the disk of the database is full" in text) == (503, True)
            (small_disk / "filling").unlink()
            until(agent, 200)
            time.sleep(5)
            assert page(server, "/readyz")[0] == 200
            again = [write(agent, number) for number in range(400)]
            assert [replayed for _, replayed in again] == [status == 200 for status in done]
            assert server.run("verify_audit").returncode == 0
    finally:
        cluster.stop(one)


def write(agent: Agent, number: int) -> tuple[int, bool]:
    """Status of a call that brings a memory, and whether it was done before."""
    create = {"command": "create", "path": f"/memories/{number}.md", "file_text": f"{number} " * 1000}
    block = {"type": "tool_use", "id": f"toolu_full_{number}", "name": "memory", "input": create}
    agent.close()  # a new connection may come to another worker
    status, headers, _ = agent.send(block)
    return status, "idempotent-replay" in headers
