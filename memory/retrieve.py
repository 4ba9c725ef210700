"""All planned sources at once: each under its own deadline, all under one, and whatever arrived in time counts."""

import asyncio
from collections.abc import Mapping

from memory.channels.scoped import Asking
from memory.model import Plan, SourceKind, SourceRequest
from memory.sources import Found, Source


class Retrieval:
    """What the sources of one plan answer, as it comes in."""

    def __init__(self, plan: Plan, sources: Mapping[SourceKind, Source], asking: Asking) -> None:
        self._requests = tuple(dict.fromkeys(plan.requests))
        self._sources = sources
        self._asking = asking
        self._arrived: dict[SourceRequest, Found] = {}

    @property
    def found(self) -> Found:
        """What has arrived so far, in the order of the plan."""
        arrived = [self._arrived[request] for request in self._requests if request in self._arrived]
        return Found(
            rankings=tuple(ranking for found in arrived for ranking in found.rankings),
            records=tuple(record for found in arrived for record in found.records),
        )

    async def ask_all(self) -> Found:
        """Ask every source in parallel and return what they found; one that is late or fails gives nothing and is noted."""
        async with asyncio.TaskGroup() as group:
            for request in self._requests:
                group.create_task(self._ask(request))
        return self.found

    def left_out(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the sources that were late, wholly or in a channel, and of those that failed."""
        late, failed = [], []
        for name in dict.fromkeys(request.name for request in self._requests):
            states = {step.state for step in self._asking.trace.steps if step.step == name or step.step.startswith(f"{name}/")}
            if not states or states & {"timed_out", "cancelled"}:
                late.append(name)
            if "failed" in states:
                failed.append(name)
        return tuple(late), tuple(failed)

    async def _ask(self, request: SourceRequest) -> None:
        source = self._sources[request.kind]
        self._arrived[request] = await self._asking.trace.run(
            request.name,
            source.ask(request, self._asking),
            within=self._asking.recipe.deadlines.source_seconds,
            otherwise=Found(),
        )
