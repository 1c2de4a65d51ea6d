"""Audit entries as events of the Open Cybersecurity Schema Framework (OCSF), for systems that watch many programs.

A sign-in is an event of the class Authentication, every other entry one of the class API Activity. An event has no text
of a memory, no input and no answer. `unmapped` has the hashes of the entry. With them, a copy of the events can show
later whether entries are missing from a chain. Source: https://schema.ocsf.io.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

VERSION = "1.3.0"
"""The version of the schema that the events follow. They are valid by later versions, too."""

LONGEST_COMMAND = 100
"""The most characters of a command in an event. An agent can send any text as a command."""

CREATE, READ, UPDATE, DELETE, OTHER = 1, 2, 3, 4, 99
ACTIVITIES = {CREATE: "Create", READ: "Read", UPDATE: "Update", DELETE: "Delete"}
VERBS = {
    CREATE: "create prepare start add issue invite comment reply hold flag save copy keep import back restore propose"
    " evaluate",
    READ: "view search history list retrieve download export reveal verify certify collect",
    UPDATE: "str insert rename edit move update set unset approve revert undo assign rotate pause resume activate"
    " archive unarchive share accept link merge resolve reopen dismiss unflag continue allow replay seal put",
    DELETE: "delete take remove redact erase purge prune expire revoke withdraw release deactivate refuse cancel stop"
    " end",
}
_ACTIVITY = {verb: activity for activity, verbs in VERBS.items() for verb in verbs.split()}

HUB = "hub"
"""The chain for acts outside any memory store."""

SIGN_INS = {"sign_in": (1, "Logon"), "sign_out": (2, "Logoff"), "confirm": (OTHER, "Other")}
"""{command: (number, name) of its activity in OCSF}, for the commands whose events are of the class Authentication."""

_CLASSES: dict[int, dict[str, Any]] = {
    6003: {
        "class_uid": 6003, "class_name": "API Activity", "category_uid": 6, "category_name": "Application Activity",
    },
    3002: {
        "class_uid": 3002, "class_name": "Authentication", "category_uid": 3,
        "category_name": "Identity & Access Management",
    },
}  # fmt: skip
# Version 1.3.0 has no number for the account of a program: 99 is a kind that `type` names.
_KINDS = {"user": (1, "User"), "key": (99, "Service"), "policy": (3, "System"), "system": (3, "System")}
_OUTCOMES = {"ok": (1, "Success"), "proposed": (99, "Proposed")}
_PLACE = ("seq", "previous_hash", "hash", "key_name", "version", "new_path", "group", "replay_of")


def activity_of(command: str) -> tuple[int, str]:
    """Return the number and the name of a command's activity in OCSF, from the verb with which the command begins;
    Other for an unknown verb."""
    activity = _ACTIVITY.get(command.partition("_")[0], OTHER)
    return activity, ACTIVITIES.get(activity, "Other")


def event_of(entry: Mapping[str, Any], *, store: str, outcome: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of an audit entry.

    `entry` is {column: value} of the audit entry. `store` is the name of the memory store, or of the hub. `outcome` is
    ok, proposed, or the kind of error. `given` has `address` and `email` of a sign-in, and the `memories` that a person
    viewed.
    """
    command = str(entry["command"] or "other")[:LONGEST_COMMAND]
    is_sign_in = command in SIGN_INS
    activity, name = SIGN_INS[command] if is_sign_in else activity_of(command)
    kind = _CLASSES[3002 if is_sign_in else 6003]
    status_id, status = _OUTCOMES.get(outcome, (2, "Failure"))
    user = _user(entry)
    source = {"svc_name": str(entry["door"]), "ip": given.get("address")}
    return _without_none(
        {
            **kind,
            "activity_id": activity,
            "activity_name": name,
            "type_uid": kind["class_uid"] * 100 + activity,
            "severity_id": 1 if status_id == 1 else 2,
            "severity": "Informational" if status_id == 1 else "Low",
            "time": _milliseconds(entry["at"]),
            "status_id": status_id,
            "status": status,
            "status_code": outcome,
            "metadata": {
                "version": VERSION,
                "product": {"name": "MemoryHub", "vendor_name": "MemoryHub"},
                "uid": f"{entry['chain']}/{entry['seq']}/{entry['hash'][:16]}",
                "log_name": entry["chain"],
                "sequence": entry["seq"],
            },
            "actor": {"user": user, "session": _session(entry)},
            "src_endpoint": source,
            **(_sign_in(user, entry, given) if is_sign_in else {"api": _api(entry, command)}),
            "resources": None if is_sign_in else _resources(entry, store, given.get("memories", ())),
            "unmapped": {name: entry[name] for name in _PLACE} | {"duration_microseconds": entry["duration"]},
        }
    )


def _milliseconds(at: datetime) -> int:
    """Return the whole milliseconds since 1970 in UTC."""
    return int(at.timestamp()) * 1_000 + at.microsecond // 1_000


def _user(entry: Mapping[str, Any]) -> dict[str, Any]:
    type_id, type_name = _KINDS[entry["actor_kind"]]
    is_key = entry["actor_kind"] == "key"
    return {
        "uid": entry["author_id"],
        "name": entry["label"] or "unknown",
        "type_id": type_id,
        "type": type_name,
        "credential_uid": entry["actor_id"] if is_key else None,
    }


def _sign_in(user: Mapping[str, Any], entry: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the account and the service of a sign-in. A failed sign-in may name an account that does not exist."""
    return {"user": {**user, "email_addr": given.get("email")}, "service": _service(entry)}


def _session(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"uid": entry["session"]} if entry["session"] else None


def _api(entry: Mapping[str, Any], command: str) -> dict[str, Any]:
    request = {"uid": entry["token"]} if entry["token"] else None
    return {"operation": command, "service": _service(entry), "request": request}


def _service(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": f"MemoryHub {entry['door']}"}


def _resources(entry: Mapping[str, Any], store: str, memories: Iterable[str]) -> list[dict[str, Any]]:
    """Return the memory store of an entry (or the hub), and the memories that the entry names, as resources in OCSF."""
    resources = [{"type": "hub" if entry["chain"] == HUB else "memory_store", "uid": entry["chain"], "name": store}]
    if entry["memory"] or entry["path"]:
        resources.append({"type": "memory", "uid": entry["memory"], "name": entry["path"]})
    resources += [{"type": "memory", "uid": one} for one in memories if one != entry["memory"]]
    return resources


def _without_none(value: Any) -> Any:
    """Return a value without those items of its dictionaries that are None, at any depth."""
    if isinstance(value, dict):
        return {name: _without_none(inner) for name, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value
