"""What a memory tool does, as conversations: each step a command and the whole answer, `ok` or `err`."""

from typing import Any

Step = tuple[dict[str, Any], str, str]

LISTED = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:\n"
SHOWN = "Here's the content of {} with line numbers:\n"
SNIPPET = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"


def create(path: str, text: str) -> Step:
    return {"command": "create", "path": path, "file_text": text}, "ok", f"File created successfully at: {path}"


def ok(answer: str, /, **input: Any) -> Step:
    return input, "ok", answer


def err(answer: str, /, **input: Any) -> Step:
    return input, "err", answer


def shows(path: str, lines: str, /, **more: Any) -> Step:
    return {"command": "view", "path": path, **more}, "ok", SHOWN.format(path) + lines


def lists(path: str, lines: str) -> Step:
    return {"command": "view", "path": path}, "ok", LISTED.format(path) + lines


def missing(path: str, /, **input: Any) -> Step:
    return err(f"Error: The path {path} does not exist", **input)


def outside(path: str, /, **input: Any) -> Step:
    return err(f"Error: Path must start with /memories, got: {path}", **input)


def escapes(path: str, /, **input: Any) -> Step:
    return err(f"Error: Path {path} would escape /memories directory", **input)


A, B, C = "/memories/a.md", "/memories/notes/b.md", "/memories/notes/deep/er/c.md"
FIVE = "one\ntwo\nthree\nfour\nfive\n"
NO_RANGE = "Error: Invalid `view_range`"

