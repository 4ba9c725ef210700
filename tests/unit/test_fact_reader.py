"""Whether a language model looks for facts, as configured: off by default, and said where it cannot be."""

import pytest
from structlog.testing import capture_logs

from bot.app import fact_reader, memory_settings
from config.settings import Settings

LLM = {"base_url": "http://127.0.0.1:9/v1", "model": "m", "temperature": 0.9}


def test_without_being_asked_no_model_reads() -> None:
    assert fact_reader(Settings.model_validate({"llm": LLM})) is None


def test_where_no_model_is_configured_the_log_says_that_rules_read_alone() -> None:
    with capture_logs() as logs:
        assert fact_reader(Settings.model_validate({"facts": {"llm": True}})) is None
    assert [(one["event"], one["log_level"]) for one in logs] == [("facts_llm_not_configured", "warning")]


@pytest.mark.parametrize("tokens", [0, 1234])
async def test_a_configured_model_reads_within_its_budget(tokens: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings.model_validate({"facts": {"llm": True, "llm_tokens_per_stream": tokens}, "llm": LLM})
    reader = fact_reader(settings)
    assert reader is not None
    assert reader.name == "m"
    await reader.close()
    await reader.close()
    assert memory_settings(settings, tmp_path_factory.mktemp("memory")).reading.tokens_per_stream == tokens
