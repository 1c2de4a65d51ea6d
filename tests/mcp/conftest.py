"""Fixtures of the MCP door: the hub of the machines' door."""

from tests.api.conftest import hub

__all__ = ["hub"]
