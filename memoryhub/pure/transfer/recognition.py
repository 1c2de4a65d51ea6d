"""Recognises the format of imported bytes."""

from memoryhub.pure.transfer import reading, tree_read
from memoryhub.pure.transfer.bundle import Bundle, Refused
from memoryhub.pure.transfer.git import read as git_read
from memoryhub.pure.transfer.jsonl import read as jsonl_read
from memoryhub.pure.transfer.reading import Bounds, Data, Read
from memoryhub.pure.transfer.tree_read import DEFAULT, Exclude


def read(data: Data, name: str, bounds: Bounds, only_memory_files: bool = False, exclude: Exclude = DEFAULT) -> Read:
    """Return the memories in imported bytes. Their format is recognised by the content or, failing that, by `name`.
    Raises Refused.

    `only_memory_files` and `exclude` choose among the texts of an archive or a git stream.
    """
    reading.require_size(data, bounds)
    if not len(data):
        raise Refused("There is nothing in it.")
    if data[:2] == b"PK" or name.lower().endswith(".zip"):
        return tree_read.read_archive(data, bounds, only_memory_files, exclude)
    if data[:7] == b'{"type"' or name.lower().endswith((".jsonl", ".ndjson")):
        return jsonl_read.read(data, bounds)
    if git_read.is_one(data):
        return git_read.read(data, bounds, only_memory_files, exclude)
    if name.lower().endswith((".md", ".txt", ".markdown")):
        memories, left = reading.memories_of([(reading.require_place(name), data[:])])
        return reading.require_some(Read(Bundle("text", memories), left))
    raise Refused(
        "It is not a ZIP archive, not JSON Lines of an export, not a git stream, and not a Markdown or plain text."
    )
