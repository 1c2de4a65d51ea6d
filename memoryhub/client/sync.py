"""Keeps a directory of files and a memory store in step, in both directions: `hub-memory-sync`.

It is for agents that keep their memory in files, such as Claude Code.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import anthropic

from memoryhub.client.folder import OWN, Busy, Folder, digest_of

LISTED_EVERY, PROPOSALS_EVERY = 60.0, 600.0
"""Seconds after which all memories are listed again even without a new version, because an erasure makes no version;
and seconds after which the hub is asked again about a proposal, because its audit records each question."""
REFUSED_EVERY = 600.0
"""Seconds after which a file that the hub did not accept is sent again although it is the same: a limit may be higher
by then, or the hub may have room again."""
LONGEST_PAUSE = 60.0

Say = Callable[[str], None]


class Ended(Exception):
    """The comparisons cannot go on; the message says why."""


@dataclass(slots=True)
class State:
    """The state after the last comparison.

    `files` is {path: digest that both sides had}. `waiting` is {path: [digest of the proposed text, number of the
    proposal]}; the digest is "" for a proposed deletion. `refused` is {path: digest of a file that the hub did not
    accept}. `tried` is {path: when the file was last sent, in seconds since 1970}.
    """

    store: str
    path: str
    files: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, tuple[str, int]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    tried: dict[str, float] = field(default_factory=dict)


class Sync:
    """Keeps the directory `root` in step with a memory store, or with the directory `path` of that store.

    `say` is called with each line to show to a person.
    """

    def __init__(self, client: anthropic.Anthropic, store: str, path: str, root: Path, say: Say) -> None:
        self.client, self.store, self.say = client, store, say
        self.memories = client.beta.memory_stores.memories
        self.folder = Folder(root)
        self.state = self._load(path)
        self._listed: dict[str, Any] = {}
        self._newest, self._listed_at = "", float("-inf")
        self._proposals: dict[int, tuple[float, str]] = {}
        self._said: set[str] = set()

    def _load(self, path: str) -> State:
        own = self.folder.read(f"{OWN}/state.json")
        state = State(**json.loads(own)) if own else State(self.store, path)
        if (state.store, state.path) != (self.store, path):
            told = f"{state.path} of {state.store}"
            raise Ended(
                f"{self.folder.root} is kept in step with {told}. Choose another directory, or delete {OWN} in it."
            )
        return state

    def look(self) -> None:
        """Compare the directory and the memory store once, and bring each up to date.

        Raises OSError and the errors of the SDK: what was done before the error is remembered, and the next comparison
        continues.
        """
        before = asdict(self.state)
        try:
            local, remote = self.folder.scan(), self._memories()
            self._mind_a_wipe(local)
            for relative in sorted({*local, *remote, *self.state.files}):
                if relative in local and local[relative] is None:
                    self._print_line(
                        "left out", relative, "no text in UTF-8, or larger than a memory can be", once=True
                    )
                    continue
                with contextlib.suppress(Busy):
                    self._compare(relative, local.get(relative), remote.get(relative))
        finally:
            if asdict(self.state) != before:
                self.folder.store(f"{OWN}/state.json", json.dumps(asdict(self.state), indent=1).encode())

    def _memories(self) -> Mapping[str, Any]:
        """Return {path: memory, without its text}. Memories are listed again only after a new version, or after
        LISTED_EVERY seconds."""
        newest = self.client.beta.memory_stores.memory_versions.list(self.store, limit=1, view="basic").data
        version = newest[0].id if newest else ""
        if version != self._newest or time.monotonic() - self._listed_at >= LISTED_EVERY:
            before = len(self.state.path)
            found = self.memories.list(self.store, path_prefix=self.state.path, limit=100)
            named = {item.path[before:]: item for item in found if item.type == "memory"}
            self._listed = {path: item for path, item in named.items() if not _is_hidden(path)}
            self._newest, self._listed_at = version, time.monotonic()
        return dict(self._listed)

    def _mind_a_wipe(self, local: Mapping[str, str | None]) -> None:
        if len(self.state.files) > 1 and not local:
            self.say("All files are gone at once: they come back from the hub, and nothing is deleted there.")
            self.state.files.clear()

    def _compare(self, relative: str, here: str | None, memory: Any) -> None:
        there, both = memory.content_sha256 if memory else None, self.state.files.get(relative)
        if here == there:
            self._settle(relative, here)
        elif self._is_waiting(relative, here, memory):
            pass
        elif here == both or (here is None and there != both):
            self._bring(relative, memory, here)
        elif there == both or there is None:
            if not self._is_refused(relative, here):
                self._send(relative, here, memory)
        else:
            self._keep_both(relative, here, memory)

    def _settle(self, relative: str, digest: str | None) -> None:
        """Record that the file and the memory both have the text with this digest (None: neither exists)."""
        self.state.waiting.pop(relative, None)
        self.state.refused.pop(relative, None)
        self.state.tried.pop(relative, None)
        if digest is None:
            self.state.files.pop(relative, None)
        else:
            self.state.files[relative] = digest

    def _bring(self, relative: str, memory: Any, here: str | None, told: str = "", more: str = "") -> None:
        """Give the file the text of `memory`, or delete the file if `memory` is None.

        Then show a person a line: `told` is the first word of the line (by default, "brought" or "deleted"), and
        `more` is the text after the path.
        """
        try:
            self.folder.require(relative, here)  # before the hub notes that the text was read
            if memory is not None:
                memory = self.memories.retrieve(memory.id, memory_store_id=self.store, view="full")
            self.folder.put(relative, memory.content.encode() if memory else None, here)
        except anthropic.NotFoundError:
            raise Busy(relative) from None
        except OSError as error:
            self._print_line("not here", relative, str(error.strerror or error), once=True)
            return
        self._settle(relative, memory.content_sha256 if memory else None)
        self._print_line(told or ("brought" if memory else "deleted"), relative, more)

    def _send(self, relative: str, here: str | None, memory: Any) -> None:
        """Give the memory the text of the file, or delete the memory if there is no file."""
        data = self.folder.read(relative)
        if digest_of(data) != here:
            raise Busy(relative)
        try:
            stored = self._change(relative, data, memory)
        except anthropic.APIStatusError as error:
            self._refused(relative, here, memory, error)
            return
        self._settle(relative, stored.content_sha256 if stored else None)
        self._print_line("sent" if stored else "deleted", relative, "" if stored else "on the hub")
        if stored and stored.content_sha256 != here:
            self._put_back(relative, here, stored, "the hub masked what its rules for sensitive text keep out")

    def _change(self, relative: str, data: bytes | None, memory: Any) -> Any:
        """Create, update or delete a memory, and return it; return None if it is deleted.

        The hub refuses this if the memory has changed since it was listed.
        """
        if data is None:
            was = memory.content_sha256
            self.memories.delete(memory.id, memory_store_id=self.store, expected_content_sha256=was)
            return None
        text = data.decode()
        if memory is None:
            return self.memories.create(self.store, path=self.state.path + relative, content=text)
        known: Any = {"type": "content_sha256", "content_sha256": memory.content_sha256}
        return self.memories.update(memory.id, memory_store_id=self.store, content=text, precondition=known)

    def _refused(self, relative: str, here: str | None, memory: Any, error: anthropic.APIStatusError) -> None:
        """Handle a refusal by the hub.

        If a path rule made a proposal of the change, the file waits for the decision. If a path rule refused the
        change, or if the deletion is not allowed, the file gets the text of the memory again. After another lasting
        refusal, such as by a limit, the file stays as it is and is sent again later. If the memory has changed since
        it was listed, nothing is done until the next comparison. After any other refusal, such as too many calls, this
        comparison ends with `error`.
        """
        said = error.api_message or f"HTTP {error.status_code}"
        proposal = re.search(r"proposal #(\d+)", said)
        if error.status_code == 403 and proposal:
            self.state.waiting[relative] = (here or "", int(proposal[1]))
            self._print_line("proposed", relative, said)
        elif error.status_code == 403 or (here is None and error.status_code == 400):
            self._put_back(relative, here, memory, said)
        elif error.status_code in (400, 413) or error.type == "memory_path_conflict_error":
            self.state.refused[relative], self.state.tried[relative] = here or "", time.time()
            again = f"It is sent again when it changes, or in {REFUSED_EVERY / 60:.0f} minutes."
            self._print_line("not sent", relative, f"{said.rstrip('.')}. {again}", once=True)
        elif error.status_code not in (404, 409):
            raise error

    def _put_back(self, relative: str, here: str | None, memory: Any, why: str) -> None:
        """Give the file the text of the memory again. The file's own text is first kept where no agent reads it."""
        kept = ""
        if here is not None:
            aside = f"{OWN}/refused/{relative}.{here[:8]}"  # no .md at its end: agents read such files at any depth
            self.folder.store(aside, self.folder.read(relative) or b"")
            kept = f" The text is in {aside}."
        self._bring(relative, memory, here, "put back", why + kept)

    def _keep_both(self, relative: str, here: str | None, memory: Any) -> None:
        """Give the file the text of the memory. The file's own text is first kept in a new file beside it, which is
        sent like any other file."""
        name = PurePosixPath(relative)
        beside = str(name.with_name(f"{name.stem}.conflict-{str(here)[:8]}{name.suffix}"))
        data = self.folder.read(relative)
        if digest_of(data) != here or data is None:
            raise Busy(relative)
        self.folder.store(beside, data)
        more = f"changed on both sides. It now is as on the hub; your text is in {beside}."
        self._bring(relative, memory, here, "conflict", more)

    def _is_waiting(self, relative: str, here: str | None, memory: Any) -> bool:
        """Handle a file that is still as it was proposed, and return True; return False for any other file.

        While the proposal is open, nothing is done. After the decision, the file gets the text of the memory.
        """
        sha, number = self.state.waiting.get(relative, (None, 0))
        if sha != (here or ""):
            self.state.waiting.pop(relative, None)
            return False
        became = self._state_of(number)
        if became == "open":
            return True
        del self.state.waiting[relative]
        if became == "merged":
            self._bring(relative, memory, here)
        else:
            self._put_back(relative, here, memory, f"proposal #{number} was {became}")
        return True

    def _is_refused(self, relative: str, here: str | None) -> bool:
        """Return whether the hub has refused the file as it is now, less than REFUSED_EVERY seconds ago."""
        since = time.time() - self.state.tried.get(relative, 0.0)
        return self.state.refused.get(relative, "-") == (here or "") and 0 <= since < REFUSED_EVERY

    def _state_of(self, number: int) -> str:
        at, state = self._proposals.get(number, (float("-inf"), "open"))
        if state == "open" and time.monotonic() - at >= PROPOSALS_EVERY:
            url = f"/v1/memory_stores/{quote(self.store, safe='')}/proposals/{number}"
            try:
                answer: Any = self.client.get(url, cast_to=object)
                state = str(answer["state"])
            except anthropic.NotFoundError:
                state = "removed"
            self._proposals[number] = (time.monotonic(), state)
        return state

    def _print_line(self, what: str, relative: str, more: str = "", *, once: bool = False) -> None:
        line = f"{what:<9} {relative}" + (f": {more}" if more else "")
        if not once or line not in self._said:
            self.say(line)
        if once:
            self._said.add(line)


