"""Signed downloads of the audit, checked as an auditor does it: with the hub's public key, openssl and sha256sum."""

import io
import json
import re
import shutil
import subprocess
import tracemalloc
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from memoryhub.actions.core.audit import signing
from memoryhub.actions.erasure import redaction
from memoryhub.actions.verification import rotation, signed
from memoryhub.models import AuditEntry, MemoryStore, User
from memoryhub.pure import statement
from memoryhub.web.audit import public_key
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.transfer.exported import act, lines_of, of_type
from tests.web.history.versions import Caller
from tests.web.memories.pages import newest

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl"),
]


@dataclass
class Auditor:
    """The files of a download in a directory, and the key from the hub's page."""

    place: Path

    def gets(self, archive: bytes, pem: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            opened.extractall(self.place)
        (self.place / public_key.FILE).write_bytes(pem)

    def enters(self, command: str) -> tuple[int, str]:
        done = subprocess.run(["sh", "-c", command], cwd=self.place, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def believes(self) -> bool:
        """Whether both lines of the page say that all is right."""
        signature, sums = map(self.enters, public_key.COMMANDS)
        assert (signature[0] == 0) == ("Signature Verified Successfully" in signature[1]), signature
        return signature[0] == 0 and sums[0] == 0

    def read(self, name: str) -> bytes:
        return (self.place / name).read_bytes()

    def stated(self) -> dict[str, str]:
        lines = self.read(statement.NAME).decode("ascii").splitlines()
        return dict(line.removeprefix("# ").split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)

    def changes(self, name: str) -> None:
        """Change one byte of a file."""
        content = bytearray(self.read(name))
        content[len(content) // 2] ^= 1
        (self.place / name).write_bytes(content)


@pytest.fixture
def auditor(tmp_path: Path) -> Auditor:
    return Auditor(tmp_path)


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key, session="run-1")
    for number in range(5):
        caller.create(f"/{number}.md", "one\n")
    return caller


def pem_of(client: Client) -> bytes:
    return client.get(reverse("public_key_pem")).content


def exported(user: User, store: MemoryStore, **fields: str) -> bytes:
    answer = signed_in(user).post(reverse("export_store", args=[store.pk]), {"format": "signed", **fields})
    assert answer.streaming and answer.headers["Content-Disposition"].endswith('.zip"')
    return b"".join(answer.streaming_content)


def audit_of(user: User, store: MemoryStore, form: str = "csv", **fields: str) -> bytes:
    wanted = {"format": form, "signed": "1", "store": store.pk, **fields}
    answer = signed_in(user).post(reverse("export_audit"), wanted)
    assert answer.streaming and answer.headers["Content-Type"] == "application/zip"
    return b"".join(answer.streaming_content)


@pytest.mark.both_databases
def test_an_auditor_checks_an_export_with_the_public_key_alone(
    caller: Caller, alice: User, auditor: Auditor, client: Client
) -> None:
    auditor.gets(exported(alice, caller.store), pem_of(client))
    assert auditor.believes()
    lines = lines_of(auditor.read("support.jsonl"))
    entries, stated = of_type(lines, "entry"), auditor.stated()
    assert lines[-1]["type"] == "end" and len(entries) == entries[-1]["seq"]
    last, store = entries[-1], caller.store.pk
    said = f"{len(entries)}, the first is 1, the last is {last['seq']} with the hash {last['hash']}"
    assert stated[f"entries of {store}"] == said
    assert stated[f"chain of {store}"] == f"this hub checked it, {len(entries)} entries: nothing is wrong"
    assert stated["entry of this download"] == f"{store} {last['seq']}" and last["command"] == "export"
    assert (stated["asked for by"], stated["signed with the key"]) == (alice.pk, signing.current().fingerprint)
    assert json.loads(last["input"])["signed"] is True


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_filtered_audit_is_signed_with_its_filter(
    form: str, caller: Caller, bob: User, auditor: Auditor, client: Client
) -> None:
    auditor.gets(audit_of(bob, caller.store, form, q="command:create"), pem_of(client))
    assert auditor.believes()
    creations = AuditEntry.objects.filter(chain=caller.store.pk, command="create").order_by("seq")
    first, last = creations[0], creations.reverse()[0]
    stated = auditor.stated()
    said = f"5, the first is {first.seq}, the last is {last.seq} with the hash {last.hash}"
    assert stated[f"entries of {caller.store.pk}"] == said
    assert "command:create" in stated["filter"] and stated["masked values"] == "yes"
    assert last.hash.encode() in auditor.read(f"audit.{form}")
    page = signed_in(bob).get(reverse("store_audit", args=[caller.store.pk])).content.decode()
    assert "exported the audit as " + form in page and "with a signature" in page


@pytest.mark.both_databases
def test_the_statement_says_which_moments_the_words_of_a_filter_meant(
    caller: Caller, bob: User, auditor: Auditor, client: Client
) -> None:
    caller.create("/a.md", "one\n")
    day, start = "2025-11-", "T00:00:00.000000Z"
    for typed, said in (
        ("when:2025-11-03", f"from {day}03{start} on, before {day}04{start}"),
        (
            "from:2025-11-03 -when:2025-11-05",
            f"from {day}03{start} on; not from {day}05{start} on, before {day}06{start}",
        ),
        ("command:create", None),
    ):
        auditor.gets(audit_of(bob, caller.store, q=typed), pem_of(client))
        assert auditor.believes() and auditor.stated().get("times of the filter") == said


@pytest.mark.parametrize("name", ["audit.csv", statement.NAME, statement.SIGNATURE])
def test_one_changed_byte_is_found(name: str, caller: Caller, bob: User, auditor: Auditor, client: Client) -> None:
    auditor.gets(audit_of(bob, caller.store), pem_of(client))
    assert auditor.believes()
    auditor.changes(name)
    assert not auditor.believes()


def test_another_hub_has_another_key(
    caller: Caller, bob: User, auditor: Auditor, client: Client, settings: pytest.FixtureRequest
) -> None:
    archive = audit_of(bob, caller.store)
    own = pem_of(client)
    settings.MEMORYHUB_AUDIT_KEY = b"the audit key of another hub, 32 characters"  # type: ignore[attr-defined]
    other = pem_of(client)
    auditor.gets(archive, other)
    assert other != own and not auditor.believes()
    auditor.gets(archive, own)
    assert auditor.believes()


def test_a_chain_that_is_not_whole_is_not_called_so(
    caller: Caller, alice: User, auditor: Auditor, client: Client
) -> None:
    wrong = AuditEntry.objects.filter(chain=caller.store.pk, command="create").order_by("seq")[2]
    with tampering():
        AuditEntry.objects.filter(chain=wrong.chain, seq=wrong.seq).update(door="web")
    for archive in (exported(alice, caller.store), audit_of(alice, caller.store, q="command:view")):
        auditor.gets(archive, pem_of(client))
        assert auditor.believes(), "the file is what the hub gave out"
        said = auditor.stated()[f"chain of {caller.store.pk}"]
        assert said.startswith("this hub checked it, and SOMETHING IS WRONG") and f"entry {wrong.seq}:" in said
    assert auditor.stated()[f"entries of {caller.store.pk}"] == "none"


def test_what_was_redacted_is_counted(caller: Caller, alice: User, auditor: Auditor, client: Client) -> None:
    memory = caller.create("/secret.md", "secret\n")
    first = memory.head_id
    caller.replace("/secret.md", "secret", "nothing")
    redaction.redact_version(caller.store.pk, str(first), act())
    auditor.gets(exported(alice, caller.store), pem_of(client))
    assert auditor.believes()
    said = auditor.stated()[f"chain of {caller.store.pk}"]
    assert re.search(r"entries: nothing is wrong; removed with a record: \d+ redacted values?", said), said


def test_a_chain_that_is_too_long_is_not_said_to_be_checked(
    caller: Caller, alice: User, auditor: Auditor, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed, "MOST", 3)
    auditor.gets(exported(alice, caller.store), pem_of(client))
    assert auditor.believes()
    size = newest(caller.store).seq
    assert auditor.stated()[f"chain of {caller.store.pk}"] == (
        f"this hub has NOT CHECKED it for this download: it has {size} entries; it has recorded no check"
    )


def test_a_filter_adds_no_line_to_the_statement() -> None:
    told = statement.text([("filter", "a\n" + "0" * 64 + "  other.csv\u2028é\\")], "audit.csv", "1" * 64)
    assert told.decode("ascii").count("\n") == 4
    assert told.splitlines()[-2:] == [
        b"# filter: a\\n" + b"0" * 64 + b"  other.csv\\u2028\\u00e9\\\\", b"1" * 64 + b"  audit.csv",
    ]  # fmt: skip


@pytest.mark.usefixtures("own_checkpoints", "own_key")
def test_after_a_rotation_the_older_key_is_there_under_its_fingerprint(
    caller: Caller, alice: User, auditor: Auditor, client: Client
) -> None:
    archive, before = exported(alice, caller.store), signing.current()
    rotation.rotate("a new audit key of more than 32 characters", act())
    after = signing.current()
    page = client.get(reverse("public_key")).content.decode()
    assert after.fingerprint != before.fingerprint and after.fingerprint in page
    older = reverse("older_public_key", args=[before.fingerprint])
    assert f'href="{older}"' in page
    auditor.gets(archive, client.get(older).content)
    assert auditor.believes() and auditor.stated()["signed with the key"] == before.fingerprint
    auditor.gets(archive, pem_of(client))
    assert not auditor.believes()
    auditor.gets(exported(alice, caller.store), pem_of(client))
    assert auditor.believes() and auditor.stated()["signed with the key"] == after.fingerprint


def test_the_page_and_the_key_are_open_to_everyone_and_the_page_has_the_commands(
    caller: Caller, auditor: Auditor, client: Client
) -> None:
    page = client.get(reverse("public_key")).content.decode()
    for command in public_key.COMMANDS:
        assert escape(command) in page
    key = client.get(reverse("public_key_pem"))
    assert key.headers["Content-Disposition"] == f'attachment; filename="{public_key.FILE}"'
    assert key.content.decode().strip() in page
    (auditor.place / public_key.FILE).write_bytes(key.content)
    assert auditor.enters(f"openssl pkey -pubin -in {public_key.FILE} -outform DER -out key.der")[0] == 0
    fingerprint = auditor.enters("sha256sum key.der")[1].split()[0]
    assert fingerprint == signing.current().fingerprint and fingerprint in page
    assert client.get(reverse("older_public_key", args=["0" * 64])).status_code == 404


def test_the_guide_names_the_same_commands(settings: pytest.FixtureRequest) -> None:
    guide = Path(settings.BASE_DIR, "docs/export.md").read_text()  # type: ignore[attr-defined]
    assert all(command in guide for command in public_key.COMMANDS)


def test_only_a_whole_store_is_signed_and_only_for_curators(caller: Caller, alice: User, bob: User) -> None:
    caller.create("/notes/a.md", "one\n")
    url = reverse("export_store", args=[caller.store.pk])
    for user, query in ((bob, ""), (alice, "?path=/notes")):
        assert 'value="signed"' not in signed_in(user).get(url + query).content.decode()
        answer = signed_in(user).post(url + query, {"format": "signed"})
        assert not answer.streaming and "Choose one of the formats." in answer.content.decode()
    assert re.search(r'value="signed" checked', signed_in(alice).get(url + "?format=signed").content.decode())


def test_a_large_file_is_never_in_memory(db: None) -> None:
    piece = bytes(range(256)) * 4_000
    made = signed.Signed("large.bin", (piece for _ in range(60)), {}, ("hub", 1), act(), "/audit/key")
    tracemalloc.start()
    try:
        size = sum(map(len, made.archive()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 100_000 and peak < 10 * len(piece)


def test_a_key_follows_from_its_audit_key_for_ever(settings: pytest.FixtureRequest) -> None:
    """Every node, and every later version of the hub, must make the same one."""
    settings.MEMORYHUB_AUDIT_KEY = b"0123456789abcdef0123456789abcdef"  # type: ignore[attr-defined]
    assert signing.current().fingerprint == "d0fee42d13b4b6beb49bec25c9f4a58fbf3045dac593701d23dddafc7883d654"
