"""The tables of the hub, with their constraints and their questions as QuerySet methods."""

from memoryhub.models.access import Access, Agent, Invitation, Key, KeyStore, Member, Role, Session, User
from memoryhub.models.audit import HUB, AuditChain, AuditEntry, Door, IdempotentCall
from memoryhub.models.figures import Activity, Figures, Growth
from memoryhub.models.memories import Directory, Memory, MemoryText, MemoryVersion, Operation, ReviewState
from memoryhub.models.review import Claim, Decision, Review
from memoryhub.models.stores import MemoryStore
from memoryhub.models.views import SavedView

__all__ = [
    "HUB", "Access", "Activity", "Agent", "AuditChain", "AuditEntry", "Claim", "Decision", "Directory", "Door",
    "Figures", "Growth", "IdempotentCall", "Invitation", "Key", "KeyStore", "Member", "Memory", "MemoryStore",
    "MemoryText", "MemoryVersion", "Operation", "Review", "ReviewState", "Role", "SavedView", "Session", "User",
]  # fmt: skip
