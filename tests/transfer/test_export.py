"""Exports: each format holds what the store held, by whom and when, and nothing that is not to leave."""

import hashlib
import hmac
import json
import re
import subprocess
from pathlib import Path

import pytest

from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import NotDone, Wanted, rows as exporting_rows
from memoryhub.models import AuditChain, AuditEntry, Memory, MemoryStore, MemoryVersion, Redaction
from memoryhub.pure import chain
from memoryhub.pure.transfer.jsonl.write import Counts
from tests.actions.history.histories import ANNA, History, tree_now
from tests.transfer.blaming import blamed, written
from tests.transfer.exported import Repository, act, archive, export, grown, lines_of, of_type
from tests.web.memories.pages import TEXTS, write

pytestmark = pytest.mark.django_db

STEPS = (Path(__file__).resolve().parents[2] / "docs" / "export.md").read_text().partition("### Checking the proof")[2]
DOCUMENTED = re.findall(r"`(\w+)`", STEPS.partition("canonical entry")[2].partition("\n3. ")[0])
"""What the canonical entry consists of, in the order of the documentation; the last eight are committed to."""


@pytest.fixture
def history() -> History:
    return grown()


def versions_of(store: MemoryStore) -> list[MemoryVersion]:
    return list(MemoryVersion.objects.filter(store=store).select_related("text").order_by("seq", "id"))


