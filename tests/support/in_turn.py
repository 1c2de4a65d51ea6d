"""Cases of a test that follow one another in one test: what its fixtures make is made once for all of them."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction

Test = Callable[..., None]


def in_turn(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, for cheap cases that need the same fixtures.

    What a case writes into the database is undone after it. Not for tests whose transactions end, and not for cases
    that leave anything elsewhere.
    """
    known, given = (names,) if isinstance(names, str) else names, list(cases)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def whole(*arguments: Any, **fixtures: Any) -> None:
            for case in given:
                values = (case,) if isinstance(names, str) else case
                try:
                    with transaction.atomic():
                        test(*arguments, **fixtures, **dict(zip(known, values, strict=True)))
                        transaction.set_rollback(True)
                except BaseException as error:
                    error.add_note(f"in the case {case!r}"[:1000])
                    raise

        own = inspect.signature(test)
        others = [parameter for name, parameter in own.parameters.items() if name not in known]
        whole.__signature__ = own.replace(parameters=others)  # type: ignore[attr-defined]
        return whole

    return decorate
