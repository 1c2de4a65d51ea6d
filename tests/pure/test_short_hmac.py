"""The HMAC of the audit is that of the standard library."""

import hmac
import random

from memoryhub.pure import short_hmac


def test_is_the_hmac_of_the_standard_library() -> None:
    chance = random.Random(7)
    for length in (0, 1, 16, 63, 64, 65, 200):
        for size in (0, 1, 40, 64, 5_000):
            key, message = chance.randbytes(length), chance.randbytes(size)
            assert short_hmac.sha256(key, message) == hmac.digest(key, message, "sha256").hex()
