"""What a question opens that names nobody, speaks to the bot of itself, or asks for what the channel keeps."""

from dataclasses import replace

import pytest
from builders_plan import BOT, a_message, a_stream, a_window, about, person, plan_for, sources

from memory.events import BotIdentity
from memory.model import HistoryLine, Plan, SourceKind
from memory.moments import lately

STREAMS = {"stream:s3:episode", "stream:s2:episode", "stream:s1:episode"}


def state_domains(plan: Plan) -> set[str]:
    """The kinds of record that are asked for outright."""
    return {
        domain
        for request in plan.requests
        if request.kind is SourceKind.STATE and not request.strict
        for domain in request.domains
    }


@pytest.mark.parametrize(
    "text",
    [
        "nuvola cos'era quel fischio?",
        "nuvola da principio quando era previsto il trasloco?",
        "nuvola perché quel cappello al manichino?",
        "nuvola chi ci pensa alle salsicce per sabato?",
        "nuvola come vi era venuto in mente?",
        "nuvola how come the window is open?",
        "nuvola what's the story behind the teapot?",
        "nuvola originally for which weekend was it?",
    ],
)
def test_a_question_about_this_chat_that_names_nobody_asks_its_author_and_the_last_streams(text: str) -> None:
    plan = plan_for(text)
    assert sources(plan) >= STREAMS
    assert plan.asks_memory


@pytest.mark.parametrize(
    "text",
    [
        "nuvola quante corde ha un violoncello?",
        "nuvola how many legs does a lobster have?",
        "nuvola che differenza c'è fra burro e margarina?",
        "nuvola can you translate goodnight to french?",
        "nuvola ti piace questa canzone?",
    ],
)
def test_a_question_about_the_world_or_the_moment_asks_no_memory(text: str) -> None:
    assert about(plan_for(text)) == set()
    assert not STREAMS & sources(plan_for(text))


def test_a_question_how_to_do_something_is_no_question_to_the_memory() -> None:
    plan = plan_for("nuvola how do i parry?")
    assert not plan.asks_memory
    assert not STREAMS & sources(plan)


def test_a_question_in_a_language_without_rules_asks_its_author() -> None:
    assert about(plan_for("nuvola welchen beruf habe ich gestern genannt?")) == {"2"}


@pytest.mark.parametrize(
    "text",
    [
        "nuvola tu che gioco preferisci?",
        "nuvola perché eviti gli specchi?",
        "nuvola che hai contro i pinguini?",
        "nuvola tu che mestiere facevi da giovane?",
        "nuvola what was your first job?",
        "nuvola why won't you touch the piano?",
    ],
)
def test_a_question_to_the_bot_about_itself_asks_the_canon_alone(text: str) -> None:
    plan = plan_for(text)
    assert sources(plan) == {"lore"}
    assert not any(request.strict for request in plan.requests)


def test_a_second_person_that_means_everybody_is_not_the_bot() -> None:
    plan = plan_for("nuvola when did you guys paint the wall?")
    assert [request.strict for request in plan.requests if request.kind is SourceKind.LORE] == [True]
    assert sources(plan) >= STREAMS


def test_the_canon_is_asked_beside_the_author_where_a_question_speaks_of_both() -> None:
    requests = {request.kind: request for request in plan_for("nuvola what if i hide your hat?").requests}
    assert requests[SourceKind.LORE].strict
    assert SourceKind.RECALL in requests


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("nuvola la prossima puntata a che ora mi collego?", "channel"),
        ("nuvola chi modera qui?", "channel"),
        ("nuvola do you stream on mondays?", "channel"),
        ("nuvola what time should i show up?", "channel"),
        ("nuvola devo ancora portarti qualcosa?", "note"),
        ("nuvola la data limite per la gara?", "note"),
        ("nuvola che ne è della mia proposta?", "request"),
        ("nuvola quella battuta ricorrente sul secchio?", "joke"),
        ("nuvola chi corre con me?", "relation"),
        ("nuvola do i have a cousin in chat?", "relation"),
    ],
)
def test_everyday_ways_to_ask_reach_the_kind_of_record(text: str, domain: str) -> None:
    assert domain in state_domains(plan_for(text))


@pytest.mark.parametrize(
    "text", ["nuvola a che ora mi collego la prossima volta?", "nuvola what time do i go live with my radio show?"]
)
def test_what_a_record_may_say_of_ones_own_day_is_asked_of_both(text: str) -> None:
    plan = plan_for(text)
    assert "channel" in state_domains(plan)
    assert about(plan) == {"2"}


def test_kin_in_a_statement_is_no_question_about_records() -> None:
    assert state_domains(plan_for("nuvola my cousin lent me a kayak, should i take it?")) == set()


