"""One clear sentence for a request whose query or body does not match its schema."""

from typing import Any

from pydantic import ValidationError

SAID = "said"
"""The type of errors of the hub's own validators. Their message is the end of a sentence that begins with a name."""

_BOUNDS = {
    "string_too_long": ("must have at most {:,} characters", "max_length"),
    "string_too_short": ("must have {:,} or more characters", "min_length"),
    "too_long": ("must have at most {:,} items", "max_length"),
    "too_short": ("must have {:,} or more items", "min_length"),
    "greater_than_equal": ("must be at least {:,}", "ge"),
    "less_than_equal": ("must be at most {:,}", "le"),
    "literal_error": ("must be {}", "expected"),
    "enum": ("must be {}", "expected"),
}
_KINDS = {
    "string_type": "must be a string", "int_type": "must be a whole number", "bool_type": "must be true or false",
    "dict_type": "must be an object", "model_type": "must be an object", "list_type": "must be a list",
    "model_attributes_type": "must be an object", "missing": "is needed", "float_type": "must be a number",
    "string_unicode": "has an unpaired surrogate", "string_pattern_mismatch": "has the wrong form",
}  # fmt: skip


def sentence_of(error: ValidationError) -> str:
    """Return a sentence about the first error. The sentence names the wrong parameter or key."""
    first = error.errors(include_url=False, include_context=True, include_input=False)[0]
    places = [str(part) for part in first["loc"]]
    where = ".".join(places[:1] if "[key]" in places else places)[:200]
    if not where:
        return f"The body {_what(first)}."
    return f"A key of `{where}` {_what(first)}." if "[key]" in places else f"`{where}` {_what(first)}."


def _what(error: Any) -> str:
    """Return the second part of the sentence: what is wrong with the named value."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _BOUNDS:
        sentence, name = _BOUNDS[kind]
        return sentence.format(context[name])
    if kind in _KINDS:
        return _KINDS[kind]
    message = str(error["msg"]).rstrip(".")
    return message if kind == SAID else message[:1].lower() + message[1:]
