"""The memory tool on a plain dictionary: what every call has to answer, said a second time and as simply as possible.

It is written from the specification and shares nothing with the hub but the check of paths, so that the two can only
agree where both are right. It takes its time: nothing here is meant to be fast.
"""

import unicodedata
from collections.abc import Mapping

from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError

Input = Mapping[str, object]

ROOT = "/memories"
COMMANDS = ["view", "create", "str_replace", "insert", "delete", "rename"]


class Refused(Exception):
    """The text of a tool error."""


class DictionaryHub:
    """One memory store. `memories` maps paths as the tool shows them (`/memories/notes/todo.md`) to texts.

    The limits are bytes a memory, memories, bytes in all, and code points a view, as the hub has them by default.
    """

    def __init__(
        self,
        *,
        memory_bytes: int = 102_400,
        most_memories: int = 10_000,
        total_bytes: int = 100 * 1024 * 1024,
        view_characters: int = 16_000,
        overwrite: bool = False,
        archived: bool = False,
        may_write: bool = True,
    ) -> None:
        self.memories: dict[str, str] = {}
        self.memory_bytes = memory_bytes
        self.most_memories = most_memories
        self.total_bytes = total_bytes
        self.view_characters = view_characters
        self.overwrite = overwrite
        self.archived = archived
        self.may_write = may_write

    def call(self, input: Input) -> tuple[bool, str]:
        """Whether the call succeeds, and its text."""
        try:
            return True, self._answer(input)
        except Refused as refused:
            return False, str(refused)

    def _answer(self, input: Input) -> str:
        command = input.get("command")
        if command not in COMMANDS:
            raise Refused(
                f"Error: Unrecognized command {echoed(command)}. The allowed commands for the memory tool are: "
                "view, create, str_replace, insert, delete, rename"
            )
        return {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }[str(command)](input)

    # ------------------------------------------------------------------------------------------------ the commands

    def _view(self, input: Input) -> str:
        path = path_of(input, "path", "view")
        if path in self.memories:
            return self._view_memory(path, input.get("view_range"))
        if path != ROOT and not self._beneath(path):
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        header = f"Here're the files and directories up to 2 levels deep in {path}, "
        lines = [header + "excluding hidden items and node_modules:", f"{self._size(path)}\t{path}"]
        items = self._items(path, levels=2)
        lines += items[:2000]
        if len(items) > 2000:
            lines.append(f"[{len(items) - 2000} more items not shown. View a directory beneath to see them.]")
        return "\n".join(lines)

    def _items(self, directory: str, levels: int) -> list[str]:
        if levels == 0:
            return []
        lines = []
        for name in sorted({path[len(directory) + 1 :].split("/")[0] for path in self._beneath(directory)}):
            if name[0] == "." or name == "node_modules":
                continue
            path = f"{directory}/{name}"
            lines.append(f"{self._size(path)}\t{path}" + ("" if path in self.memories else "/"))
            lines += self._items(path, levels - 1)
        return lines

    def _size(self, path: str) -> str:
        texts = [self.memories[path]] if path in self.memories else [self.memories[p] for p in self._beneath(path)]
        size = sum(size_of(text) for text in texts)
        if size < 1024:
            return f"{size}B"
        powers = {"K": 1, "M": 2, "G": 3, "T": 4}
        unit = max((unit for unit in powers if size >= 1024 ** powers[unit]), key=lambda unit: powers[unit])
        return f"{size / 1024 ** powers[unit]:.1f}{unit}"

    def _view_memory(self, path: str, view_range: object) -> str:
        text = self.memories[path]
        if len(lines_of(text)) > 999_999:
            raise Refused(f"File {path} exceeds maximum line limit of 999,999 lines.")
        lines = text.split("\n")
        first, last = checked_range(view_range, len(lines))
        shown = ""
        for number in range(first, last + 1):
            line = f"{number:>6}\t{lines[number - 1]}"
            if number > first and len(shown) + 1 + len(line) > self.view_characters:
                shown += f"\n[Lines {first} to {number - 1} of {len(lines)} shown."
                shown += f" Use view_range [{number}, {len(lines)}] for the rest.]"
                break
            shown += line if number == first else "\n" + line
        return f"Here's the content of {path} with line numbers:\n{shown}"

    def _create(self, input: Input) -> str:
        path = path_of(input, "path", "create", creates=True)
        text = text_of(input, "file_text", "create")
        self._require_writable()
        if path in self.memories and self.overwrite:
            return self._edit(path, text, f"File created successfully at: {path}")
        if self._taken(path):
            raise Refused(f"Error: File {path} already exists")
        if parent := self._memory_above(path):
            raise Refused(f"Error: Cannot create {path}: {parent} is a file, not a directory")
        self._require_room(path, text)
        self.memories[path] = text
        return f"File created successfully at: {path}"

    def _str_replace(self, input: Input) -> str:
        path = path_of(input, "path", "str_replace")
        old = text_of(input, "old_str", "str_replace")
        new = "" if input.get("new_str") is None else text_of(input, "new_str", "str_replace")
        if old == "":
            raise Refused("Error: Parameter `old_str` must not be empty for command: str_replace")
        self._require_writable()
        if path not in self.memories:
            raise Refused(f"Error: The path {path} does not exist. Please provide a valid path.")
        parts = self.memories[path].split(old)
        if len(parts) == 1:
            raise Refused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        if len(parts) > 2:
            starts = [old.join(parts[:count]).count("\n") + 1 for count in range(1, min(len(parts), 101))]
            named = ", ".join(str(line) for line in starts) + (", ..." if len(parts) > 101 else "")
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {named}. "
                "Please ensure it is unique"
            )
        changed = len(parts[0].split("\n"))
        lines = (parts[0] + new + parts[1]).split("\n")
        near = [number for number in range(changed - 2, changed + 3) if 1 <= number <= len(lines)]
        snippet = "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in near)
        header = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return self._edit(path, "\n".join(lines), f"{header}\n{snippet}")

    def _insert(self, input: Input) -> str:
        path = path_of(input, "path", "insert")
        named = "insert_text" if input.get("insert_text") is not None or input.get("new_str") is None else "new_str"
        text = text_of(input, named, "insert")
        insert_line = present(input, "insert_line", "insert")
        self._require_writable()
        if path not in self.memories:
            raise Refused(f"Error: The path {path} does not exist")
        lines = lines_of(self.memories[path])
        line = whole(insert_line)
        if line is None or line < 0 or line > len(lines):
            raise Refused(
                f"Error: Invalid `insert_line` parameter: {echoed(insert_line)}. "
                f"It should be within the range of lines of the file: [0, {len(lines)}]"
            )
        new = text.removesuffix("\n")
        whole_text = "".join(f"{line}\n" for line in [*lines[:line], new, *lines[line:]])
        return self._edit(path, whole_text, f"The file {path} has been edited.")

    def _delete(self, input: Input) -> str:
        path = path_of(input, "path", "delete")
        self._require_key()
        if path == ROOT:
            raise Refused("Error: Cannot delete the /memories directory itself")
        if not self._taken(path):
            raise Refused(f"Error: The path {path} does not exist")
        for gone in [path, *self._beneath(path)]:
            self.memories.pop(gone, None)
        return f"Successfully deleted {path}"

    def _rename(self, input: Input) -> str:
        named = "path" if input.get("old_path") is None and input.get("path") is not None else "old_path"
        old = path_of(input, named, "rename")
        new = path_of(input, "new_path", "rename")
        self._require_writable()
        if old == ROOT:
            raise Refused("Error: Cannot rename the /memories directory itself")
        if not self._taken(old):
            raise Refused(f"Error: The path {old} does not exist")
        if self._taken(new):
            raise Refused(f"Error: The destination {new} already exists")
        if new.startswith(old + "/"):
            raise Refused(f"Error: Cannot rename {old} to {new}: a path cannot be moved inside itself")
        if parent := self._memory_above(new):
            raise Refused(f"Error: Cannot rename {old} to {new}: {parent} is a file, not a directory")
        for path in self._beneath(old):
            path_of({"new_path": new + path[len(old) :]}, "new_path", "rename")
        for path in [old, *self._beneath(old)]:
            if path in self.memories:
                self.memories[new + path[len(old) :]] = self.memories.pop(path)
        return f"Successfully renamed {old} to {new}"

    # ------------------------------------------------------------------------------------------------ the tree

    def _beneath(self, directory: str) -> list[str]:
        return [path for path in self.memories if path.startswith(directory + "/")]

    def _taken(self, path: str) -> bool:
        return path == ROOT or path in self.memories or bool(self._beneath(path))

    def _memory_above(self, path: str) -> str | None:
        names = path.split("/")
        above = ["/".join(names[:count]) for count in range(2, len(names))]
        return next((parent for parent in above if parent in self.memories), None)

    # ------------------------------------------------------------------------------------------------ what is refused

    def _require_key(self) -> None:
        if not self.may_write:
            raise Refused("Error: this key may not write to this memory store")

    def _require_writable(self) -> None:
        self._require_key()
        if self.archived:
            raise Refused("Error: this memory store is archived and cannot be changed")

    def _require_room(self, path: str, text: str) -> None:
        is_new, size = path not in self.memories, size_of(text)
        before = 0 if is_new else size_of(self.memories[path])
        grows = size > before
        if grows and size > self.memory_bytes:
            raise Refused(
                f"Error: {path} would be {size} bytes; the limit of this memory store is {self.memory_bytes}. "
                "Split it or shorten it."
            )
        if is_new and len(self.memories) >= self.most_memories:
            raise Refused(
                f"Error: this memory store holds {len(self.memories)} memories, which is its limit. "
                "Delete or merge some."
            )
        total = sum(map(size_of, self.memories.values())) - before + size
        if grows and total > self.total_bytes:
            raise Refused(
                f"Error: this memory store would hold {total} bytes; its limit is {self.total_bytes}. "
                "Delete or shorten some memories."
            )

    def _edit(self, path: str, text: str, answer: str) -> str:
        self._require_room(path, text)
        self.memories[path] = text
        return answer


