"""Uploads: no more of one is taken in than an import may be, whatever the browser announced."""

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.http import HttpRequest

DRAINED = 20
"""What is up to so many times too large is read to its end, so that the browser hears the answer."""


class OnlySoLarge(FileUploadHandler):
    """Lets go of an upload that grows too large, and notes it on the request."""

    request: HttpRequest

    def __init__(self, request: HttpRequest | None = None) -> None:
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
        """The next handler keeps it."""


def was_too_large(request: HttpRequest) -> bool:
    """Whether something that was brought has been let go of."""
    return bool(getattr(request, "too_large", False))
