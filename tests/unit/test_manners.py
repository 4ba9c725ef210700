from collections.abc import Sequence

import pytest
from builders_live import BOT, at, message
from hypothesis import given
from hypothesis import strategies as st

from bot.addressing import Addressing
from bot.manners import Decision, Manners, MannersSettings
from memory import Batch, Message


def manners(**rules: object) -> Manners:
    return Manners(MannersSettings(**rules), Addressing(BOT))  # type: ignore[arg-type] # fields by name, checked at run time


def batch(*lines: Message, closed: float = 1) -> Batch:
    return Batch(stream_id="s", lines=lines, closed_at=at(closed))


def choose(target: Manners, *lines: Message, closed: float = 1) -> Decision:
    return target.choose(batch(*lines, closed=closed), now=at(closed))


def test_the_newest_line_to_the_bot_gets_the_answer() -> None:
    decision = choose(
        manners(), message("ricordino a?", by="alice"), message("@ricordo_bot b?", by="bob"), message("c?", by="carla")
    )
    assert decision.to is not None
    assert (decision.to.user.login, decision.reason) == ("bob", "mention")


@pytest.mark.parametrize(
    ("rules", "text", "reason"),
    [
        ({}, "bella partita?", "not_addressed"),
        ({"answer": "never"}, "ricordino ci sei?", "policy_never"),
        ({"answer": "questions"}, "bella partita", "not_addressed"),
    ],
)
def test_silence_has_a_reason(rules: dict[str, object], text: str, reason: str) -> None:
    assert choose(manners(**rules), message(text)) == Decision(to=None, reason=reason)


def test_the_policy_of_questions_answers_them_unaddressed() -> None:
    assert choose(manners(answer="questions"), message("che ore sono?")).reason == "question"


def test_quiet_is_kept_until_it_is_lifted() -> None:
    target = manners()
    target.quiet = True
    assert choose(target, message("ricordino?")).reason == "quiet"
    assert not target.may_serve("id-alice", (), now=at(1))
    target.quiet = False
    assert choose(target, message("ricordino?")).to is not None


def test_the_channel_and_each_viewer_cool_down_by_the_batches_own_times() -> None:
    target = manners(channel_cooldown_seconds=3, viewer_cooldown_seconds=10)
    asked = message("ricordino?", by="alice")
    assert choose(target, asked, closed=0).to is not None
    assert choose(target, message("ricordino?", by="bob"), closed=2).reason == "channel_cooldown"
    assert choose(target, asked, closed=5).reason == "viewer_cooldown"
    assert choose(target, message("ricordino?", by="bob"), closed=5).to is not None
    assert choose(target, asked, closed=10).to is not None


def test_someone_who_may_ask_gets_the_answer_where_the_newest_may_not() -> None:
    target = manners(channel_cooldown_seconds=0, viewer_cooldown_seconds=10)
    choose(target, message("ricordino?", by="alice"), closed=0)
    decision = choose(target, message("ricordino?", by="bob"), message("ricordino!!", by="alice"), closed=1)
    assert decision.to is not None
    assert decision.to.user.login == "bob"


@pytest.mark.parametrize("badge", ["moderator", "broadcaster"])
def test_moderators_do_not_cool_down(badge: str) -> None:
    target = manners(channel_cooldown_seconds=0, viewer_cooldown_seconds=60)
    asked = message("ricordino?", badges=(badge,))
    assert choose(target, asked, closed=0).to is not None
    assert choose(target, asked, closed=1).to is not None


def test_a_batch_that_waited_too_long_is_not_answered() -> None:
    target = manners(late_seconds=60)
    assert target.choose(batch(message("ricordino?"), closed=0), now=at(61)).reason == "late"


