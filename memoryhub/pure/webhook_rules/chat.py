"""Messages to a chat: an event as one sentence with a link, in the form that the chat takes.

A message has the name of the memory store and what happened, but no text, path or name of a person. Slack, and chats
that are compatible with it, take `text`; Discord takes `content`; Microsoft Teams takes an adaptive card.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from memoryhub.pure.webhook_rules.events import TEST

DISCORD = ("discord.com", "discordapp.com")
TEAMS = ("webhook.office.com", "logic.azure.com", "powerplatform.com", "powerautomate.com")
SLACK = ("hooks.slack.com", "chat.googleapis.com")

LONGEST_NAME = 100
_LINKING = re.compile(r"@|:(?=//)|(?<=\w)\.(?=\w)")
"""Where a chat would see the beginning of a mention or a link. A space without width after this place prevents that."""


def _(text: str) -> str:
    """Mark a text for translation, which happens where the text is shown to a person of the hub."""
    return text


WORDS: Mapping[str, str] = {
    "memory_store.created": _("A memory store was created"),
    "memory_store.archived": _("It was archived"),
    "memory_store.deleted": _("It was deleted"),
    "memory_store.updated": _("Its name or settings changed"),
    "memory_store.unarchived": _("It was unarchived"),
    "memory.created": _("A memory was created"),
    "memory.modified": _("The text of a memory changed"),
    "memory.renamed": _("A memory was moved to another path"),
    "memory.deleted": _("A memory was deleted or expired"),
    "memory.restored": _("A memory came back from the trash"),
    "memory.purged": _("A memory was removed permanently"),
    "memory_version.redacted": _("The text of a version was redacted or erased"),
    "review.needed": _("A change by an agent awaits review"),
    "review.approved": _("Versions were approved"),
    "review.reverted": _("Versions were reverted"),
    "review.flagged": _("Memories were flagged"),
    "proposal.opened": _("An agent proposed something that waits for a person"),
    "proposal.decided": _("A proposal was merged or refused"),
    "proposal.withdrawn": _("An agent withdrew a proposal"),
    "finding.opened": _("Sensitive text or a sign of poisoning was found in what was written"),
    "finding.dismissed": _("Findings were dismissed"),
    "finding.resolved": _("Findings were resolved"),
    "retention_run.started": _("A retention run started"),
    "retention_run.blocked": _("A retention run stopped and waits for a decision"),
    "retention_run.finished": _("A retention run is done"),
    "retention_run.cancelled": _("A retention run was cancelled"),
    "import.finished": _("An import is done"),
    "import.failed": _("An import could not be done"),
    "alarm.raised": _("Something needs an administrator of the hub"),
    "alarm.ended": _("An alarm of the hub is over"),
    TEST: _("Test event"),
}
"""{event: what has happened, in words}."""


ALARMS: Mapping[str, str] = {
    "work": _("background work fails"), "audit": _("something is wrong in the audit"),
    "disk": _("the disk is nearly full"), "webhook": _("a webhook does not reach its receiver"),
}  # fmt: skip
"""{kind of alarm: what is wrong, in words}."""


def is_of_chat(url: str) -> bool:
    """Return whether an address belongs to a chat that takes only messages, and no events."""
    return any(_is_at(url, hosts) for hosts in (SLACK, DISCORD, TEAMS))


def body(url: str, payload: str, name: str, hub: str) -> str:
    """Return the JSON to send to a chat's address `url` for an event.

    `payload` is the event, `name` the name of its memory store ("": the whole hub), `hub` the address of the hub.
    """
    data = json.loads(payload)["data"]
    sentence, link = _sentence(data, name), hub.rstrip("/") + _page(data)
    if _is_at(url, DISCORD):
        message: dict[str, Any] = {"content": f"{sentence} {link}", "allowed_mentions": {"parse": []}}
    elif _is_at(url, TEAMS):
        message = _card(sentence, link)
    else:
        message = {"text": f"{_for_slack(sentence)} {link}"}
    return json.dumps(message)


def _is_at(url: str, hosts: tuple[str, ...]) -> bool:
    host = (urlsplit(url).hostname or "").rstrip(".")
    return any(host == name or host.endswith("." + name) for name in hosts)


def _sentence(data: Mapping[str, Any], name: str) -> str:
    """Return one sentence about an event.

    `name` is the name of the memory store. It is changed so that no chat takes a part of it for a mention or a link.
    """
    if data["type"] == TEST:
        return "This is a test message of MemoryHub."
    if "alarm" in data:
        alarm = data["alarm"]
        task = f" ({alarm['task']})" if "task" in alarm else ""
        return f"{WORDS[data['type']]}: {ALARMS[alarm['kind']]}{task}."
    findings = data.get("findings") or ()
    listed = len(data.get("memories") or findings)
    kinds = sorted({str(one["kind"]).replace("_", " ") for one in findings if "kind" in one})
    counted = f"{WORDS[data['type']]} ({listed})" if listed > 1 else WORDS[data["type"]]
    words = f"{counted}: {', '.join(kinds)}." if kinds else f"{counted}."
    plain = _LINKING.sub("\\g<0>\u200b", " ".join(name.split())[:LONGEST_NAME]).translate({91: "(", 93: ")"})
    return f"{plain}: {words}" if plain else words


def _page(data: Mapping[str, Any]) -> str:
    """Return the address of the page on which a person sees what happened and can act."""
    kind = str(data["type"])
    if kind == TEST:
        return f"/webhooks/{data['id']}"
    if "retention_run_id" in data:
        return f"/retention/runs/{data['retention_run_id']}"
    if "alarm" in data:
        alarm = data["alarm"]
        is_audit = alarm["kind"] == "audit"
        otherwise = "/audit?command=verify_audit" if is_audit else "/settings/background"
        return f"/webhooks/{alarm['webhook_id']}" if "webhook_id" in alarm else otherwise
    store = str(data.get("memory_store_id") or data.get("id"))
    return _DIRECT[kind].format(store) if kind in _DIRECT else _page_of(store, data)


def _page_of(store: str, data: Mapping[str, Any]) -> str:
    if "proposal" in data:
        return f"/stores/{store}/proposals/{data['proposal']['number']}"
    if "import_id" in data:
        return f"/stores/{store}/imports/{data['import_id']}"
    return f"/audit/{store}/{data['audit_entry']}" if data.get("audit_entry") else f"/stores/{store}/"


_DIRECT = {
    "review.needed": "/review?store={}",
    "finding.opened": "/stores/{}/findings",
    "memory_store.deleted": "/audit",
}


def _for_slack(sentence: str) -> str:
    return sentence.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _card(sentence: str, link: str) -> dict[str, Any]:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": sentence, "wrap": True}],
        "actions": [{"type": "Action.OpenUrl", "title": "Open in MemoryHub", "url": link}],
    }
    return {
        "type": "message",
        "attachments": [
            {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
        ],
    }
