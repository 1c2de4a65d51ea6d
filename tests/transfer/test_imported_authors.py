"""Pages say who changed or deleted an imported memory, and when, as the source does: not who imported it."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, Role, User
from memoryhub.web.memories import life_line
from tests.support.fixtures import BY, new_person, signed_in
from tests.transfer import trips


@pytest.fixture
def importer() -> User:
    return new_person("Bea")


@pytest.fixture
def target(importer: User) -> MemoryStore:
    """A store into which Bea imported one with a memory that Mina deleted, and one that she changed."""
    source, mina = trips.new_store(), trips.act(5, trips.Actor.person(new_person("Mina")))
    curation.create(source.pk, "/gone.md", "gone", trips.act(1))
    curation.delete(source.pk, "/gone.md", mina)
    kept = curation.create(source.pk, "/kept.md", "here", trips.act(2))
    sha = Memory.objects.get(pk=kept.memory).sha256
    curation.edit(source.pk, str(kept.memory), "changed words", sha, mina)
    target = trips.new_store("Target")
    keys_and_roles.set_role(target, importer, Role.CURATOR, **BY)
    by_bea, data = trips.act(5_000, trips.Actor.person(importer)), trips.exported(source, "jsonl")
    job = trips.importing.prepare(target.pk, trips.importing.Brought(trips.read(data), "brought"), "", by_bea)
    while trips.importing.step(job.pk, by_bea.at):
        pass
    trips.importing.start(job.pk, by_bea)
    while trips.importing.step(job.pk, by_bea.at):
        pass
    return target


@pytest.fixture
def client(target: MemoryStore, importer: User) -> Client:
    return signed_in(importer)


def imported(target: MemoryStore, path: str) -> Memory:
    return Memory.objects.get(store=target, path=path)


@pytest.mark.django_db
@pytest.mark.both_databases
def test_the_trash_and_the_memory_and_its_versions_agree_on_who_deleted_it(client: Client, target: MemoryStore) -> None:
    memory = imported(target, "/gone.md")
    pages = [
        reverse("trash", args=[target.pk]),
        *(reverse(name, args=[target.pk, memory.pk]) for name in ("memory", "versions")),
    ]
    for url in pages:
        html = client.get(url).content.decode()
        assert "Mina (imported)" in html and "import by Bea" in html, url
        assert 'datetime="2026-03-01T09:05:00' in html, url
    line = life_line.of(memory)
    assert line and sum(mark.made[life_line.PEOPLE] for mark in line.marks) == 1


@pytest.mark.django_db
@pytest.mark.both_databases
def test_the_importer_is_no_one_who_deleted_in_the_filter_and_the_table_of_the_trash(
    client: Client, target: MemoryStore, importer: User
) -> None:
    url = reverse("trash", args=[target.pk])
    assert "/gone.md" not in client.get(url, {"person": importer.email}).content.decode()
    rows = client.post(reverse("export_trash", args=[target.pk]), {"format": "json"})
    told = json.loads(b"".join(rows))
    assert [(row["deleted_by"], row["actor_kind"]) for row in told] == [("Mina (imported)", "user")]


@pytest.mark.django_db
@pytest.mark.both_databases
def test_other_pages_name_the_author_of_an_imported_change(client: Client, target: MemoryStore) -> None:
    memory = imported(target, "/kept.md")
    seq = memory.head.seq
    for url in (
        reverse("memory", args=[target.pk, memory.pk]),
        reverse("changes", args=[target.pk]) + "?from=0",
        reverse("search") + "?q=changed",
        reverse("moment", args=[target.pk, seq]),
        reverse("moment_memory", args=[target.pk, seq, memory.pk]),
    ):
        answer = client.get(url)
        assert answer.status_code == 200
        assert "Mina (imported)" in answer.content.decode(), url
