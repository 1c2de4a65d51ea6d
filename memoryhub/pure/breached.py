"""Looks up passwords in a local list of breached passwords: a sorted file of SHA-1 digests in hexadecimal, one digest a
line.

Have I Been Pwned offers its list in this form (`DIGEST:count`). The file may be large: it is searched by bisection.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

_LONGEST_LINE = 100


def is_listed(password: str, file: Path) -> bool:
    """Return whether a password is in the list in `file`. Raises OSError if the file cannot be read."""
    digest = hashlib.sha1(password.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest().upper().encode()
    with file.open("rb") as stream:
        low, high = 0, stream.seek(0, os.SEEK_END)
        while low < high:
            middle = (low + high) // 2
            found, end = _line_after(stream, middle)
            if not found or found[:40].upper() > digest:
                high = middle
            elif found[:40].upper() < digest:
                low = max(end, middle + 1)
            else:
                return True
    return False


def _line_after(stream: BinaryIO, position: int) -> tuple[bytes, int]:
    """Return the first line that begins at a position or after it, and where this line ends; "" at the end of the
    file."""
    stream.seek(max(0, position - 1))
    if position:
        stream.readline(_LONGEST_LINE)
    return stream.readline(_LONGEST_LINE), stream.tell()
