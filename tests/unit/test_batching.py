from datetime import datetime

import pytest
from builders_live import at, message
from hypothesis import given
from hypothesis import strategies as st

from bot.batching import Batcher, BatchingSettings
from memory import Batch

RULES = BatchingSettings(grace_seconds=1, quiet_seconds=4, longest_wait_seconds=10, max_lines=3)


def batcher(rules: BatchingSettings = RULES) -> Batcher:
    made = Batcher(rules)
    made.open("s1", at(0))
    return made


def add(target: Batcher, seconds: float, *, addressed: bool = False) -> list[Batch]:
    return target.add(message("ciao", seconds=seconds), addressed=addressed, now=at(seconds))


def test_quiet_closes_a_batch_at_its_deadline_however_late_it_is_asked_for() -> None:
    target = batcher()
    add(target, 0)
    add(target, 2)
    assert target.next_due() == at(6)
    assert target.due(at(5.9)) == []
    (batch,) = target.due(at(60))
    assert (batch.flush_reason, batch.closed_at, len(batch.lines)) == ("quiet", at(6), 2)
    assert target.next_due() is None


def test_being_addressed_closes_after_a_grace_in_which_a_follow_up_joins() -> None:
    target = batcher()
    add(target, 0, addressed=True)
    add(target, 0.5)
    (batch,) = target.due(at(1))
    assert (batch.flush_reason, len(batch.lines)) == ("addressed", 2)


def test_no_grace_closes_at_once() -> None:
    target = batcher(BatchingSettings(grace_seconds=0))
    (batch,) = add(target, 0, addressed=True)
    assert batch.flush_reason == "addressed"


def test_size_closes_at_once() -> None:
    target = batcher()
    add(target, 0)
    add(target, 1)
    (batch,) = add(target, 2)
    assert (batch.flush_reason, len(batch.lines), batch.closed_at) == ("size", 3, at(2))


def test_a_chat_that_never_rests_is_closed_by_the_longest_wait() -> None:
    target = batcher(BatchingSettings(quiet_seconds=4, longest_wait_seconds=10, max_lines=100))
    closed = [batch for second in range(0, 13, 3) for batch in add(target, second)]
    assert [(batch.flush_reason, batch.closed_at, len(batch.lines)) for batch in closed] == [("waited", at(10), 4)]


def test_a_line_after_the_deadline_starts_the_next_batch() -> None:
    target = batcher()
    add(target, 0)
    (batch,) = add(target, 4)
    assert [line.at for line in batch.lines] == [at(0)]
    assert [line.at for line in target.lines] == [at(4)]


def test_another_stream_closes_what_was_collected_for_the_old_one() -> None:
    target = batcher()
    add(target, 0)
    (batch,) = target.open("s2", at(1))
    assert (batch.stream_id, batch.flush_reason) == ("s1", "end")
    add(target, 2)
    assert target.open("s2", at(3)) == []
    assert target.flush("end", at(3))[0].stream_id == "s2"


def test_lines_taken_back_leave_the_open_batch() -> None:
    target = batcher()
    add(target, 0)
    gone = target.lines[0].id
    add(target, 1)
    target.remove({gone})
    assert [line.at for line in target.lines] == [at(1)]
    target.remove({target.lines[0].id})
    assert target.next_due() is None
    assert target.flush("end", at(9)) == []


def test_waits_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="quiet_seconds <= longest_wait_seconds"):
        BatchingSettings(quiet_seconds=20, longest_wait_seconds=10)


@given(
    st.lists(st.tuples(st.floats(0, 12, allow_nan=False), st.booleans()), max_size=40), st.lists(st.floats(0, 400), max_size=10)
)
def test_batches_do_not_depend_on_how_often_the_clock_is_looked_at(steps: list[tuple[float, bool]], looks: list[float]) -> None:
    def run(extra: list[datetime]) -> list[tuple[str, str, datetime]]:
        target, now, closed = batcher(), 0.0, list[Batch]()
        for number, (wait, addressed) in enumerate(steps):
            before, now = now, now + wait
            for look in sorted(extra):
                if at(before) < look < at(now):
                    closed += target.due(look)
            closed += target.add(message("x", seconds=now, message_id=f"m{number}"), addressed=addressed, now=at(now))
        closed += target.due(at(now + 100))
        assert sum(len(batch.lines) for batch in closed) == len(steps)
        return [(batch.id, batch.flush_reason, batch.closed_at) for batch in closed]

    assert run([at(look) for look in looks]) == run([])
