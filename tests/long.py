"""How far a run of the tests looks: at a part of the random cases, or at all of them (`make test-long`)."""

import os

LONG = bool(os.environ.get("MEMORYHUB_LONG"))
PART = 12


def tried(cases: int) -> int:
    """So many random cases are tried: all of them in the long form, the first twelfth of them otherwise."""
    return cases if LONG else max(1, cases // PART)
