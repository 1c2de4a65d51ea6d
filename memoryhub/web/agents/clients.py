"""Configuration texts for MCP clients, which differ in the file and format of their server list."""

import json
import shlex
from dataclasses import dataclass

from django.utils.translation import gettext as _

from memoryhub.models import MemoryStore
from memoryhub.web.agents.rows import KeyRow

NAME = "memoryhub"
PLACEHOLDER = "YOUR-KEY"


@dataclass(frozen=True, slots=True)
class McpClient:
    """A client of the Model Context Protocol."""

    id: str
    name: str
    icon: str
    place: str  # the file for `code`; empty if there is none
    hint: str  # a sentence for the person
    code: str  # the text that configures the client


def address(hub: str, store_id: str) -> str:
    """Return the URL of a memory store's MCP server."""
    return f"{hub.rstrip('/')}/mcp/{store_id}"


def clients(hub: str, store_id: str, secret: str) -> list[McpClient]:
    """Return the usual clients, each with the text that configures it. Each text contains the key, except the text for
    VS Code, which asks the person for the key."""
    url, bearer = address(hub, store_id), f"Bearer {secret}"
    headers = {"Authorization": bearer}
    return [
        McpClient("claude-code", "Claude Code", "terminal", "", _("Run this in a shell, in your project."),
                  _command(url, bearer)),
        McpClient("claude-desktop", "Claude Desktop", "monitor", "claude_desktop_config.json",
                  _("Settings → Developer → Edit Config. "
                    "Claude Desktop reaches servers with a "
                    "key through mcp-remote, which needs "
                    "Node.js."), _json({"mcpServers": {NAME: _bridge(url, bearer)}})),
        McpClient("cursor", "Cursor", "text-cursor-input", "~/.cursor/mcp.json",
                  _("For one project only, use .cursor/mcp.json."),
                  _json({"mcpServers": {NAME: {"url": url, "headers": headers}}})),
        McpClient("vs-code", "VS Code", "braces", ".vscode/mcp.json",
                  _("VS Code asks for the key once and stores it itself. The text below contains no key, "
                    "so it may go into your repository."),
                  _json(_vs_code(url))),
        McpClient("windsurf", "Windsurf", "layers", "~/.codeium/windsurf/mcp_config.json",
                  _("Afterwards, refresh the servers in Cascade."),
                  _json({"mcpServers": {NAME: {"serverUrl": url, "headers": headers}}})),
        McpClient("codex", "Codex", "command", "~/.codex/config.toml", "", _toml(url, bearer)),
        McpClient("other", _("Any other client"), "server", "",
                  _("A server with the transport “Streamable HTTP”, this address and this header."),
                  f"{url}\nAuthorization: {bearer}"),
    ]  # fmt: skip


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _command(url: str, bearer: str) -> str:
    header = shlex.quote(f"Authorization: {bearer}")
    return f"claude mcp add --transport http {NAME} {shlex.quote(url)} \\\n  --header {header}"


def _bridge(url: str, bearer: str) -> dict[str, object]:
    """Return the configuration of mcp-remote."""
    arguments = ["-y", "mcp-remote", url, "--header", "Authorization:${AUTHORIZATION}"]
    if url.startswith("http://"):
        arguments.append("--allow-http")
    # in the environment, because Claude Desktop on Windows splits arguments at spaces
    return {"command": "npx", "args": arguments, "env": {"AUTHORIZATION": bearer}}


def _vs_code(url: str) -> dict[str, object]:
    asks = {"type": "promptString", "id": "memoryhub-key", "description": "Key of MemoryHub (mh_…)", "password": True}
    headers = {"Authorization": "Bearer ${input:memoryhub-key}"}
    return {"inputs": [asks], "servers": {NAME: {"type": "http", "url": url, "headers": headers}}}


def _toml(url: str, bearer: str) -> str:
    """Return the configuration as TOML. Addresses and keys are quoted as in JSON, which TOML can read."""
    return f'[mcp_servers.{NAME}]\nurl = {json.dumps(url)}\nhttp_headers = {{ "Authorization" = {json.dumps(bearer)} }}'


def store_of(rows: list[KeyRow], visible: list[MemoryStore]) -> MemoryStore | None:
    """Return a memory store that a usable key in `rows` can access, or None.

    A store that a usable key names is preferred. If there is none, but a usable key can access all stores, the first
    store of `visible` is returned. `visible` are the stores that the person may see.
    """
    usable = [row.scope for row in rows if row.status == "usable"]
    named = next((scope.stores[0] for scope in usable if scope.stores), None)
    if named is None and any(scope.every for scope in usable):
        return next(iter(visible), None)
    return named
