"""A comparison as a table: escaped, numbered, signed, with ids for its changes."""

import re

import pytest
from django.template import engines
from django.template.loader import render_to_string

from memoryhub.pure.text.diffs import compare
from memoryhub.templatetags.visible import visible


def page(old: str, new: str, *, context: int | None = 3, **options: str) -> str:
    return render_to_string("common/diff/_whole.html", {"diff": compare(old, new, context=context), **options})


LONG = "".join(f"line {number}\n" for number in range(1, 41))
CHANGED = LONG.replace("line 5\n", "line five\n").replace("line 30\n", "")


def test_unified_rows_have_numbers_signs_and_marks() -> None:
    html = page("a\nlimit = 1\n", "a\nlimit = 2\n")
    assert '<tr class="diff-same"><td class="diff-number">1</td><td class="diff-number">1</td>' in html
    assert '<span aria-hidden="true">−</span><span class="visually-hidden">removed</span>' in html
    assert '<td class="diff-text">limit = <del>1</del></td>' in html
    assert '<td class="diff-text">limit = <ins>2</ins></td>' in html
    assert "Lines added: 1, lines removed: 1" in html


def test_split_rows_stand_beside_each_other() -> None:
    html = page("a\nlimit = 1\n", "a\nlimit = 2\nb\n", mode="split", old_label="version\u202e 1")
    assert html.count('<tr class="diff-changed"') == 2
    assert html.count('<td class="diff-void" colspan="3"></td>') == 1
    assert '<td class="diff-text diff-removed">limit = <del>1</del></td>' in html
    assert "RLO" in html


@pytest.mark.parametrize("mode", ["unified", "split"])
def test_changes_have_ids_and_links_between_them(mode: str) -> None:
    html = page(LONG, CHANGED, mode=mode)
    assert re.findall(r' id="([^"]*)"', html) == ["change-1", "change-2"]
    assert 'href="#change-2" aria-label="Next change"' in html
    assert 'href="#change-1" aria-label="Previous change"' in html


@pytest.mark.parametrize("mode", ["unified", "split"])
def test_gaps_open_at_the_change_that_follows(mode: str) -> None:
    html = page(LONG, CHANGED, mode=mode, expand_url="?a=1&b=2")
    assert re.findall(r'href="(\?[^"]*)"', html) == [
        "?a=1&amp;b=2#change-2",
        "?a=1&amp;b=2#change-2",
    ]
    assert "18 unchanged lines" in html
    assert "<a href=" not in re.findall(r'<tr class="diff-gap">.*', page(LONG, CHANGED, mode=mode))[0]


def test_two_comparisons_on_a_page_share_no_id() -> None:
    included = '{% include "common/diff/_whole.html" with mode="split" %}'
    source = f'{{% include "common/diff/_whole.html" %}}{included}{{% if 1 %}}{included}{{% endif %}}'
    template = engines["django"].from_string(source)
    html = template.render({"diff": compare(LONG, CHANGED)})
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(ids) == len(set(ids)) == 6
    assert set(re.findall(r'href="#([^"]*)"', html)) == set(ids)


@pytest.mark.parametrize("mode", ["unified", "split"])
def test_texts_are_escaped_and_hidden_characters_shown(mode: str) -> None:
    html = page("<b>\n<script>x</script>\n", "<b>\n<script>\u202ey</script>\n", mode=mode)
    assert "<b>" not in html
    assert "<script" not in html
    assert 'title="U+202E RIGHT-TO-LEFT OVERRIDE">RLO</span>' in html


def test_blanks_that_changed_can_be_seen() -> None:
    assert '<ins><span class="shown-blank">··</span></ins>' in page("a line\n", "a line  \n")


def test_a_missing_line_feed_is_said_where_it_differs() -> None:
    assert page("a\nb", "a\nb\n").count("no newline at the end") == 1
    assert "no newline at the end" not in page("a", "b")
    assert "no newline at the end" not in page("", "b")


def test_equal_texts_get_a_sentence() -> None:
    assert "Both texts are the same." in page("a\n", "a\n")
    spaces = {"diff": compare("a b\n", "a  b\n", ignore_whitespace=True)}
    assert "Only white space differs." in render_to_string("common/diff/_whole.html", spaces)


def test_a_replaced_block_is_said_to_be_one() -> None:
    assert "too large" in page("x\n" * 10_000, "y\n" + "x\n" * 9_000 + "y\n")
    assert "too large" not in page("x\n", "y\n")


def test_the_filter_escapes_and_labels() -> None:
    assert visible("<a\u200b>") == (
        '&lt;a<span class="hidden-character" title="U+200B ZERO WIDTH SPACE">ZWSP</span>&gt;'
    )
    assert visible("a b", "whitespace") == 'a<span class="shown-blank">·</span>b'
    assert visible(7) == "7"
