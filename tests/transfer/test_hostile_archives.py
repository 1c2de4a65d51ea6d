"""Hostile archives and streams are refused with a sentence that names the reason, and nothing of them is stored."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from memoryhub.actions.transfer import importing
from memoryhub.models import AuditEntry, Import, ImportItem, Memory, MemoryStore, MemoryText, User
from memoryhub.pure.transfer import recognition
from memoryhub.pure.transfer.archive import read as archive_read
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Bounds
from tests.support.fixtures import signed_in
from tests.transfer import hostile

ALL = hostile.everything()

SMALL = Bounds(packed=10 * 1024**2, unpacked=50 * 1024**2, entries=5_000, versions=50_000, small=64 * 1024)
"""So little that what passes it is quickly made."""


def test_there_are_at_least_sixty_of_them_each_its_own() -> None:
    assert len({one.name for one in ALL if one.file == "brought.zip"}) >= 60
    assert len({(one.data, one.file) for one in ALL}) == len(ALL)


@pytest.mark.parametrize("one", ALL, ids=[f"{one.file.rpartition('.')[2]}: {one.name}" for one in ALL])
def test_each_is_refused_with_a_sentence_that_names_the_reason(one: hostile.Hostile) -> None:
    with pytest.raises(Refused) as refused:
        recognition.read(one.data, one.file, SMALL)
    sentence = str(refused.value)
    assert one.says in sentence
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 500
    assert hostile.MARK not in sentence


def test_an_honest_archive_of_the_same_kind_is_taken() -> None:
    read = recognition.read(hostile.GOOD, "brought.zip", Bounds())
    assert [(one.path, one.versions[0].content) for one in read.bundle.memories] == [("/a.md", hostile.MARK)]
    whole = hostile.lines(hostile.HEADER, hostile.MEMORY, hostile.VERSION, hostile.END_LINE)
    assert recognition.read(whole, "x", Bounds()).bundle.memories[0].path == "/a.md"
    assert recognition.read(hostile.commit(hostile.written("a.md")), "x", Bounds()).bundle.memories[0].path == "/a.md"


def test_no_byte_of_an_archive_can_be_changed_unseen() -> None:
    """Whatever byte is another one: it is refused, or says the same texts (times and attributes are not read)."""
    data = hostile.archive(("a.md", b"one text"), ("d/b.md", b"another"))
    expected = dict(archive_read.Archive(data, Bounds()).files())
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        try:
            found = dict(archive_read.Archive(changed, Bounds()).files())
        except Refused:
            continue
        assert found == expected


def test_every_cut_of_a_stream_is_refused() -> None:
    for data, name in (
        (hostile.lines(hostile.HEADER, hostile.MEMORY, hostile.VERSION, hostile.END_LINE), "a.jsonl"),
        (hostile.GOOD, "a.zip"),
        (b"feature done\n" + hostile.commit(hostile.written("a.md")) + b"done\n", "a.gitstream"),
    ):
        recognition.read(data, name, Bounds())
        for end in range(len(data)):
            with pytest.raises(Refused):
                recognition.read(data[:end], name, Bounds())


@pytest.mark.django_db
def test_the_browser_says_the_sentence_and_stores_nothing(store: MemoryStore, alice: User) -> None:
    browser, entries = signed_in(alice), AuditEntry.objects.count()
    for one in ALL[:: max(1, len(ALL) // 12)]:
        if len(one.data) > 2_000_000:
            continue
        brought = SimpleUploadedFile(one.file, one.data)
        answer = browser.post(reverse("new_import", args=[store.pk]), {"brought": brought, "place": ""})
        assert answer.status_code == 200
        assert one.says.split()[0] in answer.content.decode()
    assert not Import.objects.exists() and not ImportItem.objects.exists()
    assert not Memory.objects.exists() and not MemoryText.objects.exists()
    assert AuditEntry.objects.count() == entries
    assert importing.bounds() == Bounds()
