"""An export unpacked, checked out or listed runs nothing, and comes back with every path as it was."""

import io
import subprocess
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

from memoryhub.actions.memories import curation
from memoryhub.actions.stores import delete
from memoryhub.models import Memory, MemoryStore
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from tests.support.long import LONG
from tests.transfer import trips
from tests.transfer.test_names import HARMLESS, HOSTILE

pytestmark = pytest.mark.django_db

LURE = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch {}; false"\n'


def lures(store: MemoryStore, mark: Path) -> None:
    """A repository whose settings run a program, in a store's root and bare in a directory of it."""
    config = LURE.format(mark)
    for directory, settings in (("/.git", config), ("/notes", config.replace("bare = false", "bare = true"))):
        curation.create(store.pk, f"{directory}/config", settings, trips.act(1))
        curation.create(store.pk, f"{directory}/HEAD", "ref: refs/heads/main\n", trips.act(2))
        curation.create(store.pk, f"{directory}/objects/info/alternates", "", trips.act(3))
        curation.create(store.pk, f"{directory}/refs/heads/none.md", "", trips.act(4))


def status(directory: Path) -> int:
    told = subprocess.run(["git", "-C", str(directory), "status"], capture_output=True, check=False)
    return told.returncode


@pytest.mark.parametrize("form", ["zip", "git"])
def test_git_runs_nothing_where_an_export_was_unpacked(form: str, store: MemoryStore, tmp_path: Path) -> None:
    mark, out = tmp_path / "ran", tmp_path / "out"
    lures(store, mark)
    data = trips.exported(store, form)
    out.mkdir()
    if form == "zip":
        zipfile.ZipFile(io.BytesIO(data)).extractall(out)
    else:
        subprocess.run(["git", "init", "-q", str(out)], check=True)
        subprocess.run(["git", "-C", str(out), "fast-import", "--quiet"], input=data, check=True)
        subprocess.run(["git", "-C", str(out), "checkout", "-q", "main"], check=True)
    status(out)
    status(out / "notes")
    assert not mark.exists() and (out / "notes" / "config").exists()
    assert (out / ".git").exists() == (form == "git")


def hostile_store() -> MemoryStore:
    """Memories and directories at every name that a path may have, also at those that look escaped already."""
    store = trips.new_store()
    seen = [*HOSTILE, *HARMLESS, "a: b.md", "c:x.md", "con", "aux.md", "%2Egit", "%252Egit", "%41", "a%3Ab", "x" * 250]
    seen += [":" * 250, "a\\b.md", ".\\git", '"q".md', "*?", "-rf", "~", "$(x)"]
    for number, name in enumerate(seen):
        places = [f"/m{number}/{name}", f"/d{number}/{name}/config", f"/{name}"]
        for path in places if LONG else places[number % 3 :][:1]:
            try:
                paths.from_tool(paths.to_tool(path), creates=True)
                curation.create(store.pk, path, f"{number} {path}", trips.act(number))
            except ToolError:
                continue
    curation.create(store.pk, "/" + "/".join([":" * 48] * 20), "deep", trips.act(300))
    assert Memory.objects.filter(store=store).count() > (150 if LONG else 50)
    return store


@pytest.mark.push
@pytest.mark.parametrize(
    "form", ["zip", "git", *(pytest.param(form, marks=pytest.mark.long) for form in ("jsonl", "unpacked"))]
)
def test_every_hostile_name_comes_back_exactly_from_every_format(form: str, tmp_path: Path) -> None:
    source = hostile_store()
    before = trips.facts(source)
    data = trips.exported(source, "zip" if form == "unpacked" else form)
    delete.delete_store(source.pk, act=trips.act(401))
    while delete.step(source.pk):
        pass
    target = trips.new_store("Target")
    if form == "unpacked":
        zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path / "out")
    path = tmp_path / "out" if form == "unpacked" else tmp_path / f"brought.{form}"
    if form != "unpacked":
        path.write_bytes(data)
    call_command("import_store", target.pk, str(path), "--on-conflict", "skip", stdout=io.StringIO())
    assert trips.facts(target) == before


def test_a_git_export_with_a_colon_behind_one_letter_comes_back(store: MemoryStore) -> None:
    curation.create(store.pk, "/a: b.md", "text", trips.act(1))
    target = trips.new_store("Target")
    trips.run(trips.prepared(target, trips.exported(store, "git")))
    assert list(Memory.objects.filter(store=target).values_list("path", flat=True)) == ["/a: b.md"]