class TestLines:
    @pytest.mark.both_databases
    def test_they_hold_every_memory_with_every_version(self, history: History) -> None:
        lines = lines_of(export(history.store, "jsonl"))
        assert [line["type"] for line in lines[:2]] == ["header", "store"] and lines[-1]["type"] == "end"
        assert (lines[1]["id"], lines[1]["name"]) == (history.store.id, history.store.name)
        memories = of_type(lines, "memory")
        kept = {memory.pk: memory for memory in Memory.objects.filter(store=history.store)}
        assert {line["id"]: (line["path"], line["deleted"]) for line in memories} == {
            id: (memory.path, not memory.is_live) for id, memory in kept.items()
        }
        assert any(line["deleted"] for line in memories) and not all(line["deleted"] for line in memories)
        found = {line["id"]: line for line in of_type(lines, "version")}
        rows = versions_of(history.store)
        assert len(rows) == len(found) == lines[-1]["versions"] and lines[-1]["memories"] == len(memories)
        for row in rows:
            line = found[row.pk]
            assert line["memory"] == row.memory_id and line["number"] == row.number
            assert (line["operation"], line["created_at"]) == (row.operation, chain.moment(row.created_at))
            assert line["content"] == row.content and line["redacted"] == (row.redacted_at is not None)
            assert line["sha256"] == row.sha256

    def test_the_versions_of_a_memory_follow_it_the_oldest_first(self, history: History) -> None:
        memory, numbers = "", []
        for line in of_type(lines_of(export(history.store, "jsonl")), "memory", "version"):
            if line["type"] == "memory":
                memory, numbers = line["id"], []
            else:
                numbers.append(line["number"])
                assert line["memory"] == memory and numbers == sorted(numbers)

    @pytest.mark.both_databases
    def test_they_are_the_same_however_few_are_read_at_once(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun = exporting.begin(history.store.id, Wanted("jsonl"), act())
        whole = b"".join(begun.body())
        for part in (1, 3):
            monkeypatch.setattr(exporting_rows, "PART", part)
            monkeypatch.setattr(exporting_rows, "BRIEF", part)
            begun.counts = Counts()
            assert b"".join(begun.body()) == whole

    def test_a_redacted_version_stays_redacted(self, history: History) -> None:
        for form in exporting.FORMATS:
            assert b"first secret" not in export(history.store, form)
        redacted = [line for line in lines_of(export(history.store, "jsonl")) if line.get("redacted")]
        assert [(line["content"], line["sha256"]) for line in redacted] == [(None, None)]

    def test_authors_are_those_of_the_audit_and_no_address_leaves(self, history: History) -> None:
        found = {line["id"]: line["author"] for line in of_type(lines_of(export(history.store, "jsonl")), "version")}
        types = set()
        for row in versions_of(history.store):
            entry = AuditEntry.objects.get(chain=history.store.id, seq=row.seq)
            types.add(found[row.pk]["type"])
            if entry.actor_kind == "user":
                assert found[row.pk] == {"type": "user_actor", "id": ANNA, "label": "Anna"}
            else:
                assert found[row.pk]["id"] == (entry.session or entry.actor_id)
        assert types == {"user_actor", "api_actor", "session_actor"}
        for form in exporting.FORMATS:
            assert b"@example.com" not in export(history.store, form)

    def test_the_audit_can_be_checked_with_its_key(self, history: History, settings: object) -> None:
        lines = lines_of(export(history.store, "jsonl"))
        key = settings.MEMORYHUB_AUDIT_KEY  # type: ignore[attr-defined]
        versions, redactions = of_type(lines, "version"), of_type(lines, "redaction")
        previous = chain.GENESIS
        for seq, entry in enumerate(of_type(lines, "entry"), 1):
            assert (entry["seq"], entry["previous_hash"]) == (seq, previous)
            committed = [entry["commitments"].get(name) for name in DOCUMENTED[-8:]]
            whole = [1, *(entry[name] for name in DOCUMENTED[:-8]), committed]
            canonical = json.dumps(whole, separators=(",", ":"))
            assert hmac.digest(key, (previous + canonical).encode(), "sha256").hex() == entry["hash"]
            previous = entry["hash"]
            for field, salt in entry["salts"].items():
                value = json.loads(entry[field]) if field == "message" and entry[field] else entry[field]
                if value is not None:
                    hashed = hmac.digest(bytes.fromhex(salt), value.encode(), "sha256").hex()
                    assert hashed == entry["commitments"][field]
            made = sorted((line["id"], line["proof"]["commitment"]) for line in versions if line["proof"]["seq"] == seq)
            told = sorted((line["id"], line["commitment"]) for line in redactions if line["seq"] == seq)
            assert chain.digest([one for _, one in [*made, *told]] + entry["seals"]) == entry["digest"]
        for line in versions:
            if not line["redacted"]:
                assert line["proof"]["commitment"] == chain.version_commitment(
                    line["proof"]["salt"], id=line["id"], memory=line["memory"], number=line["number"],
                    operation=line["operation"], path=line["path"], sha256=line["sha256"], at=line["created_at"],
                    origin=line["proof"]["origin"],
                )  # fmt: skip
                if line["content"] is not None:
                    assert hashlib.sha256(line["content"].encode()).hexdigest() == line["sha256"]
        (proof,) = of_type(lines, "proof")
        head = AuditChain.objects.get(pk=history.store.id)
        assert (proof["last_seq"], proof["last_hash"]) == (head.last_seq, head.last_hash) == (seq, previous)
        assert len(redactions) == Redaction.objects.of_chain(history.store.id).count() > 0

    def test_without_history_there_are_the_newest_versions_alone(self, history: History) -> None:
        lines = lines_of(export(history.store, "jsonl", history=False))
        assert {line["path"]: line["content"] for line in of_type(lines, "version")} == tree_now(history.store)
        assert {line["type"] for line in lines} == {"header", "store", "memory", "version", "end"}

    def test_a_directory_is_exported_alone_and_without_the_audit(self, history: History) -> None:
        write(history.store, "/only/a.md")
        write(history.store, "/only-not/b.md")
        lines = lines_of(export(history.store, "jsonl", path="/only"))
        assert [line["path"] for line in of_type(lines, "memory")] == ["/only/a.md"]
        assert not of_type(lines, "entry", "redaction", "proof") and "proof" not in of_type(lines, "version")[0]
        assert lines[0]["path"] == "/only" and not lines[0]["audit"]


class TestArchive:
    def test_the_texts_are_at_their_paths(self, store: MemoryStore, tmp_path: Path) -> None:
        for number, text in enumerate(TEXTS):
            write(store, f"/a/{number}/x.md", text)
        body = export(store, "zip")
        texts, manifest, lines = archive(body)
        assert texts == {f"a/{number}/x.md": text for number, text in enumerate(TEXTS)}
        for line in manifest[1:]:
            data = texts[line["name"]].encode()
            assert (line["size"], line["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert lines is not None and lines[0]["format"] == "memoryhub"
        (tmp_path / "x.zip").write_bytes(body)
        subprocess.run(["unzip", "-q", "x.zip"], cwd=tmp_path, check=True, capture_output=True)
        for number, text in enumerate(TEXTS):
            assert (tmp_path / "a" / str(number) / "x.md").read_bytes() == text.encode()

    def test_the_history_is_that_of_the_lines(self, history: History) -> None:
        lines = of_type(archive(export(history.store, "zip"))[2] or [], "memory", "version")
        told = of_type(lines_of(export(history.store, "jsonl")), "memory", "version")
        assert lines == [{name: value for name, value in line.items() if name != "proof"} for line in told]

    def test_without_history_there_is_none(self, history: History) -> None:
        texts, manifest, lines = archive(export(history.store, "zip", history=False))
        assert lines is None and {line["path"]: texts[line["name"]] for line in manifest[1:]} == tree_now(history.store)

    def test_names_that_a_file_system_cannot_hold_are_escaped(self, store: MemoryStore) -> None:
        paths = [
            "/CON", "/con.md", "/a:b?.md", "/ends.", "/x", "/X", "/dir/y", "/DIR", "/100%41", "/é/é", "/.memoryhub/x",
            "/.MemoryHub/history.jsonl", "/.git/config",
        ]  # fmt: skip
        for path in paths:
            write(store, path, path)
        texts, manifest, _ = archive(export(store, "zip"))
        assert {line["path"]: texts[line["name"]] for line in manifest[1:]} == {path: path for path in paths}
        folded = [name.casefold() for name in texts]
        assert len(set(folded)) == len(folded) and not any(name.startswith(".memoryhub/") for name in folded)
        assert not any(set('<>:"\\|?*') & set(name) for name in texts)


class TestGit:
    def test_there_is_one_commit_a_version_by_its_author_at_its_time(self, history: History, tmp_path: Path) -> None:
        repository = Repository.of(export(history.store, "git"), tmp_path / "copy")
        commits, rows = repository.commits(), versions_of(history.store)
        assert [commit.trailers["Version"] for commit in commits] == [row.pk for row in rows]
        for commit, row in zip(commits, rows, strict=True):
            told = commit.trailers
            assert (told["Memory"], int(told["Number"]), told["Operation"]) == (
                row.memory_id,
                row.number,
                row.operation,
            )
            assert json.loads(told["Path"]) == row.path and told["At"] == chain.moment(row.created_at)
            assert commit.seconds == int(row.created_at.timestamp())
            assert commit.committer == "MemoryHub <hub@memoryhub.invalid>"
            entry = AuditEntry.objects.get(chain=history.store.id, seq=row.seq)
            kind, id = told["Actor"].split()
            assert commit.author == f"{entry.label} <{id}@{kind}.memoryhub.invalid>"
            assert told.get("Redacted") == ("yes" if row.redacted_at else None)

    def test_its_tree_is_that_of_the_store(self, tmp_path: Path) -> None:
        for seed in range(3):
            history = grown(seed)
            repository = Repository.of(export(history.store, "git"), tmp_path / str(seed))
            assert {"/" + path: text for path, text in repository.tree().items()} == tree_now(history.store)
            repository.git("fsck", "--strict")

    @pytest.mark.both_databases
    def test_each_line_has_the_author_that_the_hub_names(self, tmp_path: Path) -> None:
        store, path = written()
        repository = Repository.of(export(store, "git"), tmp_path / "copy")
        assert repository.blame(path[1:]) == blamed(store, path)

    def test_names_that_git_refuses_are_escaped(self, store: MemoryStore, tmp_path: Path) -> None:
        paths = ["/.git/config", "/%2Egit/config", "/.GIT", "/git~1/x", "/a/.gitattributes", '/"quoted".md', "/a b.md"]
        for path in paths:
            write(store, path, path)
        repository = Repository.of(export(store, "git"), tmp_path / "copy")
        assert sorted(repository.tree().values()) == sorted(paths)
        assert {json.loads(commit.trailers["Path"]) for commit in repository.commits()} == set(paths)
        repository.git("checkout", "--quiet", "main")
        assert (repository.place / "%2Egit" / "config").read_text() == "/.git/config"

    def test_every_text_comes_back_byte_for_byte(self, store: MemoryStore, tmp_path: Path) -> None:
        for number, text in enumerate(TEXTS):
            write(store, f"/{number}", text)
        repository = Repository.of(export(store, "git"), tmp_path / "copy")
        repository.git("checkout", "--quiet", "main")
        assert [(repository.place / str(number)).read_bytes() for number in range(len(TEXTS))] == [
            text.encode() for text in TEXTS
        ]

    def test_a_stream_that_was_cut_is_refused(self, store: MemoryStore, tmp_path: Path) -> None:
        write(store, "/a")
        with pytest.raises(AssertionError):
            Repository.of(export(store, "git")[:-5], tmp_path / "copy")

    def test_without_history_there_is_one_commit_a_memory(self, history: History, tmp_path: Path) -> None:
        repository = Repository.of(export(history.store, "git", history=False), tmp_path / "copy")
        assert {"/" + path: text for path, text in repository.tree().items()} == tree_now(history.store)
        assert len(repository.commits()) == len(tree_now(history.store))


class TestEntry:
    def test_it_is_written_before_the_first_byte(self, store: MemoryStore) -> None:
        write(store, "/a/b.md", "12345")
        begun = exporting.begin(store.id, Wanted("git", path="/a"), act())
        entry = AuditEntry.objects.of_chain(store.id).newest()[0]
        assert (entry.command, entry.path, entry.actor_kind, entry.seq) == ("export", "/a", "user", begun.scope.seq)
        told = json.loads(str(entry.input))
        assert {name: told[name] for name in ("format", "history", "audit", "paths", "memories", "size")} == {
            "format": "git", "history": True, "audit": False, "paths": ["/a/"], "memories": 1, "size": 5,
        }  # fmt: skip

    def test_an_empty_store_is_exported_too(self, store: MemoryStore, tmp_path: Path) -> None:
        assert [line["type"] for line in lines_of(export(store, "jsonl", history=False))] == ["header", "store", "end"]
        assert archive(export(store, "zip"))[0] == {}
        Repository.of(export(store, "git"), tmp_path / "copy")

    def test_what_is_not_there_is_not_exported_and_no_entry_is_written(self, store: MemoryStore) -> None:
        before = AuditEntry.objects.count()
        with pytest.raises(NotDone):
            exporting.begin(store.id, Wanted("zip", path="/nowhere"), act())
        assert AuditEntry.objects.count() == before
