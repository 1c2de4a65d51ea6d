"""A small client of S3, only for what backups need: it stores, lists and deletes objects of one bucket.

Requests are signed with AWS Signature Version 4. A file of more than PART bytes is stored in parts.
"""

import errno
import hashlib
import hmac
import http.client
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

PART = 64 * 1024 * 1024
BLOCK = 1024 * 1024
TIMEOUT = 60.0
LARGEST = 16 * 1024 * 1024
"""The most bytes of an answer that is not an object: a list of 1,000 objects has less than 2 MB."""
OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors that are caused by the file that is stored or fetched, not by the connection."""
_ERROR = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<Error[\s>]")
"""The beginning of an answer that is an error, whatever its status."""


class Refused(Exception):
    """The server does not answer, or refuses; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Account:
    """The keys of an account and the region for which requests are signed."""

    access_key: str
    secret_key: str
    region: str = "us-east-1"


def signed(
    account: Account, method: str, url: str, query: Mapping[str, str], sha256: str, at: datetime
) -> dict[str, str]:
    """Return the headers of a signed request. `sha256` is the SHA-256 of its body."""
    parts, moment = urlsplit(url), at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": parts.netloc, "x-amz-content-sha256": sha256, "x-amz-date": moment}
    names = ";".join(headers)
    lines = [f"{name}:{value}" for name, value in headers.items()]
    canonical = "\n".join([method, parts.path or "/", encoded(query), *lines, "", names, sha256])
    scope = f"{moment[:8]}/{account.region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{account.secret_key}".encode()
    for word in scope.split("/"):
        key = hmac.digest(key, word.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={account.access_key}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 {credential},SignedHeaders={names},Signature={signature}"
    return headers


def encoded(query: Mapping[str, str]) -> str:
    """Return a query in the order and the form in which it is signed and sent."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(query.items()))


class Bucket:
    """A bucket at an endpoint, such as https://s3.eu-central-1.amazonaws.com.

    The path of each request begins with the bucket's name.
    """

    def __init__(self, endpoint: str, name: str, account: Account) -> None:
        self.endpoint, self.name, self.account = endpoint.rstrip("/"), name, account

    def put(self, key: str, file: Path) -> None:
        """Store a file under a key. The object is visible only when the whole file has arrived."""
        size = file.stat().st_size
        with file.open("rb") as stream:
            if size <= PART:
                self._send("PUT", key, {}, stream, size)
                return
            upload = _tree(self._send("POST", key, {"uploads": ""})).findtext("UploadId", "")
            try:
                marks = self._parts(key, upload, stream, size)
                self._complete(key, upload, marks)
            except BaseException:
                with suppress(Refused):  # what failed before is reported
                    self._send("DELETE", key, {"uploadId": upload})
                raise

    def _parts(self, key: str, upload: str, stream: IO[bytes], size: int) -> list[str]:
        marks = []
        for number, start in enumerate(range(0, size, PART), 1):
            query = {"partNumber": str(number), "uploadId": upload}
            stream.seek(start)
            marks.append(self._send("PUT", key, query, stream, min(PART, size - start), wanted="etag").decode())
        return marks

    def _complete(self, key: str, upload: str, marks: list[str]) -> None:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{mark}</ETag></Part>" for number, mark in enumerate(marks, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        self._send("POST", key, {"uploadId": upload}, body)

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return {key: bytes} of the objects whose key begins with `prefix`."""
        found: dict[str, int] = {}
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = _tree(self._send("GET", "", query))
            for one in page.iter("Contents"):
                found[one.findtext("Key", "")] = _size(one)
            if page.findtext("IsTruncated") != "true":
                return found
            token = page.findtext("NextContinuationToken", "")
            if token == query.get("continuation-token", ""):
                raise Refused("The S3 server’s list does not end.")
            query["continuation-token"] = token

    def get(self, key: str, target: IO[bytes]) -> None:
        """Write an object into a file."""
        self._send("GET", key, {}, into=target)

    def delete(self, key: str) -> None:
        self._send("DELETE", key, {})

    def _send(
        self, method: str, key: str, query: dict[str, str], body: IO[bytes] | bytes = b"", size: int = 0,
        *, wanted: str = "", into: IO[bytes] | None = None,
    ) -> bytes:  # fmt: skip
        """Send a request. Return the answer's header `wanted`; without `wanted`, return the body, or write it to the
        file `into` and return no bytes. Raises Refused if the server refuses, does not answer or breaks off."""
        url = f"{self.endpoint}/{quote(self.name)}/{quote(key)}"
        parts = urlsplit(url)
        size = len(body) if isinstance(body, bytes) else size
        sha256 = hashlib.sha256(body).hexdigest() if isinstance(body, bytes) else _sha(body, size)
        headers = signed(self.account, method, url, query, sha256, datetime.now(UTC))
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
        try:
            connection.putrequest(method, f"{parts.path}?{encoded(query)}" if query else parts.path, skip_host=True)
            for name, value in (headers | {"content-length": str(size)}).items():
                connection.putheader(name, value)
            connection.endheaders()
            for block in _blocks(body, size):
                connection.send(block)
            answer = connection.getresponse()
            if answer.status >= 300:
                raise Refused(f"The S3 server refused ({answer.status}): {_said(answer.read(65_536))}")
            if into is not None:
                while block := answer.read(BLOCK):
                    into.write(block)
                if answer.length:  # of a part, `read` does not say that it is not whole
                    raise Refused(f"The S3 server at {parts.netloc} broke off: {answer.length} bytes are missing.")
                return b""
            given = answer.read(LARGEST)
            if _ERROR.match(given):  # with status 200
                raise Refused(f"The S3 server refused: {_said(given)}")
            return (answer.getheader(wanted) or "").encode() if wanted else given
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno in OF_THE_DISK:
                raise
            raise Refused(f"The S3 server at {parts.netloc} does not answer: {error}.") from error
        finally:
            connection.close()


def _sha(stream: IO[bytes], size: int) -> str:
    """Return the SHA-256 of the next `size` bytes of a file. The file's position is not changed."""
    start, digest = stream.tell(), hashlib.sha256()
    for block in _blocks(stream, size):
        digest.update(block)
    stream.seek(start)
    return digest.hexdigest()


def _blocks(body: IO[bytes] | bytes, size: int) -> Iterator[bytes]:
    if isinstance(body, bytes):
        yield body
        return
    while size > 0 and (block := body.read(min(BLOCK, size))):
        size -= len(block)
        yield block


def _tree(answer: bytes) -> ET.Element:
    """Return an answer's XML without its namespace."""
    try:
        return ET.fromstring(re.sub(rb' xmlns="[^"]*"', b"", answer, count=1))
    except ET.ParseError as error:
        raise Refused("The S3 server’s answer cannot be read.") from error


def _size(item: ET.Element) -> int:
    text = item.findtext("Size", "0")
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise Refused("The S3 server’s answer cannot be read.")
    return int(text)


def _said(answer: bytes) -> str:
    found = re.search(rb"<Message>([^<]*)</Message>", answer) or re.search(rb"<Code>([^<]*)</Code>", answer)
    text = found[1].decode("utf-8", "replace") if found else ""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split()) or "it says no more"
