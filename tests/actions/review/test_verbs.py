"""The table of review decisions: everything that a decision needs is there."""

from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.actions.review.verbs import ANSWERS, OF_DECISION, OF_SEVERAL, OF_STATE, STATES, VERBS
from memoryhub.models import Decision, ReviewState
from memoryhub.web.review import acts


def test_each_verb_is_an_audited_command_and_each_decision_a_verb() -> None:
    assert VERBS.keys() <= COMMANDS.keys()
    assert OF_DECISION.keys() == set(Decision.values) and OF_STATE.keys() == set(ReviewState.values)


def test_what_the_inbox_offers_can_be_done_and_has_its_words() -> None:
    assert {verb.name for verb in ANSWERS} <= acts.ONE.keys() <= VERBS.keys()
    assert {verb.name for verb in OF_SEVERAL} == acts.MANY.keys()
    for verb in ANSWERS:
        assert verb.state and verb.label and verb.key and verb.anyway and verb.by, verb.name
    for verb in OF_SEVERAL:
        assert verb.ask and verb.selected and verb.everything, verb.name
    for state in STATES.values():
        assert OF_STATE[state.value].badge, state


def test_no_two_verbs_have_the_same_key() -> None:
    keys = [verb.key for verb in VERBS.values() if verb.key]
    assert len(keys) == len(set(keys)) and "x" not in keys  # it selects
