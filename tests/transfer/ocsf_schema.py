"""What OCSF 1.3.0 requires of the two classes of events that the hub writes, as a JSON Schema.

Written from the published descriptions of `base_event`, `api_activity`, `authentication` and their objects
(https://schema.ocsf.io/1.3.0): the required attributes, the types, the enumerations and the constraints "at least one".
Unknown attributes are an error, because OCSF wants what is not its own under `unmapped`.
"""

from typing import Any

TEXT, WHOLE = {"type": "string", "minLength": 1}, {"type": "integer"}


def _object(required: str = "", /, *, one_of: str = "", **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required.split()
    if one_of:
        schema["anyOf"] = [{"required": [name]} for name in one_of.split()]
    return schema


USER = _object(
    one_of="account name uid", uid=TEXT, name=TEXT, email_addr=TEXT, type=TEXT, credential_uid=TEXT,
    type_id={"enum": [0, 1, 2, 3, 99]},
)  # fmt: skip
ACTOR = _object(one_of="process user session app_name app_uid", user=USER, session=_object(uid=TEXT))
ENDPOINT = _object(
    one_of="ip uid name hostname svc_name",
    ip={"anyOf": [{"type": "string", "format": name} for name in ("ipv4", "ipv6")]},
    svc_name=TEXT,
)
SERVICE = _object(one_of="name uid", name=TEXT)
API = _object("operation", operation=TEXT, service=SERVICE, request=_object(uid=TEXT))
METADATA = _object(
    "product version", version={"const": "1.3.0"}, uid=TEXT, log_name=TEXT, sequence={"type": "integer", "minimum": 1},
    product=_object("vendor_name", name=TEXT, vendor_name=TEXT),
)  # fmt: skip
RESOURCES = {"type": "array", "minItems": 1, "items": _object(one_of="name uid", type=TEXT, uid=TEXT, name=TEXT)}


def _class(uid: int, category: int, activities: dict[int, str], required: str, **own: Any) -> dict[str, Any]:
    base = "activity_id category_uid class_uid metadata severity_id time type_uid "
    whole = _object(
        base + required,
        class_uid={"const": uid}, class_name=TEXT, category_uid={"const": category}, category_name=TEXT,
        activity_id=WHOLE, activity_name=TEXT, type_uid=WHOLE, severity_id={"enum": [0, 1, 2, 3, 4, 5, 6, 99]},
        severity=TEXT, time={"type": "integer", "minimum": 10**12}, status_id={"enum": [0, 1, 2, 99]}, status=TEXT,
        status_code=TEXT, metadata=METADATA, actor=ACTOR, src_endpoint=ENDPOINT, unmapped={"type": "object"}, **own,
    )  # fmt: skip
    whole["oneOf"] = [
        {
            "properties": {
                "activity_id": {"const": activity}, "activity_name": {"const": name},
                "type_uid": {"const": uid * 100 + activity},
            }
        }
        for activity, name in activities.items()
    ]  # fmt: skip
    return whole


API_ACTIVITY = _class(
    6003, 6, {1: "Create", 2: "Read", 3: "Update", 4: "Delete", 99: "Other"}, "actor api src_endpoint", api=API,
    resources=RESOURCES,
)  # fmt: skip
AUTHENTICATION = _class(3002, 3, {1: "Logon", 2: "Logoff", 99: "Other"}, "user", user=USER, service=SERVICE)
AUTHENTICATION["anyOf"] = [{"required": ["service"]}, {"required": ["dst_endpoint"]}]
EVENT = {"$schema": "https://json-schema.org/draft/2020-12/schema", "oneOf": [API_ACTIVITY, AUTHENTICATION]}
