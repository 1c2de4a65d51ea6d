"""Limits on uploads: their size, and the number of parts of a form."""

from typing import IO, Any

from django.conf import settings
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.http import QueryDict
from django.http.multipartparser import MultiPartParser
from django.utils.datastructures import MultiValueDict

from memoryhub.web.common.request import Request

DRAINED = 20
"""An upload that is too large is still read to its end, so that the browser receives the answer; but only if it has at
most this many times the allowed bytes."""


class OnlySoManyParts(FileUploadHandler):
    """Rejects a form with more parts than the allowed number of fields plus the allowed number of files.

    Django does not count files without a field name. A form of 4 MB can have 90,000 of them, which take seconds.
    """

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, str],  # noqa: N803
        content_length: int,
        boundary: str | bytes,
        encoding: str | None = None,
    ) -> tuple[QueryDict, MultiValueDict[str, Any]]:
        """Return the fields and files of the form."""
        assert self.request is not None
        others = [handler for handler in self.request.upload_handlers if handler is not self]
        most = (settings.DATA_UPLOAD_MAX_NUMBER_FIELDS or 0) + (settings.DATA_UPLOAD_MAX_NUMBER_FILES or 0)
        begin = b"--" + (boundary.encode() if isinstance(boundary, str) else boundary)
        counted: Any = _Counted(input_data, begin, most + 2)
        return MultiPartParser(META, counted, others, encoding).parse()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass the data on to the next handler."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


class _Counted:
    """A request body that raises TooManyFilesSent after more than `most` boundaries of parts."""

    def __init__(self, body: IO[bytes], begin: bytes, most: int) -> None:
        self._body, self._begin, self._left, self._tail = body, begin, most, b""

    def read(self, size: int) -> bytes:
        chunk = self._body.read(size)
        looked_at = self._tail + chunk
        self._left -= looked_at.count(self._begin)
        if self._left < 0:
            raise TooManyFilesSent("The form has more parts than it may have fields and files.")
        self._tail = looked_at[1 - len(self._begin) :]
        return chunk


class OnlySoLarge(FileUploadHandler):
    """Discards an upload of more bytes than MEMORYHUB_IMPORT allows.

    The connection is closed if the upload is larger than DRAINED times the allowed size.
    """

    request: Request

    def __init__(self, request: Request | None = None) -> None:
        super().__init__(request)
        self.size, self.most = 0, settings.MEMORYHUB_IMPORT["packed"]

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.size += len(raw_data)
        if self.size > self.most * DRAINED:
            raise StopUpload(connection_reset=True)
        if self.size > self.most:
            self.request.too_large = True  # type: ignore[attr-defined]
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


def was_too_large(request: Request) -> bool:
    """Return whether an upload of this request was discarded because of its size."""
    return bool(getattr(request, "too_large", False))
