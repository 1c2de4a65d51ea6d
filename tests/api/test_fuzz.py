"""Made-up requests to every operation of the API: no answer that the document does not name, and none of 5xx."""

import os
import sys

import pytest

REQUESTS = int(os.environ.get("MEMORYHUB_FUZZ_REQUESTS", "75"))
SEED = int(os.environ.get("MEMORYHUB_FUZZ_SEED", "5"))


@pytest.mark.push
def test_every_answer_to_made_up_requests_is_documented(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.api.fuzzing import Fuzz  # what it loads takes a second, which no other process of the run needs

    fuzz = Fuzz.begun(SEED)
    fuzz.run(REQUESTS)
    seen = {operation for operation, _ in fuzz.answers}
    well = {operation for operation, status in fuzz.answers if status == 200}
    if REQUESTS > 1000:
        with capsys.disabled():
            sys.stdout.write(fuzz.told())
    assert not fuzz.problems, "\n\n".join(fuzz.problems.values())
    assert fuzz.answers.total() >= REQUESTS // 2
    assert len(well) > len(seen) // 2, "most operations must have been reached"
