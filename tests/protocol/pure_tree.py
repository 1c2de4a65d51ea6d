"""The memory tool on a dictionary through the protocol's own functions: what a hub does, without one."""

from collections.abc import Mapping

from memoryhub.pure.protocol import paths, rendering, results, text
from memoryhub.pure.protocol.commands import Command, Create, Delete, Insert, Rename, StrReplace, View, parse
from memoryhub.pure.protocol.errors import ToolError


class PureTree:
    """`memories` maps paths in the API's form to texts."""

    def __init__(self, view_characters: int = 16_000) -> None:
        self.memories: dict[str, str] = {}
        self.view_characters = view_characters

    def call(self, input: Mapping[str, object]) -> tuple[bool, str]:
        try:
            return True, self._run(parse(input))
        except ToolError as error:
            return False, error.message

    def _run(self, command: Command) -> str:
        match command:
            case View(path, view_range):
                return self._view(path, view_range)
            case Create(path, file_text):
                return self._create(path, file_text)
            case StrReplace(path, old_str, new_str):
                edit = text.replace(path, self._text(path, results.path_not_found(path)), old_str, new_str)
                self.memories[path] = edit.text
                return rendering.edited_again(edit.text, edit.first, edit.last)
            case Insert(path, insert_line, insert_text):
                content = self._text(path, results.does_not_exist(path))
                self.memories[path] = text.insert(path, content, insert_line, insert_text)
                return results.edited(path)
            case Delete(path):
                return self._delete(path)
            case Rename(path, new_path):
                return self._rename(path, new_path)

    def _text(self, path: str, sentence: str) -> str:
        if path not in self.memories:
            raise ToolError(sentence)
        return self.memories[path]

    def _beneath(self, path: str) -> list[str]:
        low, high = paths.subtree(path)
        return [other for other in self.memories if low <= other < high]

    def _is_taken(self, path: str) -> bool:
        return path == paths.ROOT_DIRECTORY or path in self.memories or bool(self._beneath(path))

    def _above(self, path: str) -> str | None:
        return next((above for above in paths.ancestors(path) if above in self.memories), None)

    def _size(self, path: str) -> int:
        return sum(len(self.memories[other].encode()) for other in self._beneath(path))

    def _view(self, path: str, view_range: object) -> str:
        if path in self.memories:
            shown = rendering.view(path, self.memories[path], view_range, self.view_characters)
            again = rendering.view_again(path, self.memories[path], shown.first, shown.last, shown.cut)
            assert again == shown.answer
            return shown.answer
        if not self._is_taken(path):
            raise ToolError(results.view_not_found(path))
        depth = path.count("/") + 2
        memories = [other for other in self._beneath(path) if other.count("/") <= depth]
        directories = {above for other in self._beneath(path) for above in paths.ancestors(other)}
        near = [other for other in directories if other.startswith(path + "/") and other.count("/") <= depth]
        entries = [rendering.Entry(other, len(self.memories[other].encode()), False) for other in memories]
        entries += [rendering.Entry(other, self._size(other), True) for other in near]
        return rendering.listing(path, self._size(path), entries)

    def _create(self, path: str, file_text: str) -> str:
        if self._is_taken(path):
            raise ToolError(results.already_exists(path))
        if (above := self._above(path)) is not None:
            raise ToolError(results.cannot_create(path, above))
        self.memories[path] = file_text
        return results.created(path)

    def _delete(self, path: str) -> str:
        if path == paths.ROOT_DIRECTORY:
            raise ToolError(results.cannot_delete_root())
        if not self._is_taken(path):
            raise ToolError(results.does_not_exist(path))
        for gone in [path, *self._beneath(path)]:
            self.memories.pop(gone, None)
        return results.deleted(path)

    def _rename(self, path: str, new_path: str) -> str:
        if path == paths.ROOT_DIRECTORY:
            raise ToolError(results.cannot_rename_root())
        if not self._is_taken(path):
            raise ToolError(results.does_not_exist(path))
        if self._is_taken(new_path):
            raise ToolError(results.destination_exists(new_path))
        if new_path.startswith(path + "/"):
            raise ToolError(results.inside_itself(path, new_path))
        if (above := self._above(new_path)) is not None:
            raise ToolError(results.cannot_rename(path, new_path, above))
        moved = [path] if path in self.memories else self._beneath(path)
        paths.require_moved([new_path + other[len(path) :] for other in moved])
        for other in moved:
            self.memories[new_path + other[len(path) :]] = self.memories.pop(other)
        return results.renamed(path, new_path)
