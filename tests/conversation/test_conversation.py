"""A conversation as data: the parameters of its requests as the documentation has them, and its messages in turns."""

from typing import Any, get_args

from anthropic.types.anthropic_beta_param import AnthropicBetaParam

from memoryhub.pure.conversation import guidance
from memoryhub.pure.conversation.messages import UNDONE, Said, block_of, messages
from memoryhub.pure.conversation.options import COMPACTION_BETA, CONTEXT_BETA, Options, thinking

CALL = {"type": "tool_use", "id": "t1", "name": "memory", "input": {"command": "view", "path": "/memories"}}
TEXT = {"type": "text", "text": "I look."}


def test_the_edits_are_those_of_the_documentation() -> None:
    example = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 100000},
        "keep": {"type": "tool_uses", "value": 3},
    }
    assert Options().edits() == [example]
    more = Options(
        trigger="tool_uses", trigger_value=8, clear_at_least=500, excludes_memory=True, clear_tool_inputs=True
    )
    assert more.edits() == [
        example
        | {
            "trigger": {"type": "tool_uses", "value": 8},
            "clear_at_least": {"type": "input_tokens", "value": 500},
            "exclude_tools": ["memory"],
            "clear_tool_inputs": True,
        }
    ]


def test_thinking_is_cleared_first_and_only_where_there_is_some() -> None:
    every = Options(thinks=True, clears_thinking=True, compacts=True, keep_thinking=None)
    assert [edit["type"] for edit in every.edits()] == [
        "clear_thinking_20251015",
        "clear_tool_uses_20250919",
        "compact_20260112",
    ]
    assert every.edits()[0]["keep"] == "all"
    assert Options(clears_thinking=True, clears_tool_uses=False).edits() == []
    assert "context_management" not in Options(clears_tool_uses=False).parameters("m", "")


def test_betas_are_sent_only_where_they_are_needed() -> None:
    assert Options().betas() == [CONTEXT_BETA]
    assert Options(compacts=True).betas() == [CONTEXT_BETA, COMPACTION_BETA]
    known = get_args(get_args(AnthropicBetaParam)[1])
    assert {CONTEXT_BETA, COMPACTION_BETA} <= set(known), "the SDK knows them"


def test_older_models_are_given_a_number_of_tokens_to_think() -> None:
    for model in ("claude-opus-4-5", "claude-haiku-4-5-20251001", "claude-opus-4-20250514", "claude-3-7-sonnet-latest"):
        assert thinking(model) == {"type": "enabled", "budget_tokens": 1024}, model
    for model in ("claude-sonnet-5-5", "claude-opus-4-6", "claude-haiku-5-5", "claude-fable-5"):
        assert thinking(model) == {"type": "adaptive"}, model


def test_options_are_kept_as_json_and_unknown_ones_are_ignored() -> None:
    options = Options(thinks=True, keep_thinking=None, instructions="Keep names.")
    assert Options.of(options.as_json() | {"later": 1}) == options
    assert Options.of({}) == Options()


def test_results_follow_their_calls_and_messages_of_one_side_are_one() -> None:
    said = [
        Said("text", TEXT), Said("call", CALL, "a listing"), Said("call", {**CALL, "id": "t2"}), Said("turn", {}),
        Said("message", {"text": "Go on."}), Said("text", TEXT), Said("turn", {}), Said("problem", {}),
    ]  # fmt: skip
    first, answer, results, last = messages("Help.", said)
    assert first == {"role": "user", "content": [{"type": "text", "text": "Help."}]}
    assert answer == {"role": "assistant", "content": [TEXT, CALL, {**CALL, "id": "t2"}]}
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "a listing"},
        {"type": "tool_result", "tool_use_id": "t2", "content": UNDONE, "is_error": True},
        {"type": "text", "text": "Go on."},
    ]
    assert last == {"role": "assistant", "content": [TEXT]}


def test_an_answer_without_its_end_is_not_sent() -> None:
    assert len(messages("Help.", [Said("text", TEXT)])) == 1


def test_blocks_are_sent_back_as_they_came_but_for_empty_texts() -> None:
    thought: dict[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    summary = {"type": "compaction", "content": "So far.", "signature": "c2ln"}
    for block in (TEXT, CALL, thought, summary, {"type": "redacted_thinking", "data": "x"}):
        assert block_of(block) == block
    assert block_of({"type": "text", "text": ""}) is None and block_of({"type": "fallback"}) is None


def test_guidance_is_added_to_a_system_prompt() -> None:
    assert guidance.system_prompt() == ""
    assert guidance.system_prompt(" You are Ada. ", topic=" refunds ") == (
        "You are Ada.\n\nOnly write down information relevant to refunds in your memory system."
    )
    assert guidance.system_prompt(tidy=True) == guidance.TIDY
