"""Fixtures of the MCP door: the hub of the machines' door, in this process and in one of its own."""

from tests.api.conftest import hub, server

__all__ = ["hub", "server"]
