"""The tables of the hub, with their constraints, and their queries as QuerySet methods."""

from memoryhub.models.access import Access, Agent, Invitation, Key, KeyStore, Member, Role, Session, User
from memoryhub.models.act_requests import ActRequest, ActRequestState
from memoryhub.models.audit import HUB, AuditChain, AuditEntry, Door, IdempotentCall
from memoryhub.models.authenticators import Authenticator, AuthenticatorKind
from memoryhub.models.background import BackgroundTask, Installation, StreamCursor
from memoryhub.models.browsers import BrowserSession
from memoryhub.models.claude_evaluations import ClaudeEvaluation
from memoryhub.models.claude_presets import ClaudePreset
from memoryhub.models.claude_runs import (
    GOING_ON,
    ClaudeDay,
    ClaudeEvent,
    ClaudeEventKind,
    ClaudeModel,
    ClaudeRun,
    ClaudeRunState,
)
from memoryhub.models.comments import Comment, Notice
from memoryhub.models.figures import Activity, CallCount, Figures, Growth, MeteredChain, RefusedCalls
from memoryhub.models.findings import Finding, FindingState, Scan, ScanState
from memoryhub.models.identities import Identity
from memoryhub.models.imports import Import, ImportItem, ImportState
from memoryhub.models.mail import Alarm, AlarmState, Digest, Mail, MailChoice, MailKind, MailState
from memoryhub.models.memories import Directory, Memory, MemoryText, MemoryVersion, Operation, ReviewState
from memoryhub.models.proposals import Proposal, ProposalOrigin, ProposalState, ProposedChange
from memoryhub.models.redaction import Receipt, Redaction
from memoryhub.models.retention import Guard, Hold, HoldKind, Removal, RetentionPolicy, Run, RunItem, RunState
from memoryhub.models.review import Assignment, Claim, Decision, Review, Viewed
from memoryhub.models.seals import Seal
from memoryhub.models.stores import CallWindow, HubSettings, MemoryStore, RefusalWindow
from memoryhub.models.tries import TryCounter
from memoryhub.models.views import SavedView
from memoryhub.models.webhooks import Attempt, Delivery, DeliveryState, Pause, Webhook, WebhookCursor

__all__ = [
    "GOING_ON", "HUB", "Access", "ActRequest", "ActRequestState", "Activity", "Agent", "Alarm", "AlarmState",
    "Assignment",
    "Attempt", "AuditChain", "AuditEntry",
    "Authenticator", "AuthenticatorKind", "BackgroundTask", "BrowserSession", "CallCount", "CallWindow", "Claim",
    "ClaudeDay", "ClaudeEvaluation", "ClaudeEvent", "ClaudeEventKind", "ClaudeModel", "ClaudePreset", "ClaudeRun",
    "ClaudeRunState", "Comment", "Decision", "Delivery", "DeliveryState", "Digest", "Directory", "Door", "Figures",
    "Finding", "FindingState", "Growth", "Guard", "Hold", "HoldKind", "HubSettings", "IdempotentCall", "Identity",
    "Import", "ImportItem", "ImportState", "Installation", "Invitation", "Key", "KeyStore", "Mail", "MailChoice",
    "MailKind", "MailState", "Member", "Memory", "MemoryStore", "MemoryText", "MemoryVersion", "MeteredChain", "Notice",
    "Operation", "Pause", "Proposal", "ProposalOrigin", "ProposalState", "ProposedChange", "Receipt", "Redaction",
    "RefusalWindow", "RefusedCalls", "Removal", "RetentionPolicy", "Review", "ReviewState", "Role", "Run", "RunItem",
    "RunState", "SavedView", "Scan", "ScanState", "Seal", "Session", "StreamCursor", "TryCounter", "User", "Viewed",
    "Webhook", "WebhookCursor",
]  # fmt: skip
