"""The tables of the hub, with their constraints and their questions as QuerySet methods."""

from memoryhub.models.access import Access, Agent, Invitation, Key, KeyStore, Member, Role, Session, User
from memoryhub.models.audit import HUB, AuditChain, AuditEntry, Door, IdempotentCall
from memoryhub.models.figures import Activity, Figures, Growth
from memoryhub.models.findings import Finding, FindingState, Scan, ScanState
from memoryhub.models.memories import Directory, Memory, MemoryText, MemoryVersion, Operation, ReviewState
from memoryhub.models.redaction import Receipt, Redaction
from memoryhub.models.retention import Guard, Hold, HoldKind, Removal, RetentionPolicy, Run, RunItem, RunState
from memoryhub.models.review import Claim, Decision, Review
from memoryhub.models.stores import CallWindow, HubSettings, MemoryStore
from memoryhub.models.views import SavedView

__all__ = [
    "HUB", "Access", "Activity", "Agent", "AuditChain", "AuditEntry", "CallWindow", "Claim", "Decision",
    "Directory", "Door", "Figures", "Finding", "FindingState", "Growth", "Guard", "Hold", "HoldKind", "HubSettings",
    "IdempotentCall", "Invitation", "Key", "KeyStore", "Member", "Memory", "MemoryStore", "MemoryText",
    "MemoryVersion", "Operation", "Receipt", "Redaction", "Removal", "RetentionPolicy", "Review", "ReviewState",
    "Role", "Run", "RunItem", "RunState", "SavedView", "Scan", "ScanState", "Session", "User",
]  # fmt: skip
