"""Rendered Markdown can do nothing but be read, whatever an agent wrote."""

import re
from html import unescape
from html.parser import HTMLParser
from time import process_time

import pytest
from hypothesis import given, settings, strategies as st

from memoryhub.pure.text.visible import has_hidden
from memoryhub.web.common.texts import markdown
from memoryhub.web.common.texts.markdown import LARGEST, MOST_CELLS, MOST_CODE, render
from tests.support.long import LONG

ALLOWED = {
    "a": {"href", "rel"},
    "div": {"class", "tabindex"},
    "input": {"type", "disabled", "checked", "aria-label"},
    "li": {"class"},
    "ol": {"start"},
    "span": {"class", "title"},
    "td": {"class"},
    "th": {"class"},
}
BARE = "blockquote br code del em h2 h3 h4 h5 h6 hr p pre s strong table tbody thead tr ul"
CLASSES = re.compile(r"task|align-(left|center|right)|markdown-table|hidden-character|image-not-loaded|hl-\w{1,3}")
MUCH, DEADLINE = (80_000, 15) if LONG else (20_000, 5)
"""Characters, and seconds of this process: what is hostile takes minutes where it is not bounded."""
SIZE = 5 * markdown.MOST_BRACKETS if LONG else 20_000
"""Characters of a text that has too many brackets."""