def test_a_command_counts_as_an_answer_to_its_writer() -> None:
    target = manners(viewer_cooldown_seconds=10)
    assert target.may_serve("id-alice", (), now=at(0))
    assert not target.may_serve("id-alice", (), now=at(5))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("  ciao\n\nAlice \t!  ", "ciao Alice !"),
        ("/ban alice", "ban alice"),
        ("\u200b /me balla", "me balla"),
        ("...!./ boh", "boh"),
        ("!memory è un comando", "memory è un comando"),
        ("guarda https://example.com/x?y=1 qui", "guarda qui"),
        ("vai su www.example.org oggi", "vai su oggi"),
        ("su example.it/pagina trovi tutto", "su trovi tutto"),
        ("scrivi a evil\u200b.\u2060com per il premio", "scrivi a per il premio"),
        ("apri ht\u200btps://evil.example/x ora", "apri ora"),
        ("Bene.Ciao a te", "Bene.Ciao a te"),
        ("famiglia \U0001f468\u200d\U0001f469\u200d\U0001f467", "famiglia \U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("a\x00b\x07\ud800c", "abc"),
    ],
)
def test_a_reply_goes_out_as_one_harmless_line(said: str, shown: str) -> None:
    assert manners().polish(said, now=at(0)).text == shown


def test_links_stay_where_they_are_allowed() -> None:
    assert manners(strip_links=False).polish("https://example.com", now=at(0)).text == "https://example.com"


@pytest.mark.parametrize("said", ["", "  ", "/", "https://example.com", "\u200b\u2060"])
def test_nothing_is_not_said(said: str) -> None:
    assert manners().polish(said, now=at(0)).reason == "empty"


@pytest.mark.parametrize(
    ("said", "blocked"), [("che CAVOLO dici", True), ("ca\u200bvolo!", True), ("cavolfiore", False), ("due  parole", True)]
)
def test_blocked_words_are_whole_words_however_they_are_written(said: str, *, blocked: bool) -> None:
    polished = manners(blocked_words=("Cavolo", "due parole", " ")).polish(said, now=at(0))
    assert (polished.text is None, polished.reason) == (blocked, "blocked_word" if blocked else "")


def test_what_was_said_lately_is_not_said_again() -> None:
    target = manners(repeat_seconds=600)
    target.note_said("Ciao Alice!", now=at(0))
    assert target.polish("ciao   ALICE!\u034f", now=at(599)).reason == "repeated"
    assert target.polish("ciao Alice!", now=at(601)).text == "ciao Alice!"


def test_a_long_reply_is_cut_at_a_word() -> None:
    target = manners(max_characters=20)
    assert target.polish("una frase davvero troppo lunga", now=at(0)).text == "una frase davvero…"
    assert target.polish("Prima frase intera. Seconda", now=at(0)).text == "Prima frase intera."
    assert target.polish("x" * 30, now=at(0)).text == "x" * 19 + "…"


def test_a_cut_does_not_tear_a_character_from_its_accents() -> None:
    shown = manners(max_characters=10).polish("abcdefgh" + "i\u0301\u0302" * 5, now=at(0)).text
    assert shown == "abcdefgh…"


@given(st.text(max_size=1200), st.integers(1, 500))
def test_whatever_a_model_writes_stays_within_the_rules(said: str, limit: int) -> None:
    shown = manners(max_characters=limit).polish(said, now=at(0)).text
    if shown is not None:
        assert 0 < len(shown) <= limit
        assert shown[0] not in "/.! "
        assert shown == " ".join(shown.split())
        shown.encode()


def test_a_length_that_the_platform_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="between 1 and 500"):
        MannersSettings(max_characters=501)


def test_the_same_batches_are_decided_alike() -> None:
    def run() -> Sequence[str]:
        target = manners()
        lines = [message("ricordino?", by=by, seconds=number) for number, by in enumerate("aabbcacb")]
        return [choose(target, line, closed=3 * number).reason for number, line in enumerate(lines)]

    assert run() == run()
    assert "name" in run()
    assert "viewer_cooldown" in run()