# ---------------------------------------------------------------------------------------------------- parameters


def present(input: Input, name: str, command: str) -> object:
    if input.get(name) is None:
        raise Refused(f"Error: Parameter `{name}` is required for command: {command}")
    return input[name]


def path_of(input: Input, name: str, command: str, *, creates: bool = False) -> str:
    """An accepted path as the tool shows it; how paths are checked has its own tests."""
    try:
        return ROOT + paths.from_tool(present(input, name, command), creates=creates)
    except ToolError as error:
        raise Refused(error.message) from None


def text_of(input: Input, name: str, command: str) -> str:
    value = present(input, name, command)
    if not isinstance(value, str):
        raise Refused(f"Error: Parameter `{name}` must be a string")
    if "\0" in value:
        raise Refused(f"Error: `{name}` contains a NUL character, which cannot be stored")
    if any(unicodedata.category(character) == "Cs" for character in value):
        raise Refused(f"Error: `{name}` is not valid Unicode text (unpaired surrogate)")
    return value


def checked_range(view_range: object, count: int) -> tuple[int, int]:
    """The first and last line to show of `count` shown lines."""
    if view_range is None:
        return 1, count
    ends = [whole(end) for end in view_range] if isinstance(view_range, list) else []
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise Refused("Error: Invalid `view_range`. It should be a list of two integers.")
    if ends[0] > count:
        raise Refused(
            f"Error: Invalid `view_range`: {view_range}. Its first element `{ends[0]}` "
            f"should be within the range of lines of the file: [1, {count}]"
        )
    first = max(ends[0], 1)
    last = count if ends[1] == -1 or ends[1] > count else ends[1]
    if last < first:
        raise Refused(
            f"Error: Invalid `view_range`: {view_range}. Its second element `{ends[1]}` "
            f"should be larger or equal than its first `{first}`"
        )
    return first, last


def whole(value: object) -> int | None:
    """The whole number that a value stands for, if it does."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value % 1 == 0:
        return int(value)
    if isinstance(value, str) and value.isascii():
        digits = value[1:] if value[:1] in ("+", "-") else value
        return int(value) if digits.isdigit() and len(digits) <= 1000 else None
    return None


def lines_of(text: str) -> list[str]:
    """The lines that LF ends; a final LF starts no line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def size_of(text: str) -> int:
    return len(text.encode("utf-8"))


def echoed(value: object) -> str:
    if not isinstance(value, str):
        return str(value)
    shown = ""
    for character in value:
        unseen = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        shown += ascii(character)[1:-1] if unseen else character
    return shown if len(shown) <= 200 else shown[:200] + "..."