FACTS: dict[str, list[Step]] = {
    "an empty store is an empty directory": [lists("/memories", "0B\t/memories"), lists("/memories", "0B\t/memories")],
    "a memory is created and read": [
        create(A, "Hello"),
        shows(A, "     1\tHello"),
    ],
    "a memory deep below brings its directories": [
        create(C, "text"),
        lists("/memories", "4B\t/memories\n4B\t/memories/notes/\n4B\t/memories/notes/deep/"),
        lists("/memories/notes", "4B\t/memories/notes\n4B\t/memories/notes/deep/\n4B\t/memories/notes/deep/er/"),
        shows(C, "     1\ttext"),
    ],
    "create does not overwrite": [
        create(A, "first"),
        err(f"Error: File {A} already exists", command="create", path=A, file_text="second"),
        shows(A, "     1\tfirst"),
        create(B, "x"),
        err("Error: File /memories/notes already exists", command="create", path="/memories/notes", file_text="x"),
        err(f"Error: Cannot create {A}/b: {A} is a file, not a directory", command="create", path=f"{A}/b",
            file_text=""),
    ],
    "a directory is listed two levels deep, without what is hidden": [
        create("/memories/b.md", "x" * 1536),
        create("/memories/a/one.md", "1"),
        create("/memories/a/two/three.md", "333"),
        create("/memories/a/two/four/five.md", "55555"),
        create("/memories/.hidden", "secret"),
        create("/memories/a/.git/config", "x"),
        create("/memories/node_modules/m/index.js", "x"),
        lists(
            "/memories",
            "1.5K\t/memories\n10B\t/memories/a/\n1B\t/memories/a/one.md\n8B\t/memories/a/two/\n1.5K\t/memories/b.md",
        ),
    ],
    "a memory is shown as it was written": [
        create(A, "Grüße\n\ttab 日本 🎉\r\nlast"),
        shows(A, "     1\tGrüße\n     2\t\ttab 日本 🎉\r\n     3\tlast"),
        create(B, ""),
        shows(B, "     1\t"),
        create(C, "one\n"),
        shows(C, "     1\tone\n     2\t"),
    ],
    "ranges": [
        create(A, FIVE),
        shows(A, "     2\ttwo\n     3\tthree", view_range=[2, 3]),
        shows(A, "     4\tfour\n     5\tfive\n     6\t", view_range=[4, -1]),
        shows(A, "     1\tone", view_range=[1, 1]),
        shows(A, "     5\tfive\n     6\t", view_range=[5, 99]),
        shows(A, "     1\tone\n     2\ttwo", view_range=[-3, 2]),
        err(f"{NO_RANGE}: [9, -1]. Its first element `9` should be within the range of lines of the file: [1, 6]",
            command="view", path=A, view_range=[9, -1]),
        err(f"{NO_RANGE}: [3, 2]. Its second element `2` should be larger or equal than its first `3`",
            command="view", path=A, view_range=[3, 2]),
        err(f"{NO_RANGE}. It should be a list of two integers.", command="view", path=A, view_range=[1]),
    ],
    "what is not there is not viewed": [
        err(f"The path {A} does not exist. Please provide a valid path.", command="view", path=A),
        create(A, "x"),
        err(f"The path {A}/b does not exist. Please provide a valid path.", command="view", path=f"{A}/b"),
    ],
    "str_replace shows two lines on either side": [
        create(A, FIVE),
        ok(f"{SNIPPET}     1\tone\n     2\ttwo\n     3\tTHREE\n     4\tfour\n     5\tfive", command="str_replace",
           path=A, old_str="three", new_str="THREE"),
        ok(f"{SNIPPET}     1\tONE\n     2\ttwo\n     3\tTHREE", command="str_replace", path=A, old_str="one",
           new_str="ONE"),
        ok(f"{SNIPPET}     3\tTHREE\n     4\tfour\n     5\tf.i.v.e\n     6\t", command="str_replace", path=A,
           old_str="five", new_str="f.i.v.e"),
        ok(f"{SNIPPET}     1\tONE\n     2\tTHREE\n     3\tfour\n     4\tf.i.v.e", command="str_replace", path=A,
           old_str="two\n"),
        shows(A, "     1\tONE\n     2\tTHREE\n     3\tfour\n     4\tf.i.v.e\n     5\t"),
    ],
    "str_replace wants one place": [
        create(A, "aa\nb\naa aa\n"),
        err("No replacement was performed. Multiple occurrences of old_str `aa` in lines: 1, 3, 3. Please ensure it is"
            " unique", command="str_replace", path=A, old_str="aa", new_str="c"),
        err(f"No replacement was performed, old_str `zz` did not appear verbatim in {A}.", command="str_replace",
            path=A, old_str="zz", new_str="c"),
        err("Error: The path /memories/x.md does not exist. Please provide a valid path.", command="str_replace",
            path="/memories/x.md", old_str="a", new_str="b"),
        err("Error: The path /memories does not exist. Please provide a valid path.", command="str_replace",
            path="/memories", old_str="a", new_str="b"),
        ok(f"{SNIPPET}     1\taa\n     2\t\\1 $& b*\n     3\taa aa", command="str_replace", path=A, old_str="\nb\n",
           new_str="\n\\1 $& b*\n"),
    ],
    "insert at the top, after a line and at the end": [
        create(A, "one\ntwo\n"),
        ok(f"The file {A} has been edited.", command="insert", path=A, insert_line=0, insert_text="top\n"),
        ok(f"The file {A} has been edited.", command="insert", path=A, insert_line=1, insert_text="after top"),
        ok(f"The file {A} has been edited.", command="insert", path=A, insert_line=4, insert_text="end\n"),
        shows(A, "     1\ttop\n     2\tafter top\n     3\tone\n     4\ttwo\n     5\tend\n     6\t"),
        create(B, ""),
        ok(f"The file {B} has been edited.", command="insert", path=B, insert_line=0, insert_text="first\n"),
        shows(B, "     1\tfirst\n     2\t"),
    ],
    "insert within the lines only": [
        create(A, "one\ntwo\n"),
        *(err(f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file:"
              " [0, 2]", command="insert", path=A, insert_line=line, insert_text="x") for line in (-1, 3, 99)),
        missing(B, command="insert", path=B, insert_line=0, insert_text="x"),
        shows(A, "     1\tone\n     2\ttwo\n     3\t"),
    ],
    "delete takes a memory, or a directory with all beneath it": [
        create(A, "x"), create(B, "x"), create(C, "x"),
        ok(f"Successfully deleted {A}", command="delete", path=A),
        missing(A, command="delete", path=A),
        ok("Successfully deleted /memories/notes", command="delete", path="/memories/notes/"),
        lists("/memories", "0B\t/memories"),
        err("Error: Cannot delete the /memories directory itself", command="delete", path="/memories"),
        err("Error: Cannot delete the /memories directory itself", command="delete", path="/memories/"),
    ],
    "rename moves a memory or a directory and overwrites nothing": [
        create(A, "x"), create(B, "y"), create(C, "z"),
        ok(f"Successfully renamed {A} to /memories/new/place/a.md", command="rename", old_path=A,
           new_path="/memories/new/place/a.md"),
        missing(A, command="rename", old_path=A, new_path="/memories/other.md"),
        ok("Successfully renamed /memories/notes to /memories/old", command="rename", old_path="/memories/notes",
           new_path="/memories/old"),
        shows("/memories/old/deep/er/c.md", "     1\tz"),
        err("Error: The destination /memories/old/b.md already exists", command="rename",
            old_path="/memories/new/place/a.md", new_path="/memories/old/b.md"),
        err("Error: The destination /memories/new already exists", command="rename", old_path="/memories/old",
            new_path="/memories/new"),
        err("Error: Cannot rename /memories/old to /memories/old/x: a path cannot be moved inside itself",
            command="rename", old_path="/memories/old", new_path="/memories/old/x"),
        err("Error: Cannot rename the /memories directory itself", command="rename", old_path="/memories", new_path=A),
    ],
    "paths outside": [
        *(outside(path, command="view", path=path)
          for path in ("/etc/passwd", "/", "", "memories/a", "/memoriesX/a", "/memories_backup/x", "/Memories/a",
                       "../a")),
        outside("/tmp/a", command="create", path="/tmp/a", file_text="x"),
        outside("/tmp/a", command="rename", old_path="/memories/a.md", new_path="/tmp/a"),
    ],
    "paths that climb": [
        *(escapes(path, command="view", path=path)
          for path in ("/memories/../etc/passwd", "/memories/a/../../../etc", "/memories/..", "/memories/a/..",
                       "/memories/..\\x", "/memories/%2e%2e%2fetc/passwd", "/memories/%252e%252e/x")),
        *(escapes("/memories/../x", command=command, path="/memories/../x", **more) for command, more in {
            "create": {"file_text": "x"}, "str_replace": {"old_str": "a", "new_str": "b"},
            "insert": {"insert_line": 0, "insert_text": "x"}, "delete": {}}.items()),
        create("/memories/..x.md", "an ordinary name"),
        create("/memories/a/100%25.md", "another"),
    ],
    "a command that there is not": [
        err("Error: Unrecognized command undo. The allowed commands for the memory tool are: view, create, str_replace,"
            " insert, delete, rename", command="undo", path=A),
        err("Error: Parameter `path` is required for command: view", command="view"),
        err("Error: Parameter `file_text` must be a string", command="create", path=A, file_text=7),
        err("Error: `file_text` is not valid Unicode text (unpaired surrogate)", command="create", path=A,
            file_text="\ud800"),
    ],
}  # fmt: skip
