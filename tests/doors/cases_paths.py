"""Cases of paths: which a memory may have, and which are refused instead of being repaired."""

import json
from typing import Any

from tests.doors.table import INVALID, Case, Step, case, post

MEMORIES = "/v1/memory_stores/<empty>/memories"
NAME = "n" * 255

TAKEN = {
    "one name": "/a",
    "a name with a dot": "/a.b.c.md",
    "a hidden name": "/.hidden/.too",
    "node_modules": "/node_modules/x",
    "a name that begins with two dots": "/..x.md",
    "three dots at the end": "/...",
    "a space within": "/my notes/a b.md",
    "characters that mean something elsewhere": "/*%_'\"<$;|?#:&=+.md",
    "a name in NFC": "/caf\u00e9.md",
    "other scripts": "/\u65e5\u672c\u8a9e/\u0639\u0631\u0628\u064a.md",
    "an emoji": "/\U0001f600.md",
    "percent signs": "/100%25.md",
    "a name of 255 bytes": f"/{NAME}",
    "1,024 bytes": f"/{NAME}" * 4,
    "20 names": "/a" * 20,
    "the sync's marker deeper down": "/d/.anthropic-memory-store",
    "a name like the tool's root": "/memories/x.md",
    "a tool's drive": "/C:/x",
}

REFUSED = {
    "nothing": "",
    "the root": "/",
    "no slash at first": "a.md",
    "two slashes at first": "//a.md",
    "two slashes": "/a//b.md",
    "a slash at the end": "/a.md/",
    "white space before the slash": " /a.md",
    "white space at a name's beginning": "/ a.md",
    "white space at a name's end": "/a.md ",
    "white space at a directory's end": "/a /b.md",
    "a no-break space at the end": "/a.md\u00a0",
    "a dot": "/./a.md",
    "a dot at the end": "/a/.",
    "two dots": "/../a.md",
    "two dots at the end": "/a/..",
    "two dots within the store": "/a/../b.md",
    "two dots alone": "/..",
    "three dots and a slash": "/.../a.md",
    "a backslash": "/a\\b.md",
    "two dots and a backslash": "/..\\a.md",
    "a line break": "/a\nb.md",
    "a tab": "/a\tb.md",
    "NUL": "/a\0b.md",
    "DEL": "/a\x7f.md",
    "a soft hyphen": "/a\u00adb.md",
    "a change of direction": "/a\u202eb.md",
    "a zero-width space": "/a\u200bb.md",
    "a line separator": "/a\u2028b.md",
    "a paragraph separator": "/a\u2029b.md",
    "a byte order mark": "/\ufeffa.md",
    "a name not in NFC": "/cafe\u0301.md",
    "a fraction slash": "/a\u2044b.md",
    "a division slash": "/a\u2215b.md",
    "a full-width slash": "/a\uff0fb.md",
    "full-width dots": "/\uff0e\uff0e/a.md",
    "an encoded slash": "/a%2fb.md",
    "encoded dots": "/%2e%2e/a.md",
    "dots encoded twice": "/%252e%252e%252fa.md",
    "percent signs encoded six times": "/%" + "25" * 7 + "2e.md",
    "overlong dots": "/%c0%ae%c0%ae/a.md",
    "a name of 256 bytes": f"/{NAME}n",
    "a name of 129 characters of two bytes": "/" + "\u00e9" * 129,
    "1,025 bytes": f"/{NAME}" * 3 + "/" + "n" * 254 + "/n",
    "21 names": "/a" * 21,
    "the sync's marker": "/.anthropic-memory-store",
    "the tool's root itself with a slash": "/memories/",
}
NO_TEXT: dict[str, object] = {
    "null": None,
    "a number": 5,
    "true": True,
    "a list": ["/a.md"],
    "an object": {"path": "/a"},
}


def create(path: object, **options: Any) -> Step:
    return post(MEMORIES, {"path": path, "content": "x"}, **options)


CASES: tuple[Case, ...] = (
    *(case(f"A path may have {what}", create(path, has={"path": path})) for what, path in TAKEN.items()),
    *(case(f"A path may not be or have {what}", create(path, **INVALID)) for what, path in REFUSED.items()),
    *(case(f"A path is a text and not {what}", create(value, **INVALID)) for what, value in NO_TEXT.items()),
    case("A path is needed", post(MEMORIES, {"content": "x"}, **INVALID)),
    case("A path has no half of a surrogate pair", post(MEMORIES, b'{"path": "/\\ud800", "content": ""}', **INVALID)),
    case("A path may come escaped", post(
        MEMORIES, json.dumps({"path": "/\u00e9", "content": ""}).encode(), has={"path": "/\u00e9"})),
)  # fmt: skip
