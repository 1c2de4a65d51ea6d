"""The options of a conversation: how long an answer may be, and how its context is kept small."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

Json = dict[str, Any]

TOOL = "memory"
CONTEXT_BETA = "context-management-2025-06-27"
"""The beta of the memory tool and of context editing."""
COMPACTION_BETA = "compact-2026-01-12"
SUMMARY_BETA = "compact-2026-09-04"
"""The beta that is needed to ask for a summary of the conversation, and for every request that begins with a
summary."""

CLEAR_TOOL_USES = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
COMPACT = "compact_20260112"
SUMMARIZE = "compaction"
"""The parameter of a request that only asks for a summary, and the stop reason of its answer."""

THINKING_TOKENS = 1_024
"""The tokens of thinking for a model that needs a number of them. It is the least number that the API accepts."""

_HAS_A_NUMBER = re.compile(r"claude-(3|[a-z]+-4-[0-5]|[a-z]+-4-20)")
"""Matches the models that need a number of tokens for thinking. Newer models decide themselves how much to think."""

INPUT_TOKENS, TOOL_USES = "input_tokens", "tool_uses"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run.

    With `clears_tool_uses`, old results of tools are cleared when the conversation has `trigger_value` input tokens or
    tool uses; `trigger` says which of the two is counted. The newest `keep` results stay. With `excludes_memory`, all
    results of the memory tool stay too. Results are cleared only if this frees at least `clear_at_least` tokens. With
    `clears_thinking`, only the newest `keep_thinking` answers keep their thinking (None: all answers).
    """

    max_tokens: int = 4_096
    thinks: bool = False
    clears_tool_uses: bool = True
    trigger: str = INPUT_TOKENS
    trigger_value: int = 100_000
    keep: int = 3
    clear_at_least: int | None = None
    excludes_memory: bool = False
    clear_tool_inputs: bool = False
    clears_thinking: bool = False
    keep_thinking: int | None = 1
    compacts: bool = False
    compact_at: int = 150_000
    instructions: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Options":
        """Return the options that a JSON object contains. Unknown names in it are ignored."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def as_json(self) -> Json:
        return asdict(self)

    def edits(self) -> list[Json]:
        """Return the edits of `context_management`, in the order that the API wants: thinking first."""
        edits: list[Json] = []
        if self.clears_thinking and self.thinks:
            keep: Any = "all"
            if self.keep_thinking is not None:
                keep = {"type": "thinking_turns", "value": self.keep_thinking}
            edits.append({"type": CLEAR_THINKING, "keep": keep})
        if self.clears_tool_uses:
            edits.append(self._clear_tool_uses())
        if self.compacts:
            compact: Json = {"type": COMPACT, "trigger": {"type": INPUT_TOKENS, "value": self.compact_at}}
            edits.append(compact | ({"instructions": self.instructions} if self.instructions else {}))
        return edits

    def _clear_tool_uses(self) -> Json:
        edit: Json = {
            "type": CLEAR_TOOL_USES,
            "trigger": {"type": self.trigger, "value": self.trigger_value},
            "keep": {"type": TOOL_USES, "value": self.keep},
        }
        if self.clear_at_least is not None:
            edit["clear_at_least"] = {"type": INPUT_TOKENS, "value": self.clear_at_least}
        if self.excludes_memory:
            edit["exclude_tools"] = [TOOL]
        if self.clear_tool_inputs:
            edit["clear_tool_inputs"] = True
        return edit

    def betas(self) -> list[str]:
        return [CONTEXT_BETA, *([COMPACTION_BETA] if self.compacts else [])]

    def parameters(self, model: str, system: str) -> Json:
        """Return the parameters of every request of the conversation, without `messages` and `max_tokens`."""
        parameters: Json = {
            "model": model,
            "tools": [{"type": "memory_20250818", "name": TOOL}],
            "betas": self.betas(),
            "cache_control": {"type": "ephemeral"},
        }
        if system:
            parameters["system"] = system
        if self.thinks:
            parameters["thinking"] = thinking(model)
        if edits := self.edits():
            parameters["context_management"] = {"edits": edits}
        return parameters

    def request(self, model: str, system: str) -> Json:
        """Return the parameters of a request whose answer may be as long as the options say."""
        return self.parameters(model, system) | {"max_tokens": self.max_tokens}

    def summary(self, model: str, system: str) -> Json:
        """Return the parameters of a request for a summary of the conversation, without the edits of its context."""
        parameters = self.parameters(model, system)
        parameters.pop("context_management", None)
        asked = {"type": "summarize"} | ({"instructions": self.instructions} if self.instructions else {})
        return parameters | {SUMMARIZE: asked, "betas": [CONTEXT_BETA, SUMMARY_BETA]}


def betas(named: Sequence[str], messages: Sequence[Json]) -> list[str]:
    """Return the names of the beta features that a request needs: those in `named`, and one more if the messages begin
    with a summary."""
    begins = bool(messages) and messages[0]["role"] == "assistant" and SUMMARY_BETA not in named
    return [*named, *([SUMMARY_BETA] if begins else [])]


def thinking(model: str) -> Json:
    """Return the parameter that lets a model think."""
    if _HAS_A_NUMBER.match(model):
        return {"type": "enabled", "budget_tokens": THINKING_TOKENS}
    return {"type": "adaptive"}