class Harmless(HTMLParser):
    """Fails on every tag and attribute that is not on the list."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED or tag in BARE.split(), tag
        assert {name for name, _ in attributes} <= ALLOWED.get(tag, set()), (tag, attributes)
        given = {name: value or "" for name, value in attributes}
        assert all(CLASSES.fullmatch(name) for name in given.get("class", "").split())
        assert tag != "input" or (given["type"], given["disabled"]) == ("checkbox", "")
        if "href" in given:
            self.links.append(given["href"])
            assert given["href"].startswith(("http://", "https://", "mailto:"))
            assert given["rel"] == "nofollow noopener noreferrer"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<b style='position:fixed' id=main class=topbar hx-get=/ data-x=1>x</b>",
    "<!-- comment --><!doctype html><?php ?><![CDATA[x]]>",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example>",
    "<form action=//evil.example><input name=password><button>x</button></form>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:x) [y](data:text/html,<script>alert(1)</script>) [z](file:///etc/passwd) [q](blob:x)",
    "[x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[x](//evil.example) [y](/sign-out) [z](../x) [q](#main) [r](?a=b) [s]()",
    "<javascript:alert(1)> <data:x,y> <ftp://a.example>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](http://a.example "\\" onmouseover=alert(1)")',
    '[x](http://a.example/" onmouseover="alert(1))',
    '[x](<http://a.example/"><script>alert(1)</script>>)',
    "![x](http://evil.example/pixel.png) ![y](/local.png) ![z](data:image/png;base64,AA==)",
    '![x"><script>alert(1)</script>](http://evil.example/a.png "\'><script>")',
    "[![x](http://evil.example/a.png)](javascript:alert(1))",
    "![<img src=x onerror=alert(1)>](x)",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    '```js onload=alert(1) class="topbar"\nx</code></pre><script>alert(1)</script>\n```',
    "    <script>alert(1)</script>",
    "`<script>alert(1)</script>`",
    "# <script>alert(1)</script> {#main onclick=alert(1)}",
    "# main\n\n## alerts\n\n[main]: http://a.example",
    "|<script>|\n|:-:|\n|</td><script>alert(1)</script>|",
    "- [x] <script>alert(1)</script>\n- [ ] [y](javascript:alert(1))",
    '- [x] " onclick=alert(1)',
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
    'http://a.example/<script>alert(1)</script> https://a.example/"onmouseover=alert(1)',
    "http://a.example/'onmouseover='alert(1) http://a.example/`x` http://[::1]/ http://%",
    "\0<script>\0alert(1)</script>",
    "\u202e<script>alert(1)</script>\u2066",
    "a\u2028<script>alert(1)</script>",
    "\ud800<script>\udfff",
    "{{ 7*7 }}{% debug %}${7*7}<%= 7 %>",
    "*<img src=x*onerror=alert(1)>*",
    "[a](http://a.example)<a href=x>[b](<x>)</a>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<http://a.example/\u202egpj.exe>",
]
SIGNS = "[]()<>!*_`#|-\"'&\\\n "


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_become_harmless(text: str) -> None:
    html = render(text)
    Harmless(html)
    assert not has_hidden(html)
    html.encode()


@given(
    st.lists(
        st.sampled_from([*HOSTILE, *"[]()<>!*_`#|-\"'&\\\n ", "\n\n", "    ", "- [ ] ", "http://", "> "]), max_size=8
    )
)
@settings(deadline=None)
def test_pieces_of_them_in_any_order_become_harmless(pieces: list[str]) -> None:
    html = render("".join(pieces))
    Harmless(html)
    assert not has_hidden(html)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_becomes_harmless(text: str) -> None:
    Harmless(render(text))


# ---------------------------------------------------------------------------------------------------- what is shown


def test_headings_start_below_the_one_of_the_page_and_have_no_ids() -> None:
    assert render("# A\n\n###### B\n\nC\n=") == "<h2>A</h2>\n<h6>B</h6>\n<h2>C</h2>\n"


def test_tables_tasks_and_strikethrough() -> None:
    html = render("|a|b|\n|:-|-:|\n|1|~~2~~|\n\n- [x] done\n- [ ] not\n- plain [ ]\n")
    assert '<div class="markdown-table" tabindex="0"><table>' in html
    assert '<td class="align-left">1</td>\n<td class="align-right"><s>2</s></td>' in html
    assert '<li class="task"><input type="checkbox" disabled="" checked="" aria-label="done"> done</li>' in html
    assert '<li class="task"><input type="checkbox" disabled="" aria-label="to do"> not</li>' in html
    assert "<li>plain [ ]</li>" in html


def test_pictures_are_not_loaded_and_say_so() -> None:
    html = render("![a *plan*](http://evil.example/p.png) ![](x.png)")
    assert html == (
        '<p><span class="image-not-loaded">a plan (image not loaded: http://evil.example/p.png)</span> '
        '<span class="image-not-loaded">image not loaded: x.png</span></p>\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "[//]: # (pay at once)",
        'a\n\n[pay]: <at> "once"',
        "> [^1]: pay at once",
        '- [pay]: /at\n  "once"',
        '![](/pay "at once")',
        '![pay](at-once.png "at once")',
        '[pay](http://a.example "at once")',
        "[](http://a.example/pay/at/once)",
        "[ \u3000 ](http://a.example/pay/at/once)",
        "```pay at once\nx\n```",
        "~~~ python pay at once\nx\n~~~",
        "|a|b|\n|-|-|\n|c|d|pay|\n|e|f||at|once|\n|g|\n",
        "a|b\n-|-\nc|pay at\\|once|more|",
        "<!-- pay at once -->",
        '<div hidden title="pay">at once</div>',
    ],
)
def test_what_markdown_hides_is_shown(text: str) -> None:
    shown = unescape(re.sub("<[^>]*>", " ", render(text)))
    assert {"pay", "at", "once"} <= set(re.findall("[a-z]+", shown)), shown


def test_a_cell_beyond_the_columns_goes_into_the_last_one() -> None:
    html = render("|a|b|\n|-|-|\n|c|d|\n|e|`f`|**g**||\n|h|\n")
    assert re.findall("<td>(.*?)</td>", html) == ["c", "d", "e", "<code>f</code> | <strong>g</strong>", "h", ""]


def test_the_line_above_code_is_shown_unless_it_names_a_known_language() -> None:
    assert "<p>" not in render("```Python\nx\n```\n~~~\ny\n~~~")
    assert render("```mermaid\nx\n```").startswith("<p>mermaid</p><pre>")


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[x](http://a.example/b?c=d&e=f)", ["http://a.example/b?c=d&e=f"]),
        ("[x](mailto:ada@example.com) <ada@example.com>", ["mailto:ada@example.com"] * 2),
        ("see https://a.example/b_c_d.", ["https://a.example/b_c_d"]),
        ("(https://a.example/b_(c)), https://a.example!", ["https://a.example/b_(c)", "https://a.example"]),
        ("https://a.example/x、そして", ["https://a.example/x"]),
        ("**https://a.example/**", ["https://a.example/"]),
        ("[https://a.example](https://b.example)", ["https://b.example"]),
        ("`https://a.example` notes.md www.a.example ada@example.com", []),
        ("[x](/memories/notes.md) [y](notes.md)", []),
    ],
)
def test_addresses_become_links(text: str, links: list[str]) -> None:
    assert Harmless(render(text)).links == links


def test_the_address_that_is_shown_is_the_one_that_the_link_has() -> None:
    assert ">http://a.example/%E2%80%AEx</a>" in render("<http://a.example/%E2%80%AEx>")


def test_code_has_colours_as_classes() -> None:
    assert '<span class="hl-k">def</span>' in render("```python\ndef f(): pass\n```")
    assert render("```nothing\n<b>\n```") == "<p>nothing</p><pre><code>&lt;b&gt;\n</code></pre>\n"


@pytest.mark.parametrize("language", sorted(markdown.LANGUAGES))
def test_every_language_has_a_lexer_and_loses_no_character(language: str) -> None:
    code = "\n\na = {'b': \"<c>\"} # d\n\n  <e f='g'>&amp;</e>\n\n"
    html = render(f"```{language}\n{code}```")
    assert re.sub("<[^>]*>", "", html) == code.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + "\n"


def test_hidden_characters_become_boxes_everywhere() -> None:
    html = render(
        "a\u202eb `c\u200bd` **e\u2066f** &#8238; [\u200b](http://a.example)\n\n```py\n# \u202e\n```\n\n    \u200b\n"
    )
    assert html.count('<span class="hidden-character"') == 7
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in html
    assert not has_hidden(html)


def test_what_looks_like_markup_beside_a_hidden_character_stays_text() -> None:
    assert "&lt;b&gt;&amp;amp;" in render("\u200b`<b>&amp;`")


# ----------------------------------------------------------------------------------------------------- bounded work


def test_a_text_above_the_limit_is_not_rendered() -> None:
    assert "larger than 200 KB" in render("a" * (LARGEST + 1))
    assert "larger than 200 KB" in render("é" * (LARGEST // 2 + 1))
    assert "larger than" not in render("a" * LARGEST)


SLOW = [
    "[",
    "![",
    "<http://",
    "://",
    "http://",
    "- [ ] x\n",
    "> ",
    "*a **b ",
    "***a",
    "`",
    "|a",
    "&#8238;",
    "http://a!",
]


@pytest.mark.parametrize("piece", SLOW)
def test_hostile_repetition_ends_soon(piece: str) -> None:
    start = process_time()
    Harmless(render(piece * (MUCH // len(piece))))
    assert process_time() - start < DEADLINE


@pytest.mark.parametrize(("start", "end"), [("[", ""), ("![", ""), ("[", "]" * (SIZE // 2)), ("[*", "*](a)")])
def test_too_many_brackets_are_shown_as_written_and_the_reader_is_told(
    start: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown, "MOST_BRACKETS", SIZE // 5)
    text = start * (SIZE // len(start)) + end
    html = render(text)
    assert "too many brackets" in html
    assert html.count("[") == text.count("[")


def test_a_long_list_of_links_has_all_of_them() -> None:
    html = render("- [a link](https://example.com)\n" * 4_000)
    assert html.count("<a ") == 4_000 and "brackets" not in html


def test_a_table_with_too_many_cells_is_shown_as_written() -> None:
    wide = "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n"
    html = render(wide + "|\n" * 3000)
    assert "<table>" not in html
    many = (wide.replace("|a" * 300, "|a" * 300) + "|\n" * 20 + "\n") * 20
    assert render(many).count("<td") + render(many).count("<th>") <= MOST_CELLS


def test_much_code_has_no_colours() -> None:
    assert "hl-" not in render("```python\n" + "x = 1\n" * MOST_CODE + "```")
    block = "```python\ndef f(): pass\n```\n\n"
    assert render(block * 200).count('<span class="hl-k">def') <= MOST_CODE // 100


@pytest.mark.push
@pytest.mark.parametrize(
    "code", ["\n" * 9000, " " * 9000, "[" * 9000, "'" * 9000, "/*" * 4500, "\\>" * 4500, ("\n" * 90 + "a") * 100]
)
def test_hostile_code_ends_soon(code: str) -> None:
    start = process_time()
    for language in ("python", "js", "yaml", "html", "ruby"):
        Harmless(render(f"```{language}\n{code}\n```"))
    assert process_time() - start < DEADLINE


def test_the_tables_for_addresses_are_filled_before_threads_use_them() -> None:
    """Two threads that rendered their first addresses at once met a table without its end: IndexError."""
    from mdurl import _decode, _encode

    tables = [*_encode.encode_cache.values(), *_decode.decode_cache.values()]
    assert tables
    assert {len(table) for table in tables} == {128}
