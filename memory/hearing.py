"""Statements made ready to be taken: those that may be kept, with what their facts rest on, and which of them come too late."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from memory.keeping import Keeper
from memory.normalise import same_key
from memory.reconcile import is_known
from memory.retelling import Area, Late, area_of
from memory.statements import Fact, Statement
from memory.store import facts, order
from memory.store.stamps import milliseconds
from memory.taking import Said


class Hearing:
    """Statements that were read, beside what the store knows of their messages. For one transaction."""

    def __init__(self, connection: Connection, stated: Sequence[Statement], streams: Mapping[str, str]) -> None:
        """`streams`: that of each source."""
        self._connection = connection
        self._stated = stated
        self._streams = streams
        sources = {one.source for one in stated}
        self._silent = facts.unspeakable(connection, {one.subject for one in stated if one.speaker is not None})
        self._own, self._past = facts.remembered(connection, sources), facts.past(connection, sources)

    def late(self, known: Keeper) -> Late:
        """Return what is older than something that is known of the same, and not known itself."""
        late = Late()
        said_in: dict[Area, list[Statement]] = {}
        for said in self._stated:
            said_in.setdefault(area_of(said), []).append(said)
        beside = {area: list(known.within(area).values()) for area in said_in}
        resting = {area: {source for fact in held for source in fact.sources} for area, held in beside.items()}
        places = order.places(self._connection, set(self._own).union(*resting.values())) if any(resting.values()) else {}
        for area, held in beside.items():
            new = [said for said in said_in[area] if not any(is_known(fact, said) for fact in held)]
            last = max((places[source] for source in resting[area] if source in places), default=0)
            if any(places.get(said.source, last) < last for said in new):
                late.statements += new  # those in time too: all are told together
                late.sources |= resting[area]
        return late

    def said(self, left_out: Collection[Statement] = ()) -> Iterator[Said]:
        """Yield the statements that may be kept, as they were read."""
        for statement in self._stated:
            if statement not in left_out and self._may_be_kept(statement):
                # A record changed meanwhile, and what was said is past with it.
                yield self._ready(replace(statement, invalid_at=statement.invalid_at or self._past.get(statement.source)))

    def in_order(self, area: Area, within: Mapping[str, Fact]) -> list[Said]:
        """Return the statements of an area that may be kept, as they were said, each once. `within`: its facts.

        Until when these are true is to be found out anew.
        """
        again = {source for fact in within.values() for source in fact.sources}
        ends = {source: at for source, at in self._past.items() if source not in again}
        meant = [one for one in reversed(self._stated) if area_of(one) == area and self._may_be_kept(one)]
        unique = {self._identity(one): replace(one, invalid_at=one.invalid_at or ends.get(one.source)) for one in meant}
        places = order.places(self._connection, self._own)
        return sorted(map(self._ready, reversed(unique.values())), key=lambda one: places.get(one.statement.source, 0))

    def resting(self, within: Mapping[str, Fact]) -> Collection[str]:
        """Return the lines that facts rest on, aside from those that went, and from commands that put others right."""
        sources = {source for fact in within.values() for source in fact.sources}
        commands = {command for of_line in self._own.values() for command in of_line[1:]}
        return order.places(self._connection, sources - commands).keys()

    def _ready(self, statement: Statement) -> Said:
        source = statement.source
        return Said(
            statement=statement, fact_id=self._identity(statement), stream_id=self._streams[source], sources=self._own[source]
        )

    def _identity(self, statement: Statement) -> str:
        return facts.fact_id(statement, same_key(statement.object))

    def _may_be_kept(self, statement: Statement) -> bool:
        spoken_of = statement.speaker is None or milliseconds(statement.at) > self._silent.get(statement.subject, -1)
        return statement.source in self._own and spoken_of
