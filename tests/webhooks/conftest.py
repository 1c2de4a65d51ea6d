"""A hub with a key, a receiver on loopback and a world whose clock the test moves."""

from collections.abc import Iterator

import pytest
from django.utils import timezone

from tests.api.harness import Hub, new_hub
from tests.webhooks.hub import World
from tests.webhooks.receivers import Receiver, receiver


@pytest.fixture
def hub(db: None) -> Hub:
    return new_hub()


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def world() -> World:
    return World(timezone.now())