def test_a_word_that_is_the_bots_name_asks_for_no_record() -> None:
    named = replace(a_stream(), bot=BotIdentity(id=BOT.id, login="memobot", name="MemoBot", aliases=("memo",)))
    assert state_domains(plan_for("memo i memo vocali come si mandano?", stream=named)) == set()
    assert state_domains(plan_for("nuvola i memo vocali come si mandano?")) == {"note"}


def test_what_only_may_be_a_record_does_not_widen_what_is_asked_for() -> None:
    batch = (
        a_message("nuvola dove abito?", message_id="q1"),
        a_message("nuvola chi modera qui?", by="3", message_id="q2"),
    )
    for messages in (batch, batch[::-1]):
        plan = plan_for(*messages)
        assert state_domains(plan) == {"channel"}
        assert [r.domains for r in plan.requests if r.kind is SourceKind.STATE] == [("channel",)]


def test_the_names_of_viewers_are_not_compared_with_records() -> None:
    plan = plan_for("nuvola che lavoro fa SeppiaStorta?")
    (record,) = [request for request in plan.requests if request.kind is SourceKind.STATE]
    assert "Seppia" not in record.query
    assert record.viewer_ids == ("4",)


@pytest.mark.parametrize(
    "text",
    [
        "nuvola mi sono distratto, SeppiaStorta cosa sta cucinando?",
        "nuvola sono tornata adesso, seppiastorta dov'è?",
        "nuvola I zoned out, what is SeppiaStorta making?",
    ],
)
def test_who_missed_what_a_viewer_said_finds_it_in_the_history(text: str) -> None:
    plan = plan_for(text, window=a_window(("4", "metto i ravioli in pentola"), ("3", "buoni")))
    assert plan.covered
    assert sources(plan) == set()
    assert not plan_for(text, window=a_window(("3", "buoni"))).covered


def test_when_something_was_is_not_told_by_having_just_spoken() -> None:
    window = a_window(("4", "ecco i ravioli"))
    assert plan_for("nuvola che ha fatto SeppiaStorta?", window=window).covered
    assert not plan_for("nuvola in che giorno SeppiaStorta ha dato l'esame?", window=window).covered


def test_what_we_did_together_asks_the_streams_too() -> None:
    assert STREAMS | {"viewer:2:recall"} <= sources(plan_for("nuvola il nostro pesce come lo avevamo chiamato?"))


def test_a_person_the_author_shares_with_others_is_looked_for_in_their_own_words() -> None:
    window = a_window(("4", "Moon ha un gatto"))
    assert about(plan_for("nuvola when were we meant to meet her?", window=window)) == {"2"}


def test_what_introduces_a_list_of_viewers_does_not_make_its_author_one_of_them() -> None:
    text = "nuvola sto scrivendo i biglietti: chi ama @moon e cosa mangia @rosalba_t?"
    assert about(plan_for(a_message(text, mentions=(person("6"), person("3"))))) == {"6", "3"}


def test_the_last_streams_are_the_present_one_and_the_two_before_it() -> None:
    past = [a_stream(f"p{days}", days_ago=days) for days in (9, 2, 5)]
    assert [choice.stream_id for choice in lately(a_stream("now"), past)] == ["now", "p2", "p5"]


def test_absence_is_told_from_having_been_somewhere() -> None:
    line = HistoryLine(id="h", at=a_message("x").at, kind="message", author=person("4"), text="ciao")
    plan = plan_for("nuvola quanto sono stato in Portogallo?", window=a_window(line))
    assert about(plan) == {"2"}


def test_what_is_ours_together_is_not_the_authors_where_another_is_named() -> None:
    assert about(plan_for("nuvola la nostra Rosalba_T vive ancora in barca?")) == {"3"}
    assert about(plan_for("nuvola la nostra barca affonda?")) == {"2"}


def test_words_of_an_unknown_language_name_no_kind_of_record() -> None:
    assert state_domains(plan_for("nuvola welche note bekam ich zuletzt im februar?")) == set()


def test_who_spread_a_story_about_the_author_is_looked_for_among_what_others_said() -> None:
    for text in ("nuvola chi è che si è inventato che ho un drago?", "nuvola who made up that i own a dragon?"):
        assert sources(plan_for(text)) >= STREAMS


@pytest.mark.parametrize(
    "text", ["nuvola da quanto tempo nuoto?", "nuvola da quando non bevo vino?", "nuvola quanto ci metto col tram?"]
)
def test_a_verb_of_the_author_after_how_long_or_a_denial_asks_their_memory(text: str) -> None:
    assert about(plan_for(text)) == {"2"}


@pytest.mark.parametrize(
    "text", ["nuvola tu te lo ricordi dove lavoro?", "nuvola tu che dici, lavoro troppo?", "nuvola tu dove credi che vivo?"]
)
def test_asking_the_bot_what_it_knows_of_the_author_is_about_the_author(text: str) -> None:
    assert about(plan_for(text)) == {"2"}
