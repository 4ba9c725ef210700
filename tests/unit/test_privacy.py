"""The privacy notice: the numbers are those in force, and every place, provider and way out is named."""

import pytest

from config.chat_sections import Commands
from config.keeping import Facts, Recording, Retention
from config.privacy import PAGE, as_notice, lasting
from config.sections import Embedding, Llm
from config.settings import Settings


def test_the_notice_in_the_documents_is_that_of_the_defaults() -> None:
    assert PAGE.read_text(encoding="utf-8") == as_notice(Settings()), "run `make docs`"


@pytest.mark.parametrize(
    ("days", "en", "it"),
    [(365.0, "1 year", "1 anno"), (1095.0, "3 years", "3 anni"), (1.0, "1 day", "1 giorno"), (60, "60 days", "60 giorni"),
     (0.5, "0.5 days", "0,5 giorni"), (0.0, "no limit", "sempre")],
)  # fmt: skip
def test_days_are_told_in_words(days: float, en: str, it: str) -> None:
    assert (lasting(days, "en"), lasting(days, "it")) == (en, it)


@pytest.mark.parametrize("name", list(Retention.model_fields))
def test_every_limit_stands_in_the_notice_with_its_setting_and_moves_with_it(name: str) -> None:
    assert f"`{name}`" in as_notice(Settings()).replace("retention.", "")
    settings = Settings(retention=Retention(**{name: 4321.0}))
    assert "4321 days" in as_notice(settings)
    assert "4321 days" not in as_notice(Settings())


def test_both_panel_texts_name_every_way_out_and_the_times() -> None:
    page = as_notice(Settings(retention=Retention(message_days=11, fact_days=12, claim_days=13)))
    english, italian = page.split("## Per il pannello")[0].split("## For the panel")[1], page.split("## Per il pannello")[1]
    assert [word for word in ("!memory", "!whatdoyouknow", "!forgetme", "!optout", "!optin") if word not in english] == []
    assert [
        word for word in ("!memoria", "!cosasai", "!dimenticami", "!nonricordarmi", "!ricordami") if word not in italian
    ] == []
    assert [days for days in ("11 days", "12 days", "13 days") if days not in english] == []
    assert [days for days in ("11 giorni", "12 giorni", "13 giorni") if days not in italian] == []


def test_the_panel_texts_name_the_commands_as_configured_each_in_its_language() -> None:
    words = Commands(prefix="?", forgetme=("dimenticami", "forgetme"), optout=("vattene",), optin=("optin", "torna"))
    italian = as_notice(Settings(commands=words)).split("## Per il pannello")[1]
    assert [word for word in ("?memoria", "?dimenticami", "?vattene", "?torna") if word not in italian] == []
    english = as_notice(Settings(commands=words)).split("## Per il pannello")[0]
    assert [word for word in ("?memory", "?forgetme", "?vattene", "?optin") if word not in english] == []
    assert "!" not in english.split("## For the panel")[1]


def test_whoever_is_sent_anything_is_named() -> None:
    assert "No other company" in as_notice(Settings())
    settings = Settings(
        llm=Llm(base_url="https://parole.example/v1", model="m"),
        embedding=Embedding(kind="openai", base_url="https://vettori.example/v1", model="v"),
    )
    page = as_notice(settings)
    assert page.count("https://parole.example/v1") == 3
    assert page.count("https://vettori.example/v1") == 3
    assert "No other company" not in page
    assert "in the background" not in page
    reading = as_notice(settings.model_copy(update={"facts": Facts(llm=True)}))
    assert "messages are sent there in the background" in reading
    assert "whether or not you talk to the bot" in reading
    assert "senza rivolgerti al bot" in reading


def test_a_recorded_chat_is_told_in_both_languages() -> None:
    assert "recorded" not in as_notice(Settings()).split("## For the panel")[1]
    page = as_notice(Settings(recording=Recording(enabled=True, days=14)))
    assert "now on | `recordings/` | 14 days" in page
    assert "The whole chat is recorded, and kept for 14 days." in page
    assert "Tutta la chat è registrata, e conservata per 14 giorni." in page