def _is_hidden(path: str) -> bool:
    return any(name.startswith(".") for name in path.split("/"))


# ------------------------------------------------------------------------------------------------------ the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _client(os.environ.get("MEMORYHUB_SESSION", "")) as client:
            root = _directory(asked.directory)
            sync = Sync(client, _set("MEMORYHUB_STORE"), asked.path, root, _say)
            return _once(sync) if asked.once else _watch(sync, asked.every)
    except Ended as ended:
        sys.stderr.write(f"{ended}\n")
        return 1
    except KeyboardInterrupt:
        return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hub-memory-sync",
        description="Keeps a directory of files and a memory store of a MemoryHub in step, until it is stopped.",
        epilog="It reads MEMORYHUB_URL, MEMORYHUB_STORE, MEMORYHUB_KEY and, if it is set, MEMORYHUB_SESSION.",
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--path", type=_prefix, default="/", help="a directory of the memory store, such as /notes/")
    parser.add_argument("--every", type=_seconds, default=5.0, help="seconds between two comparisons (5)")
    parser.add_argument(
        "--once", action="store_true", help="compare once; the exit status is 1 if the hub did not answer"
    )
    return parser


def _prefix(value: str) -> str:
    return f"/{value.strip('/')}/" if value.strip("/") else "/"


