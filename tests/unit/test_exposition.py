"""The Prometheus text format: names, labels, histograms."""

import pytest

from bot.exposition import Histogram, Page, label_of


def test_a_counter_is_named_total_and_told_once() -> None:
    page = Page("ricordo_")
    page.counter("events", "What was heard.", {"message": 3, "notice": 1}, label="type")
    assert page.text().splitlines() == [
        "# HELP ricordo_events_total What was heard.",
        "# TYPE ricordo_events_total counter",
        'ricordo_events_total{type="message"} 3',
        'ricordo_events_total{type="notice"} 1',
    ]


def test_a_gauge_keeps_its_fraction() -> None:
    page = Page("ricordo_")
    page.gauge("lag_seconds", "How late.", 1.5)
    assert page.text().endswith("# TYPE ricordo_lag_seconds gauge\nricordo_lag_seconds 1.5\n")


def test_a_histogram_counts_upwards_to_infinity() -> None:
    histogram = Histogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        histogram.add(value)
    assert histogram.cumulative() == [("0.1", 2), ("1", 3), ("+Inf", 4)]  # 0.05 and 0.1 | 0.5 | 7.0
    page = Page("ricordo_")
    page.histogram("step_seconds", "Time.", {"recall": histogram}, label="step")
    assert 'ricordo_step_seconds_bucket{step="recall",le="1"} 3' in page.text()
    assert 'ricordo_step_seconds_count{step="recall"} 4' in page.text()
    assert 'ricordo_step_seconds_sum{step="recall"} 7.65' in page.text()


@pytest.mark.parametrize("text", ["Alice", 'x"} 1\nevil 1', "", "a" * 41, "è"])
def test_words_of_others_never_become_a_label(text: str) -> None:
    assert label_of(text) == "other"


def test_values_that_share_a_label_are_added_up() -> None:
    page = Page("ricordo_")
    page.counter("reasons", "Why.", {"Alice": 2, "Bob": 3, "cooldown": 1}, label="reason")
    assert page.text().splitlines()[2:] == [
        'ricordo_reasons_total{reason="other"} 5',
        'ricordo_reasons_total{reason="cooldown"} 1',
    ]
