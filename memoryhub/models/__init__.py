"""The tables of the hub, with their constraints and their questions as QuerySet methods."""

from memoryhub.models.access import Access, Agent, Invitation, Key, KeyStore, Member, Role, Session, User
from memoryhub.models.audit import HUB, AuditChain, AuditEntry, Door, IdempotentCall
from memoryhub.models.memories import Directory, Memory, MemoryText, MemoryVersion, Operation, ReviewState
from memoryhub.models.stores import MemoryStore

__all__ = [
    "HUB", "Access", "Agent", "AuditChain", "AuditEntry", "Directory", "Door", "IdempotentCall", "Invitation", "Key",
    "KeyStore", "Member", "Memory", "MemoryStore", "MemoryText", "MemoryVersion", "Operation", "ReviewState", "Role",
    "Session", "User",
]  # fmt: skip
