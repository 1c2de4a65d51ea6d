"""Examples for schemas of the OpenAPI document that have none, put together from their properties."""

from typing import Any

Json = dict[str, Any]

_ID = "01K9Q8ZV7M4T2B6C8D0E1F3G5H"
_BY_NAME: Json = {
    "memory_store_id": f"memstore_{_ID}",
    "memory_id": f"mem_{_ID}",
    "memory_version_id": f"memver_{_ID}",
    "api_key_id": f"apikey_{_ID}",
    "session_id": f"sesn_{_ID}",
    "user_id": f"user_{_ID}",
    "path": "/notes/todo.md",
    "content": "- call Ada back\n",
    "content_sha256": "8a6e2fb52a2b8a4c1f1e9bd6d9bb2b2b0d1f0b7b9a3e5c9d2f4a6b8c0d1e2f30",
    "content_size_bytes": 16,
    "next_page": None,
}
_BY_TYPE: Json = {
    "string": "text",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "null": None,
    "object": {},
    "array": [],
}


def example_of(schema: Json, shapes: Json, name: str = "") -> Any:
    """Return an example value for a schema. `shapes` are the document's schemas; `name` is the property that has the
    schema."""
    for word in ("examples", "enum"):
        if schema.get(word):
            return schema[word][0]
    for word in ("example", "const", "default"):
        if word in schema:
            return schema[word]
    if "$ref" in schema:
        return example_of(shapes[schema["$ref"].rpartition("/")[2]], shapes, name)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        is_null = name in _BY_NAME and _BY_NAME[name] is None
        return None if is_null else example_of(choices[0], shapes, name)
    return _plain(schema, shapes, name)


def _plain(schema: Json, shapes: Json, name: str) -> Any:
    kind = schema.get("type", "object")
    if kind == "object" and "properties" in schema:
        return _object(schema["properties"], shapes)
    if kind == "array" and "items" in schema:
        return [example_of(schema["items"], shapes)]
    if schema.get("format") == "date-time":
        return "2026-01-31T14:30:00.000000Z"
    is_known = name in _BY_NAME and type(_BY_NAME[name]) is type(_BY_TYPE[kind])
    return _BY_NAME[name] if is_known else _BY_TYPE[kind]


def _object(properties: Json, shapes: Json) -> Json:
    made = {key: example_of(value, shapes, key) for key, value in properties.items()}
    if made.get("id") == _BY_TYPE["string"]:
        made["id"] = _BY_NAME.get(f"{made.get('type')}_id", made["id"])
    return made
