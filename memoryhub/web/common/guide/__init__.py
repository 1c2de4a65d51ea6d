"""The guide with the glossary, and the documents that it links to, as pages from the files in `docs`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from memoryhub.web.common.guards.access import signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import asked

GUIDE, GLOSSARY = "guide", "glossary"
DOCUMENTS = (
    GUIDE,
    "runs",
    "proposals",
    "retention",
    "export",
    "import",
    "webhooks",
    "agents",
    "mcp",
    "http",
    "security",
    "identity",
    "email",
    "metrics",
    "operations",
)
"""The names of the documents in `docs` that are pages of the hub."""

LANGUAGES = {"sh": "Shell", "python": "Python", "json": "JSON", "typescript": "TypeScript"}
"""The names of programming languages, by their names in Markdown."""

_PARSER = MarkdownIt("commonmark").enable("table")
_FRAMES = {"bullet_list": ("<ul>", "</ul>"), "ordered_list": ("<ol>", "</ol>")}


@dataclass(frozen=True, slots=True)
class Part:
    """The smallest unit that a filter shows or leaves out: a paragraph, a list item or a table row."""

    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """One single part; or the parts of a list or table, with the HTML before and after them."""

    before: str
    parts: Sequence[Part]
    after: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a document. The first section of a document has no title."""

    id: str
    title: str
    blocks: Sequence[Block]

    @property
    def html(self) -> SafeString:
        """Return the section as HTML, which is not escaped: it comes only from the hub's own documents."""
        inside = (block.before + "".join(part.html for part in block.parts) + block.after for block in self.blocks)
        return mark_safe("".join(inside))

    def with_words(self, words: Sequence[str]) -> "Section":
        """Return the section with only the parts that contain all of the words. A word in the section's title counts
        for every part."""
        if not words or has_all(self.title, words):
            return self
        found = (
            replace(block, parts=[part for part in block.parts if has_all(f"{self.title} {part.text}", words)])
            for block in self.blocks
        )
        return replace(self, blocks=[block for block in found if block.parts])


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    title: str
    sections: Sequence[Section]


def has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text.casefold() for word in words)


@require_safe
@signed_in
def guide(request: Request, topic: str = GUIDE) -> HttpResponse:
    """Show a document. With `q` in the URL, show only the parts with these words. With `part`, show only the section of
    this id."""
    if topic not in DOCUMENTS:
        raise Http404
    shown = document(topic)
    if part := asked(request, "part"):
        sections = [section for section in shown.sections if section.id == part]
        return render(request, "common/guide/_section.html", {"section": sections[0] if sections else None})
    typed = asked(request, "q").strip()
    words = typed.casefold().split()
    found = [section.with_words(words) for section in shown.sections]
    context = {
        "document": shown,
        "found": [section for section in found if section.blocks],
        "typed": typed,
        "others": [document(other) for other in DOCUMENTS if other != topic],
    }
    return render(request, "common/guide/page.html", context)


@lru_cache(maxsize=len(DOCUMENTS))
def document(name: str) -> Document:
    """Return a document; its file is read only once. The guide ends with the glossary."""
    nodes = _nodes(f"docs/{name}.md")
    title, sections = _text(nodes[0]), list(_sections(nodes[1:]))
    if name == GUIDE:
        (glossary,) = (one for one in _sections(_nodes("CONTRIBUTING.md")) if one.id == GLOSSARY)
        table = next(block for block in glossary.blocks if len(block.parts) > 1)
        sections.append(Section(GLOSSARY, _("Glossary"), [table]))
    return Document(name, title, sections)


def _nodes(path: str) -> list[SyntaxTreeNode]:
    """Parse a document, and return its syntax nodes. In the text, the hub's own URL replaces the example URL."""
    text = (settings.BASE_DIR / path).read_text(encoding="utf-8")
    own = text if path == "docs/deploy.md" else text.replace("https://hub.example.com", settings.MEMORYHUB_URL)
    return SyntaxTreeNode(_PARSER.parse(own)).children


def _sections(nodes: Sequence[SyntaxTreeNode]) -> Iterator[Section]:
    id, title, blocks = "", "", list[Block]()
    for node in nodes:
        if node.type == "heading" and node.tag == "h2":
            yield Section(id, title, blocks)
            title = _text(node)
            id, blocks = slugify(title), []
        elif not _is_picture(node):
            blocks.append(_block(node))
    yield Section(id, title, blocks)


def _is_picture(node: SyntaxTreeNode) -> bool:
    """Return whether a paragraph is a picture of a page. Such pictures are left out."""
    return node.type == "paragraph" and all(child.type == "image" for child in node.children[0].children)


def _block(node: SyntaxTreeNode) -> Block:
    if node.type in _FRAMES:
        before, after = _FRAMES[node.type]
        return Block(before, _parts(node.children), after)
    if node.type == "table":
        head, *body = node.children
        names = _html(head).replace("<th></th>", "<td></td>")  # an empty cell is no heading
        before = f'<div class="markdown-table" tabindex="0"><table>{names}<tbody>'
        return Block(before, _parts(body[0].children if body else ()), "</tbody></table></div>")
    return Block("", _parts([node]), "")


def _parts(nodes: Sequence[SyntaxTreeNode]) -> list[Part]:
    return [Part(_html(node), _text(node)) for node in nodes]


def _text(node: SyntaxTreeNode) -> str:
    pieces = [node.content] if node.type in ("text", "code_inline", "fence", "code_block") else []
    pieces += [" " if child.type == "softbreak" else _text(child) for child in node.children]
    return "".join(pieces) if node.type in ("inline", "strong", "em", "link") else " ".join(filter(None, pieces))


def _html(node: SyntaxTreeNode) -> str:
    if node.type == "fence":
        return _snippet(node.info.strip(), node.content)
    tokens = node.to_tokens()
    if node.type == "heading":
        tokens[0].attrSet("id", slugify(_text(node)))
    for token in tokens:
        if token.children:
            token.children = list(_linked(token.children))
    return str(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def _snippet(language: str, code: str) -> str:
    """Return code with a button that copies it."""
    return format_html(
        '<figure class="snippet"><figcaption><span>{}</span>'
        '<button class="button button-quiet button-small needs-script" type="button" data-copy-text="{}" '
        'data-copied="{}"><span>{}</span></button></figcaption><pre tabindex="0"><code>{}</code></pre></figure>',
        LANGUAGES.get(language, language),
        code.strip(),
        _("Copied"),
        _("Copy"),
        code,
    )


def _linked(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with changed links: a link to one of DOCUMENTS becomes a link to its page in the hub, and a link
    to any other file becomes plain text."""
    is_link = True
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrs["href"]))
            is_link = bool(address)
            token.attrs["href"] = address
        if is_link or token.type not in ("link_open", "link_close"):
            yield token


def _address(link: str) -> str:
    parts = urlsplit(link)
    name = parts.path.removesuffix(".md")
    if parts.scheme or not parts.path:
        return link
    if parts.fragment == GLOSSARY:
        return f"{reverse('guide')}#{GLOSSARY}"
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    return reverse("guide", args=() if name == GUIDE else (name,)) + anchor if name in DOCUMENTS else ""
