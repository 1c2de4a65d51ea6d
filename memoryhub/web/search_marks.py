"""What was found, marked in what a person sees."""

from collections.abc import Sequence

from django.utils.safestring import SafeString, mark_safe

from memoryhub import visible
from memoryhub.folding import Span, spans


def marked(text: str, words: Sequence[str]) -> SafeString:
    """A text in which folded words are marked, with its hidden characters visible."""
    return with_marks(text, spans(text, words))


def with_marks(text: str, found: Sequence[Span]) -> SafeString:
    """A text in which some columns are marked, with its hidden characters visible."""
    parts, at = [], 0
    for start, end in found:
        parts += [visible.to_html(text[at:start]), "<mark>", visible.to_html(text[start:end]), "</mark>"]
        at = end
    return mark_safe("".join([*parts, visible.to_html(text[at:])]))


def marked_path(path: str, words: Sequence[str]) -> SafeString:
    """A path as `marked`, its directory set back behind the name."""
    found, cut = spans(path, words), path.rfind("/") + 1
    above = [(start, min(end, cut)) for start, end in found if start < cut]
    name = [(max(start, cut) - cut, end - cut) for start, end in found if end > cut]
    directory = with_marks(path[:cut], above)
    return mark_safe(f'<span class="found-directory">{directory}</span>{with_marks(path[cut:], name)}')
