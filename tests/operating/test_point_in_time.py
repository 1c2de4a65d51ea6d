"""The recipe of docs/operations.md that restores PostgreSQL to a moment: what was written before comes back, nothing of
what came after, and `verify_audit` names exactly what is lost."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.api.server import ROOT, Agent, served
from tests.faults import postgres
from tests.support import cluster

pytestmark = pytest.mark.long
SECTION = "### A point in time on PostgreSQL"
DATA, MOUNTED, MOMENT = "/var/lib/postgresql/15/main", "/mnt/", "2026-11-27 10:15:00+00"


class Recipe:
    """What the document says, for a server whose data, archive and base backups are in one directory."""

    def __init__(self, directory: Path) -> None:
        section = (ROOT / "docs/operations.md").read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
        self.blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
        self.directory = directory
        self.moment = MOMENT

    def settings(self, number: int) -> str:
        return self._own([text for kind, text in self.blocks if kind == "ini"][number])

    def run(self, number: int) -> None:
        """Type a block as the user of PostgreSQL, without the lines about services."""
        lines = self._own([text for kind, text in self.blocks if kind == "sh"][number]).splitlines()
        typed = "\n".join(line for line in lines if not line.startswith("systemctl"))
        found = f"{Path(cluster._binary('pg_ctl')).parent}:{os.environ['PATH']}"
        shell = ["env", f"PATH={found}", f"PGHOST={self.directory}", "PGUSER=memoryhub", "sh", "-euc", typed]
        account = cluster._account()
        subprocess.run(["runuser", "-u", account, "--", *shell] if account else shell, check=True, cwd=self.directory)

    def _own(self, text: str) -> str:
        text = text.replace(DATA, str(self.directory / "data")).replace(MOUNTED, f"{self.directory}/")
        return text.replace(MOMENT, self.moment)

    def add_settings(self, number: int) -> None:
        with (self.directory / "data/postgresql.conf").open("a") as file:
            file.write(self.settings(number))


@pytest.fixture
def recipe() -> Iterator[Recipe]:
    """The document's first part, done on a server in which a hub was migrated."""
    place = Path(tempfile.mkdtemp(prefix="memoryhub-moment-"))
    place.chmod(0o711)
    directory = place / "server"
    try:
        cluster.start(directory, postgres.migrated())
        cluster.stop(directory, "fast")
        for name in ("archive", "base"):
            (directory / name).mkdir()
            if account := cluster._account():
                shutil.chown(directory / name, account)
        made = Recipe(directory)
        made.add_settings(0)
        cluster.start_again(directory)
        yield made
    except cluster.NoPostgreSQL as error:
        pytest.skip(str(error))
    finally:
        cluster.stop(directory)
        shutil.rmtree(place, ignore_errors=True)


def test_a_restore_to_a_moment_loses_exactly_what_came_after_and_the_audit_names_it(
    recipe: Recipe, tmp_path: Path
) -> None:
    url = f"postgres://memoryhub@{quote(str(recipe.directory), safe='')}:5432/postgres"
    with served(tmp_path, address=url) as server:
        store, secret = server.new_store()
        agent = Agent(server, store, secret)
        write(agent, "before-the-base", 3)
        recipe.run(0)
        write(agent, "before", 4)
        recipe.moment = asked(url, "select clock_timestamp() from pg_sleep(1)")
        kept = entries(url, store)
        time.sleep(1)
        write(agent, "after", 5)
        lost = entries(url, store) - kept
    asked(url, "select pg_switch_wal()")
    cluster.stop(recipe.directory, "fast")

    recipe.run(1)
    recipe.add_settings(1)
    cluster.start_again(recipe.directory)
    while asked(url, "select pg_is_in_recovery()") != "False":
        time.sleep(0.1)

    assert entries(url, store) == kept
    told = server.run("verify_audit", check=False)
    assert told.returncode == 1 and f"{store} entry {kept + lost}: it is missing" in told.stderr
    accepted = server.run("verify_audit", "--accept-missing", "restored to the moment before").stdout
    assert f"{store}: entries {kept + 1} to {kept + lost}\n" in accepted and lost == 5
    assert server.run("verify_audit").stdout.endswith("right.\n")
    with served(tmp_path, address=url) as again:
        agent = Agent(again, store, secret)
        listed = agent.call("toolu_view", command="view", path="/memories")[1]
        assert re.findall(r"/memories/(\S+)\.md", listed) == sorted(names("before-the-base", 3) + names("before", 4))
        assert write(agent, "after", 1)


def names(stem: str, number: int) -> list[str]:
    return [f"{stem}-{one}" for one in range(number)]


def write(agent: Agent, stem: str, number: int) -> bool:
    """Create memories, each by an acknowledged call."""
    inputs = [{"command": "create", "path": f"/memories/{name}.md", "file_text": "a"} for name in names(stem, number)]
    return all(agent.call(f"toolu_{input['path'][-20:]}{time.time()}", **input)[0] == "ok" for input in inputs)


def asked(url: str, statement: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        return str(connection.execute(statement).fetchone()[0])  # type: ignore[call-overload,index]


def entries(url: str, store: str) -> int:
    return int(asked(url, f"select count(*) from memoryhub_auditentry where chain = '{store}'"))
