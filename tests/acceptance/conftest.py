"""The Twitch that the shipped program meets, for tests that start it as a process."""

from collections.abc import AsyncIterator

import pytest
from fakes.twitch import FakeTwitch


@pytest.fixture
async def twitch() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        served.patience = 60
        await served.go_online("777")
        yield served
