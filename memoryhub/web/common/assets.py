"""Stylesheets and scripts of every page: separate files under DEBUG, else one joined file of each kind.

File names contain a hash of their content, so browsers may cache them for ever.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import storage as djangos
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage
from whitenoise import compress, storage as whitenoises  # type: ignore[import-untyped]
from whitenoise.compress import Compressor  # type: ignore[import-untyped]
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

STYLES, SCRIPTS = "css/hub.css", "js/hub.js"
JOINED = {
    STYLES: (
        "css/common/tokens.css", "css/common/base.css", "css/common/layout.css", "css/common/page_layouts.css",
        "css/common/controls.css", "css/common/tabs.css", "css/common/menus.css", "css/common/cards.css",
        "css/common/dialogs.css", "css/common/banners.css", "css/common/snippets.css", "css/common/progress.css",
        "css/common/lists.css", "css/common/timeline.css", "css/common/badges.css", "css/common/avatars.css",
        "css/common/filters.css", "css/common/strip.css", "css/memories/tree.css", "css/common/lines.css",
        "css/common/editor.css", "css/comments/comments.css",
        "css/common/prose.css", "css/common/diff.css", "css/review/review.css", "css/history/blame.css",
        "css/sessions/sessions.css", "css/tried/tried.css", "css/claude_runs/claude_runs.css",
        "css/history/moments.css", "css/history/changes.css", "css/undo/undo.css", "css/search/search.css",
        "css/common/selection.css", "css/common/letter.css",
        "css/common/saved_views.css", "css/memories/conflict.css", "css/memories/life_line.css", "css/audit/tail.css",
        "css/common/charts.css", "css/common/tiles.css", "css/dashboards/dashboards.css", "css/dashboards/tree_map.css",
        "css/stores/limits.css", "css/erasure/erasure.css", "css/findings/scans.css", "css/findings/findings.css",
        "css/retention/retention.css", "css/path_rules/path_rules.css", "css/proposals/proposals.css",
        "css/transfer/transfer.css", "css/webhooks/webhooks.css", "css/background/background.css",
        "css/agents/clients.css", "css/common/stacks.css", "css/today/today.css", "css/common/utilities.css",
    ),
    SCRIPTS: (
        "js/common/alerts.js", "js/common/panels.js", "js/common/copy.js", "js/common/lines.js", "js/common/ticks.js",
        "js/common/changes.js", "js/memories/tree.js", "js/comments/tell.js", "js/review/review.js",
        "js/proposals/lines.js", "js/history/moments.js", "js/history/changes.js",
        "js/search/palette.js", "js/memories/selection.js", "js/memories/drafts.js", "js/audit/tail.js",
        "js/common/shortcuts.js",
    ),
}  # fmt: skip
"""The source files of each joined file, in order."""

STATE = "state"
"""The name of the file that is written last. It has a digest of all source files and all collected files."""


class UnchangedIsKept(Compressor):
    """A compressor that skips files whose compressed copy is up to date."""

    def compress(self, path: str) -> list[str]:
        """Compress a file where needed, and return the names of its compressed files."""
        made = Path(f"{path}.gz")
        try:
            if gzip.decompress(made.read_bytes()) == Path(path).read_bytes():
                return [str(made)]
        except (OSError, EOFError, zlib.error):
            pass  # the compressed file is missing or incomplete
        return list(super().compress(path))


class JoinedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Static files with hashed names and compressed copies, plus the joined files of JOINED."""

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Write the joined files, then process all files as Django does; `paths` maps names to collected files."""
        if not dry_run:
            for name, parts in JOINED.items():
                Path(self.path(name)).write_text("".join(_part(*paths[part]) for part in parts), encoding="utf-8")
                paths[name] = (self, name)
        yield from super().post_process(paths, dry_run=dry_run, **options)
        if not dry_run:
            Path(self.path(STATE)).write_text(_state(self.path("")), encoding="utf-8")

    def create_compressor(self, **options: Any) -> Compressor:
        return UnchangedIsKept(**options)


def are_collected() -> bool:
    """Return whether the static files were collected from the current source files."""
    try:
        return Path(settings.STATIC_ROOT, STATE).read_text(encoding="utf-8") == _state(settings.STATIC_ROOT)
    except OSError:
        return False


def _state(collected: str | Path) -> str:
    """Return a digest of the names, sizes and times of the source files, the collected files, and the code."""
    sources = [storage.path(name) for finder in get_finders() for name, storage in finder.list([])]
    code = [module.__file__ for module in (djangos, compress, whitenoises)] + [__file__]
    files = {path: Path(path) for path in (*sources, *code)}
    files |= {str(path.relative_to(collected)): path for path in Path(collected).rglob("*") if path.is_file()}
    files.pop(STATE, None)
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        now = path.stat()
        digest.update(f"{name} {now.st_size} {now.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _part(storage: Any, name: str) -> str:
    """Return the text of one source file. A script is enclosed in a block, so that its names stay local."""
    with storage.open(name) as file:
        text = str(file.read().decode("utf-8"))
    return f"{{\n{text}\n}}\n" if name.endswith(".js") else f"{text}\n"


def files_of(joined: str) -> tuple[str, ...]:
    """Return the names of the files that a page links: usually only the joined file. Under DEBUG, or if the storage
    is not JoinedStaticFilesStorage, return its source files."""
    is_collected = isinstance(staticfiles_storage, JoinedStaticFilesStorage) and not settings.DEBUG
    return (joined,) if is_collected else JOINED[joined]
