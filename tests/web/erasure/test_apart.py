"""An erasure covers what a search finds: names in another order or with other letters are rows to tick, and memories
with the words apart from each other are named."""

import io
import re
import zipfile

import pytest

from memoryhub.models import Memory, MemoryStore, User
from memoryhub.web.erasure import apart
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import WHERE, fields, find, text_of, write

pytestmark = pytest.mark.django_db
FORMS = ["Müller, Jürgen", "JUERGEN MUELLER", "juergen_mueller"]


@pytest.fixture
def customer(store: MemoryStore, alice: User) -> MemoryStore:
    """A store with a name in five forms, of which two are the same, and once with its words apart."""
    write(store, "/customers/juergen_mueller.md", "Jürgen Müller asks\n")
    write(store, "/tickets/4511.md", "Müller, Jürgen called; JUERGEN MUELLER on the card\n")
    write(store, "/tickets/4512.md", "Jurgen Muller wrote\n")
    write(store, "/tickets/4513.md", "Jürgen lives here. The other name is Müller.\n")
    write(store, "/tickets/4514.md", "Jürgen alone\n")
    return store


def links(html: str) -> list[str]:
    at = html.index('id="apart')
    return re.findall(r'<a class="mono break-anywhere" href="[^"]*">([^<]*)</a>', html[at : html.index("</ul>", at)])


@pytest.mark.push
@pytest.mark.both_databases
def test_forms_are_rows_to_tick_and_what_has_the_words_apart_is_named(customer: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    html = find(client, "Jürgen Müller")
    near = re.findall(r'name="near" value="([^"]*)" id="near-\d">', html)
    assert sorted(near) == sorted(FORMS) and html.count("in another order, or with letters such as ue") == 3
    kept = html[html.index("What is not erased:") : html.index("Type this to confirm:")]
    assert all(form in kept for form in FORMS) and "1 memory in which the searched words stand apart" in kept
    assert links(html) == ["/tickets/4513.md"]
    html = client.post(WHERE, fields(html, "look") | {"near": FORMS}).content.decode()
    assert 'name="near"' not in html and links(html) == ["/tickets/4513.md"]
    letter = client.post(WHERE, fields(html, "erase") | {"confirm": "Jürgen Müller"}).content.decode()
    assert "1 memory still has the words of a text that you typed" in letter and links(letter) == ["/tickets/4513.md"]
    assert text_of(Memory.objects.get(path="/tickets/4511.md")) == "[redacted] called; [redacted] on the card\n"


def test_what_was_not_ticked_is_named_beside_the_letter_and_in_the_report(customer: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    html = find(client, "Jürgen Müller")
    answer = client.post(WHERE, fields(html, "collect"))
    report = zipfile.ZipFile(io.BytesIO(answer.getvalue())).read("report.html").decode()
    assert "2 more memories have the words of one of these texts" in report
    assert all(f"<code>/tickets/{number}.md</code>" in report for number in (4511, 4513))
    letter = client.post(WHERE, fields(html, "erase") | {"confirm": "Jürgen Müller"}).content.decode()
    assert "2 memories still have the words" in letter and links(letter) == ["/tickets/4511.md", "/tickets/4513.md"]


def test_the_memories_are_named_where_nothing_else_was_found(store: MemoryStore, alice: User) -> None:
    write(store, "/one.md", "Anna came. Frau Berg paid.\n")
    html = find(signed_in(alice), "Anna Berg")
    assert "These texts were not found" in html and links(html) == ["/one.md"]
    assert 'id="apart"' not in find(signed_in(alice), "Anna Stein")


def test_a_comparison_that_takes_too_long_says_so(
    customer: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "SECONDS", 0.0)
    assert "Not every memory was compared" in find(signed_in(alice), "Jürgen Müller")
