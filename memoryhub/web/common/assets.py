"""The stylesheets and scripts of every page: separate files while DEBUG, one of each when static files are collected.

A browser that comes for the first time asks for two files and not for forty. Their names have a hash of their content,
so that they are kept for ever.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from whitenoise.compress import Compressor  # type: ignore[import-untyped]
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

STYLES, SCRIPTS = "css/hub.css", "js/hub.js"
JOINED = {
    STYLES: (
        "css/tokens.css", "css/base.css", "css/layout.css", "css/shapes.css", "css/controls.css", "css/menus.css",
        "css/dialogs.css", "css/lists.css", "css/timeline.css", "css/marks.css", "css/memory.css", "css/prose.css",
        "css/diff.css", "css/review.css", "css/blame.css", "css/moments.css", "css/search.css", "css/selection.css",
        "css/editing.css", "css/charts.css", "css/dashboards.css", "css/limits.css", "css/erasure.css",
        "css/findings.css", "css/retention.css", "css/transfer.css", "css/webhooks.css", "css/clients.css",
        "css/utilities.css",
    ),
    SCRIPTS: (
        "js/alerts.js", "js/panels.js", "js/copy.js", "js/lines.js", "js/changes.js", "js/tree.js", "js/review.js",
        "js/moments.js", "js/palette.js", "js/selection.js", "js/drafts.js", "js/tail.js", "js/shortcuts.js",
    ),
}  # fmt: skip
"""The parts of each joined file, in their order."""


class UnchangedIsKept(Compressor):
    """Compresses what is not there yet as it is: a hub that starts again does not compress every file again."""

    def compress(self, path: str) -> list[str]:
        """The names of the compressed files of a file."""
        made = Path(f"{path}.gz")
        try:
            if gzip.decompress(made.read_bytes()) == Path(path).read_bytes():
                return [str(made)]
        except (OSError, EOFError, zlib.error):
            pass  # there is none, or a half of one
        return list(super().compress(path))


class JoinedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Static files with hashes in their names, compressed, and with the files of JOINED beside their parts."""

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """As Django's; `paths` are the files that were collected, by name."""
        if not dry_run:
            for name, parts in JOINED.items():
                Path(self.path(name)).write_text("".join(_part(*paths[part]) for part in parts), encoding="utf-8")
                paths[name] = (self, name)
        yield from super().post_process(paths, dry_run=dry_run, **options)

    def create_compressor(self, **options: Any) -> Compressor:
        return UnchangedIsKept(**options)


def _part(storage: Any, name: str) -> str:
    """A part of a joined file. A script that imports and exports nothing keeps its names to itself in a block."""
    with storage.open(name) as file:
        text = str(file.read().decode("utf-8"))
    return f"{{\n{text}\n}}\n" if name.endswith(".js") else f"{text}\n"


def files_of(joined: str) -> tuple[str, ...]:
    """The names of the files that a page links: the joined one, or its parts where files are not collected."""
    is_collected = isinstance(staticfiles_storage, JoinedStaticFilesStorage) and not settings.DEBUG
    return (joined,) if is_collected else JOINED[joined]
