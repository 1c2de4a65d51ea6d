"""Backups in a bucket: the signature of Amazon's own example, and a server that checks every signature."""

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from memoryhub.actions.backups import targets
from memoryhub.actions.backups.databases import Failed
from memoryhub.pure.backups import s3

ACCOUNT = s3.Account("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ({"lifecycle": ""}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ({"max-keys": "2", "prefix": "J"}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_it_signs_as_the_examples_of_amazon_do(query: dict[str, str], signature: str) -> None:
    at = datetime(2013, 5, 24, tzinfo=UTC)
    headers = s3.signed(ACCOUNT, "GET", "https://examplebucket.s3.amazonaws.com/", query, EMPTY, at)
    assert headers["authorization"].endswith(f"Signature={signature}")


class Server(ThreadingHTTPServer):
    objects: dict[str, bytes]
    parts: dict[str, bytes]
    refused: int
    sends: int | None = None
    says: bytes | None = None
    fails: bytes | None = None
    keeps: int | None = None


class Handler(BaseHTTPRequestHandler):
    """As much of an S3 server as backups need."""

    server: Server

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def answer(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in (headers | {"content-length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers["content-length"]))
        at = datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        url = f"http://{self.headers['host']}{parts.path}"
        right = s3.signed(ACCOUNT, self.command, url, query, hashlib.sha256(body).hexdigest(), at)
        if right["authorization"] != self.headers["authorization"]:
            self.answer(b"<Error><Code>X</Code><Message>The signature does not match.</Message></Error>", 403)
            return
        self.act(unquote(parts.path).removeprefix("/bucket/"), query, body)

    def act(self, key: str, query: dict[str, str], body: bytes) -> None:
        objects = self.server.objects
        if self.command == "PUT" and "partNumber" in query:
            self.server.parts[query["partNumber"]] = body
            self.answer(etag=f'"{query["partNumber"]}"')
        elif self.command == "PUT":
            objects[key] = body[: self.server.keeps]
            self.answer()
        elif self.command == "POST" and "uploads" in query:
            self.answer(b'<R xmlns="http://x"><UploadId>u</UploadId></R>')
        elif self.command in ("POST", "DELETE") and self.server.fails is not None:
            self.answer(self.server.fails)
        elif self.command == "POST":
            objects[key] = b"".join(self.server.parts[number] for number in re.findall(r'"(\d+)"', body.decode()))
            self.answer(b"<R/>")
        elif self.command == "DELETE":
            objects.pop(key, None)
            self.answer(status=204)
        elif "list-type" in query and self.server.says is not None:
            self.answer(self.server.says)
        elif "list-type" in query:
            after = query.get("continuation-token", "")
            keys = [name for name in sorted(objects) if name.startswith(query["prefix"]) and name > after][:2]
            more = f"<IsTruncated>{'true' if len(keys) == 2 else 'false'}</IsTruncated>"
            listed = "".join(f"<Contents><Key>{k}</Key><Size>{len(objects[k])}</Size></Contents>" for k in keys)
            end = f"<NextContinuationToken>{keys[-1]}</NextContinuationToken>" if keys else ""
            self.answer(f'<L xmlns="http://x">{more}{listed}{end}</L>'.encode())
        elif self.server.sends is not None:
            self.send_response(200)
            self.send_header("content-length", str(len(objects[key])))
            self.end_headers()
            self.wfile.write(objects[key][: self.server.sends])
        else:
            self.answer(objects[key])

    do_GET = do_PUT = do_POST = do_DELETE = handle_one  # noqa: N815


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.objects, made.parts = {}, {}
    threading.Thread(target=made.serve_forever, daemon=True).start()
    monkeypatch.setenv("MEMORYHUB_BACKUP_S3_ENDPOINT", f"http://127.0.0.1:{made.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCOUNT.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ACCOUNT.secret_key)
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize("part", [s3.PART, 1000])
def test_a_file_is_stored_listed_fetched_and_deleted(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(s3, "PART", part)
    file, bucket = tmp_path / "file", targets.Bucket("s3://bucket/hub one/")
    file.write_bytes(bytes(range(256)) * 10)
    assert bucket.staging(tmp_path) == tmp_path
    for name in ("a+b", "c", "d"):
        assert bucket.keep(file, name) == f"s3://bucket/hub one/{name}"
    assert server.objects["hub one/c"] == file.read_bytes()
    assert bucket.names() == ["a+b", "c", "d"]
    bucket.fetch("a+b", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == file.read_bytes()
    bucket.remove("c")
    assert bucket.names() == ["a+b", "d"]


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (b"<L><IsTruncated>true</IsTruncated></L>", "does not end"),
        (b"<L><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></L>", "does not end"),
        (b"<L><Contents><Key>a</Key><Size>many</Size></Contents></L>", "cannot be read"),
        (b"<L>" + bytes(s3.LARGEST) + b"</L>", "cannot be read"),
        (b"<html>", "cannot be read"),
        (b"<Error><Code>InternalError</Code><Message>Try again.</Message></Error>", "refused: Try again."),
    ],
)
def test_a_list_that_no_server_should_send_is_a_sentence(server: Server, says: bytes, why: str) -> None:
    server.says = says
    with pytest.raises(Failed, match=why):
        targets.Bucket("s3://bucket").names()


@pytest.mark.parametrize("head", [b"", b'\n<?xml version="1.0" encoding="UTF-8"?>\n'])
def test_an_error_with_status_200_is_no_success(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    bucket = targets.Bucket("s3://bucket/hub")
    (tmp_path / "file").write_bytes(bytes(2000))
    bucket.keep(tmp_path / "file", "a")
    server.fails = head + b'<Error xmlns="http://x"><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>'
    with pytest.raises(Failed, match="refused: Reduce your rate"):
        bucket.remove("a")
    monkeypatch.setattr(s3, "PART", 1000)
    with pytest.raises(Failed, match="refused: Reduce your rate"):
        bucket.keep(tmp_path / "file", "b")
    assert bucket.names() == ["a"]


def test_a_file_that_was_stored_in_part_does_not_stay_as_a_backup(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(1000))
    server.keeps = 500
    with pytest.raises(Failed, match="has not the whole file"):
        targets.Bucket("s3://bucket/hub").keep(tmp_path / "file", "a")
    assert server.objects == {}


def test_a_refusal_is_one_line_without_control_characters() -> None:
    assert s3._said(b"<Message>No.\x1b[2J\r\nAll is well.</Message>") == "No. [2J All is well."


def test_a_refusal_and_a_server_that_is_not_there_are_sentences(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(Failed, match=r"refused \(403\): The signature does not match"):
        targets.Bucket("s3://bucket").names()
    monkeypatch.setenv("MEMORYHUB_BACKUP_S3_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Failed, match="does not answer"):
        targets.Bucket("s3://bucket").names()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(Failed, match="AWS_ACCESS_KEY_ID"):
        targets.target("s3://bucket")


@pytest.mark.parametrize("address", ["minio.example.com", "http://", "https://[::1", "http://minio.example.com:abc"])
def test_an_address_that_is_none_of_a_server_is_named(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYHUB_BACKUP_S3_ENDPOINT", address)
    with pytest.raises(Failed, match="MEMORYHUB_BACKUP_S3_ENDPOINT is not an address"):
        targets.Bucket("s3://bucket")


def test_secrets_may_end_with_a_line_break(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "MEMORYHUB_BACKUP_S3_ENDPOINT"):
        monkeypatch.setenv(name, f"{os.environ[name]}\n")
    assert targets.Bucket("s3://bucket").names() == []


def test_what_stops_a_download_is_named(server: Server, tmp_path: Path) -> None:
    server.objects["hub/a"] = bytes(3_000_000)
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        targets.Bucket("s3://bucket/hub").bucket.get("hub/a", full)  # not: the server does not answer
    server.sends = 2_000_000
    with pytest.raises(Failed, match="broke off: 1000000 bytes are missing"):  # not: the backup is damaged
        targets.Bucket("s3://bucket/hub").fetch("a", tmp_path / "copy")