def _seconds(value: str) -> float:
    if not (seconds := float(value)) >= 1:
        raise argparse.ArgumentTypeError("at least 1")
    return seconds


def _directory(asked: Path) -> Path:
    root = asked.expanduser()
    if root.resolve() in (Path.home(), *Path.home().parents):
        raise Ended(f"{root} has more in it than what an agent remembers. Choose a directory for that alone.")
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    return root.resolve()


def _set(name: str) -> str:
    if not os.environ.get(name):
        raise Ended(f"Set {name} in the environment.")
    return os.environ[name].strip()


def _client(session: str) -> anthropic.Anthropic:
    """Return the SDK's client for the hub, without the headers that the environment sets for Anthropic's API."""
    host = re.sub("[^!-~]", "-", socket.gethostname())[:60]
    own = {"Authorization": f"Bearer {_set('MEMORYHUB_KEY')}"}
    own["Memoryhub-Session"] = session or f"sync-{host}-{time.strftime('%Y-%m-%dT%H:%M:%S')}"
    http = anthropic.DefaultHttpxClient(follow_redirects=False)
    client = anthropic.Anthropic(base_url=_set("MEMORYHUB_URL"), api_key=_set("MEMORYHUB_KEY"), http_client=http)
    client._custom_headers = own
    return client


def _once(sync: Sync) -> int:
    try:
        sync.look()
    except (anthropic.APIError, OSError) as error:
        raise Ended(_why(sync, error)) from None
    return 0


def _watch(sync: Sync, every: float) -> int:
    """Compare again and again; return the exit status. A problem is reported once; the pauses become longer until it
    has passed."""
    matter, pause = "", every
    while True:
        try:
            sync.look()
            if matter:
                sync.say("Going on.")
            matter, pause = "", every
        except (anthropic.APIError, OSError) as error:
            why, pause = _why(sync, error), min(2 * pause, max(every, LONGEST_PAUSE))
            if why != matter:
                sync.say(f"{why} Trying again.")
            matter = why
        time.sleep(pause)


def _why(sync: Sync, error: Exception) -> str:
    """Return the problem in words. Raises Ended for a problem that does not pass by itself."""
    if isinstance(error, anthropic.APIStatusError):
        if error.type in ("authentication_error", "not_found_error", "permission_error"):
            raise Ended(f"The hub refused: {error.api_message}")
        return f"The hub failed: {error.api_message or 'HTTP'} ({error.status_code})."
    if isinstance(error, anthropic.APIError):
        return f"The hub at {sync.client.base_url} does not answer."
    return f"The directory cannot be read or written: {error}."


if __name__ == "__main__":
    sys.exit(main())
