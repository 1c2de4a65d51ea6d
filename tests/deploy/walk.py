"""Follows docs/deploy.md on a bare Debian machine, block by block, and proves from outside what each section promises.

What differs from a server on the internet is here and in `machine`, each with its reason; nothing else is changed.
"""

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.deploy.document import ON_DEBIAN, ROOT, blocks_of
from tests.deploy.machine import Failed, Machine, trust
from tests.deploy.outside import HOST, Browser, MailServer

ENVIRONMENT = "/etc/memoryhub/environment"
ADDRESS, PASSWORD = "first@example.com", "a long and plain sentence of words"
CADDY_AUTHORITY = "var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt"


class Walk:
    """One walk on one machine."""

    def __init__(self, machine: Machine, place: Path, say: Callable[[str], None]) -> None:
        self.machine, self.place, self.say = machine, place, say
        self.printed: dict[str, str] = {}
        self.store = self.key = ""

    def all(self) -> None:
        """Run every block and every proof."""
        self._publish()
        for heading in ON_DEBIAN:
            started = time.monotonic()
            name = re.sub(r"\W", "_", heading.lower())
            getattr(self, f"before_{name}", lambda: None)()
            for block in blocks_of(heading):
                self.printed[heading] = self.machine.run(block.replace("REPOSITORY", "/srv/memoryhub.git"))
                getattr(self, f"within_{name}", lambda: None)()
            getattr(self, f"after_{name}", lambda: None)()
            self.say(f"{heading}: right, after {time.monotonic() - started:.0f} s")

    # ------------------------------------------------------------------------------------------------------- stand-ins

    def _publish(self) -> None:
        """Stand-in for REPOSITORY: what is committed or staged in this checkout."""
        target = self.machine.root / "srv/memoryhub.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(target)], check=True)
        tree = self._git("write-tree")
        commit = self._git("commit-tree", "-p", "HEAD", "-m", "Staged", tree)
        self._git("push", "--quiet", str(target), f"{commit}:refs/heads/main")
        subprocess.run(["chown", "-R", "root:root", str(target)], check=True)

    def _git(self, *words: str) -> str:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        done = subprocess.run(["git", "-C", str(ROOT), *who, *words], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def _commit(self) -> None:
        """Stand-in for a new version: one more commit in that clone."""
        self.machine.run(
            "cd /srv/memoryhub.git && git -c user.name=Test -c user.email=test@example.com update-ref refs/heads/main"
            ' "$(git -c user.name=Test -c user.email=test@example.com commit-tree -p main -m Newer main^{tree})"'
        )

    def within_caddy(self) -> None:
        """Stand-in for Let's Encrypt, which no name of this machine can be proved to: Caddy's own authority."""
        self.machine.run(
            "sed -i '1i {\\n\\tlocal_certs\\n\\tskip_install_trust\\n}' /etc/caddy/Caddyfile && systemctl reload caddy"
        )
        self.machine.until(f"test -s /{CADDY_AUTHORITY}", 30)
        authority = self.place / "caddy.crt"
        authority.write_bytes((self.machine.root / CADDY_AUTHORITY).read_bytes())
        trust(self.machine.root, authority)  # as everything trusts Let's Encrypt's

    def before_nginx(self) -> None:
        """Stand-in for certbot, as for Caddy; and Caddy, which nginx replaces, gives its ports away."""
        certificate, key = self._certificate(HOST)
        live = self.machine.root / "etc/letsencrypt/live" / HOST
        live.mkdir(parents=True)
        (live / "fullchain.pem").write_bytes(certificate.read_bytes())
        (live / "privkey.pem").write_bytes(key.read_bytes())
        program = self.machine.root / "usr/local/bin/certbot"
        program.write_text(f'#!/bin/sh\n[ "$*" = "certonly --nginx -d {HOST}" ]\n')
        program.chmod(0o755)
        self.machine.run("systemctl disable --now caddy")

    def _certificate(self, name: str) -> tuple[Path, Path]:
        """Make a certificate that the machine trusts."""
        certificate, key = self.place / f"{name}.crt", self.place / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True,
        )  # fmt: skip
        trust(self.machine.root, certificate)
        return certificate, key

    # ---------------------------------------------------------------------------------------------------------- proofs

    def after_settings(self) -> None:
        assert self.machine.run(f"stat -c '%a %U %G' {ENVIRONMENT}").split() == ["640", "root", "memoryhub"]
        assert re.search(r"PASSPHRASE=\S{32}", self.printed["Settings"])

    def after_start(self) -> None:
        assert '{"status": "ok"}' in self.printed["Start"]
        link = re.search(rf"https://{HOST}(/invitations/\S+)", self.printed["Start"])
        assert link, self.printed["Start"]
        self.link = link[1]
        self._is_on_postgresql()
        facts = self.machine.run("systemctl show memoryhub -p User -p ActiveState -p NRestarts")
        assert set(facts.split()) == {"User=memoryhub", "NRestarts=0", "ActiveState=active"}, facts
        assert self.machine.run("ss -ltnH 'sport = :8000'").split()[3] == "127.0.0.1:8000"
        inside = self.machine.run(
            "pid=$(systemctl show memoryhub -p MainPID --value)\n"
            'grep -E "NoNewPrivs|Seccomp:|CapBnd" /proc/$pid/status\n'
            'nsenter -t "$pid" -m sh -c "touch /opt/memoryhub/x 2>&1 || true; touch /etc/x 2>&1 || true"'
        )
        assert re.search(r"NoNewPrivs:\s+1\b", inside) and re.search(r"Seccomp:\s+2\b", inside), inside
        assert re.search(r"CapBnd:\s+0{16}", inside) and inside.count("Read-only file system") == 2, inside
        units = "memoryhub.service memoryhub-check.service memoryhub-check.timer"
        self.machine.run(f"systemd-analyze verify --man=no {units}")

    def after_caddy(self) -> None:
        self._answers_over_tls(self.place / "caddy.crt")
        self.browser.post(self.link, {"email": ADDRESS, "name": "First", "password": PASSWORD, "again": PASSWORD})
        assert "First" in self.browser.page("/account")
        self.store = self.machine.run("memoryhub create_store Notes").split()[-1]
        self.key = self.machine.run(f"memoryhub issue_key agent --store {self.store}").split()[-1]
        said = self.browser.tool_call(
            self.store, self.key, "one", command="create", path="/memories/notes.md", file_text="Kept.\n"
        )
        assert said.startswith("File created successfully"), said
        self._still_has_the_memory("two")

    def after_commands(self) -> None:
        assert re.search(r"/var/backups/memoryhub/memoryhub-\S+\.backup", self.printed["Commands"])
        assert "error:" not in self.machine.run("memoryhub doctor")
        assert re.search(r"0 errors|Nothing is wrong", self.machine.run("memoryhub doctor"))

    def before_e_mail(self) -> None:
        self.mail = self._certificate("mail.example.com")

    def after_e_mail(self) -> None:
        self._answers_over_tls(self.place / "caddy.crt")
        server = MailServer(*self.mail)
        with server as messages:
            self.browser.post("/settings/email", {}, to="/settings/email/test")
            self._wait("an e-mail", lambda: bool(messages))
        assert messages[0]["To"] == ADDRESS and messages[0]["From"] == "MemoryHub <memoryhub@example.com>"
        assert server.users == {"hub:password"}

    def before_backups(self) -> None:
        """Have the hub itself make a backup, by the plan that the document asks for."""
        self.machine.run("rm /var/backups/memoryhub/*")
        kept = {"newest": "7", "weekly": "4", "monthly": "6"}
        plan = {"target": "/var/backups/memoryhub", "every": "24", "hour": "", **kept}
        self.browser.post("/settings/backups", plan)
        self.browser.post("/settings/backups", {}, to="/settings/backups/now")
        self.machine.until("ls /var/backups/memoryhub/*.backup", 120)
        self._still_has_the_memory("three")

    def after_backups(self) -> None:
        assert re.search(r"verified|right|valid", self.printed["Backups"]), self.printed["Backups"]
        self._answers_over_tls(self.place / "caddy.crt")
        self._is_on_postgresql()
        assert "First" in self.browser.page("/account"), "the browser is still signed in"
        self._still_has_the_memory("four")

    def after_metrics(self) -> None:
        assert "SUCCESS" in self.printed["Metrics"]
        self._answers_over_tls(self.place / "caddy.crt")
        asked = "curl -sf 'http://127.0.0.1:9090/api/v1/query?query={}' | grep -F '{}'"
        self.machine.until(asked.format("up%7Bjob=%22memoryhub%22%7D", ',"1"]'), 120)
        assert "create" in self.machine.run(asked.format("memoryhub_calls_total", "command"))
        assert self.browser.request("GET", "/metrics")[0] in (401, 403, 404)

    def before_upgrade(self) -> None:
        self._commit()

    def after_upgrade(self) -> None:
        here, there = self.machine.run(
            "git -C /opt/memoryhub rev-parse HEAD; git -C /srv/memoryhub.git rev-parse main"
        ).split()
        assert here == there
        self._answers_over_tls(self.place / "caddy.crt")
        self._still_has_the_memory("five")
        self.machine.run("systemctl start memoryhub-check.service")
        assert "exit-code" not in self.machine.run("systemctl show memoryhub-check -p Result")
        self.machine.run("systemctl list-timers --all | grep memoryhub-check")

    def after_nginx(self) -> None:
        cookies = self.browser.cookies
        self._answers_over_tls(self.place / f"{HOST}.crt")
        self.browser.cookies = cookies
        assert "First" in self.browser.page("/account")
        self._still_has_the_memory("six")
        assert re.search(r"0 errors|Nothing is wrong", self.machine.run("memoryhub doctor"))
        assert "301" in self.machine.run(f"curl -sI http://{HOST}/sign-in | head -1")

    # ----------------------------------------------------------------------------------------------------------- parts

    def _answers_over_tls(self, authority: Path) -> None:
        """Wait until the hub answers through its proxy; a browser that is there keeps its cookies."""
        cookies = self.browser.cookies if hasattr(self, "browser") else {}
        self.browser = Browser(authority)
        self.browser.cookies = cookies
        self._wait("an answer over TLS", lambda: self.browser.request("GET", "/readyz")[0] == 200)
        assert self.browser.request("GET", "/sign-in")[0] in (200, 302, 303)

    def _still_has_the_memory(self, number: str) -> None:
        said = self.browser.tool_call(self.store, self.key, number, command="view", path="/memories/notes.md")
        assert "Kept." in said, said

    def _is_on_postgresql(self) -> None:
        count = "select count(*) > 50 from information_schema.tables where table_name like 'memoryhub_%'"
        assert self.machine.run(f'runuser -u postgres -- psql -d memoryhub -Atc "{count}"').split()[-1] == "t"
        assert "sqlite" not in self.machine.run("ls /var/lib/memoryhub")

    def _wait(self, what: str, is_there: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                if is_there():
                    return
            except OSError:
                pass
            if time.monotonic() > end:
                raise Failed(f"There is not {what} after {seconds:.0f} seconds.")
            time.sleep(0.3)
