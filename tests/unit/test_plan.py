"""What is looked up for which message: tables of invented sentences in both languages."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders_plan import BOT, NOW, a_message, a_window, about, known, person, plan_for, sources

from memory.events import Emote, Notice, Viewer
from memory.model import HistoryLine, SourceKind, Window
from memory.recipes import FULL, Limits, recipes


@pytest.mark.parametrize(
    "text",
    [
        "buonasera nuvola!",
        "nuvola sei forte",
        "nuvola 😂😂",
        "che fame, mi ricordo la pizza di ieri",
        "rosalba dove abiti?",
        "nuvola qual è la capitale del Perù?",
        "hi nuvola",
        "nuvola you rock",
        "lol what was that",
        "nuvola how many legs does a spider have?",
        "LUL LUL LUL",
        "nuvola ricordati che domani parto",
        "nuvola remember that i leave tomorrow",
        "",
        "nuvola",
        "?",
    ],
)
def test_ordinary_chat_retrieves_nothing_and_says_why(text: str) -> None:
    plan = plan_for(text)
    assert plan.requests == ()
    assert plan.reasons
    assert not plan.asks_memory


@pytest.mark.parametrize(
    "text",
    [
        "nuvola dove abito?",
        "nuvola che lavoro faccio",
        "nuvola come si chiama il mio cane?",
        "nuvola ti ho mai detto quanti fratelli ho?",
        "@nuvolabot dimmi, con chi divido la stanza?",
        "senti nuvola, quando parto?",
        "nuvola posso mangiare le cozze?",
        "nuvola where do i live",
        "nuvola whats my cat called",
        "NuvolaBot, did i ever tell you my age?",
        "nuvola quick one, what am i allergic to",
        "nuvola can i eat mussels?",
        "my dog has a name, nuvola, what is it?",
    ],
)
def test_a_question_about_the_author_searches_their_own_memory_alone(text: str) -> None:
    plan = plan_for(text)
    assert sources(plan) - {"lore"} == {"viewer:2:profile", "viewer:2:recall", "state"}
    assert {request.strict for request in plan.requests if request.kind in {SourceKind.STATE, SourceKind.LORE}} == {True}
    assert plan.asks_memory


@pytest.mark.parametrize(
    ("text", "whom"),
    [
        ("nuvola dove vive @rosalba_t?", {"3"}),
        ("nuvola dove vive rosalba?", {"3"}),
        ("nuvola che lavoro fa SeppiaStorta", {"4"}),
        ("nuvola che lavoro fa seppia storta", {"4"}),
        ("nuvola che animali hanno @rosalba_t e @tamburino88?", {"3", "7"}),
        ("nuvola where does quartz live?", {"5"}),
        ("nuvola what does @quartz_elis do for a living", {"5"}),
        ("nuvola who is the dog of Tamburino", {"7"}),
        ("nuvola io e @rosalba_t cosa possiamo mangiare?", {"2", "3"}),
        ("nuvola rosalba mi ha offerto le cozze, posso mangiarle?", {"2"}),
        ("nuvola quartz gave me some nuts, can i eat them?", {"2"}),
        ("nuvola devo scrivere due biglietti, dove abita @rosalba_t?", {"3"}),
        ("nuvola what does @moon like?", {"6"}),
        ("nuvola what does the moon look like?", {"2"}),
        ("nuvola what is Moon into?", {"6"}),
        ("nuvola what does @nightbot like?", set()),
    ],
)
def test_named_viewers_are_the_ones_asked_about(text: str, whom: set[str]) -> None:
    assert about(plan_for(text)) == whom


def test_a_typo_names_somebody_around_but_nobody_far_away() -> None:
    around = a_window(("7", "ciao a tutti"))
    assert about(plan_for("nuvola dove vive tamburinno88?", window=around)) == {"7"}
    assert about(plan_for("nuvola dove vive tamburinno88?")) == set()


def test_an_old_name_still_names_its_viewer() -> None:
    viewers = [known("2"), known("3", former=("lumaca_zen",))]
    assert about(plan_for("nuvola dove vive @lumaca_zen?", viewers=viewers)) == {"3"}


@pytest.mark.parametrize("text", ["nuvola e dove lavora lui?", "nuvola where does she work?", "nuvola whats his cat called"])
def test_a_pronoun_means_the_last_other_person_named(text: str) -> None:
    window = a_window(("3", "che ridere seppiastorta oggi"), ("2", "nuvola ma dai"))
    assert about(plan_for(text, window=window)) == {"4"}


def test_a_pronoun_in_a_reply_means_the_author_replied_to() -> None:
    window = a_window(("5", "boh"), ("3", "che ridere seppiastorta oggi"))
    assert about(plan_for(a_message("nuvola where does she work?", reply_to="h0"), window=window)) == {"5"}


def test_a_pronoun_without_anybody_named_is_somebody_in_the_authors_life() -> None:
    assert about(plan_for("nuvola how old is she?")) == {"2"}
    assert about(plan_for("nuvola how old is Brunilde?")) == {"2"}


@pytest.mark.parametrize(
    "text",
    ["nuvola cosa ricordi di me?", "nuvola che sai di me", "what do you know about me nuvola?", "nuvola do you remember me"],
)
def test_explicit_recall_is_marked_and_never_covered_by_the_history(text: str) -> None:
    plan = plan_for(text, window=a_window(("2", "ricordi di me e so tutto, you know about me, remember me")))
    assert plan.explicit_recall
    assert about(plan) == {"2"}


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        ("nuvola cosa è successo prima?", ["s3"]),
        ("nuvola chi ha vinto all'inizio?", ["s3"]),
        ("nuvola ero al telefono, cosa è caduto?", ["s3"]),
        ("nuvola what broke earlier?", ["s3"]),
        ("nuvola i was on the phone, what did i miss?", ["s3"]),
        ("nuvola chi ha vinto l'altra volta?", ["s2"]),
        ("nuvola com'è finita la live scorsa?", ["s2"]),
        ("nuvola who won last stream?", ["s2"]),
        ("nuvola what sank last time?", ["s2"]),
        ("nuvola cosa si era rotto nella prima live?", ["s1"]),
        ("nuvola what broke on day one?", ["s1"]),
        ("nuvola la sera dei castelli chi aveva vinto?", ["s1"]),
        ("nuvola the night when we built things, who won?", ["s2", "s1"]),
        ("nuvola chi ha detto che la regata era truccata?", ["s3", "s2", "s1"]),
        ("nuvola what name did you give the boat? you said it", ["s3", "s2", "s1"]),
        ("nuvola who won yesterday?", ["s2"]),
    ],
)
def test_references_out_of_the_window_choose_their_streams(text: str, streams: list[str]) -> None:
    plan = plan_for(text)
    assert [request.stream_id for request in plan.requests if request.kind is SourceKind.EPISODE] == streams
    assert plan.asks_memory


@pytest.mark.parametrize(
    "text",
    [
        "nuvola di cosa hai paura?",
        "nuvola chi ti ha creata?",
        "who made you nuvola?",
        "nuvola what scares you",
        "nuvola tu sogni?",
    ],
)
def test_questions_about_the_bot_itself_search_the_canon_alone(text: str) -> None:
    plan = plan_for(text)
    assert sources(plan) == {"lore"}
    assert not plan.asks_memory


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("nuvola cos'è il faro di gesso?", ("faro",)),
        ("nuvola che bello il faro di gesso", ("faro",)),
        ("nuvola quando si accende la lanterna?", ("faro",)),
        ("nuvola che bella lanterna", ()),
        ("nuvola io di che lanterna ho parlato?", ()),
        ("il faro di gesso è crollato", ()),
    ],
)
def test_the_canon_is_found_by_its_aliases(text: str, entries: tuple[str, ...]) -> None:
    assert [request.lore_ids for request in plan_for(text).requests if request.lore_ids] == ([entries] if entries else [])


@pytest.mark.parametrize(
    ("text", "domains", "owners"),
    [
        ("nuvola la mia richiesta è ancora in lista?", ("request",), ("2",)),
        ("nuvola is my request still open?", ("request",), ("2",)),
        ("nuvola chi porta il dolce alla festa?", ("note",), ()),
        ("nuvola is there a deadline for the contest?", ("note",), ()),
        ("nuvola con chi sono in squadra?", ("relation",), ("2",)),
        ("nuvola who is my teammate?", ("relation",), ("2",)),
        ("nuvola qual è il tormentone del canale?", ("joke",), ()),
        ("nuvola whats the running gag here?", ("joke",), ()),
        ("nuvola che giorni siete in live?", ("channel",), ()),
        ("nuvola what days is ombretta live?", ("channel",), ()),
        ("nuvola chi sono i moderatori?", ("channel",), ()),
        ("nuvola what are the rules here?", ("channel",), ()),
    ],
)
def test_state_is_asked_by_its_domains(text: str, domains: tuple[str, ...], owners: tuple[str, ...]) -> None:
    plan = plan_for(text)
    found = [(request.domains, request.viewer_ids) for request in plan.requests if request.kind is SourceKind.STATE]
    assert found == [(domains, owners)]
    assert "viewer:1:recall" not in sources(plan)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nuvola aspetta, rosalba cosa centrifuga?", ("3", "io centrifugo insalata")),
        ("nuvola non ho capito, di dov'è rosalba?", ("3", "di Gubbio, io")),
        ("nuvola wait, what did quartz just say?", ("5", "im moving to Malta")),
        ("nuvola dove coltiva zafferano rosalba?", ("3", "coltivo lo zafferano in terrazza")),
        ("nuvola where do i grow saffron?", ("2", "i grow saffron on the roof")),
        ("nuvola perché si è fermato Ettore?", ("3", "Ettore oggi zoppica")),
        ("nuvola what did the crabs just do?", ("3", "the crabs are dancing")),
    ],
)
def test_what_stands_in_the_history_is_not_searched(text: str, line: tuple[str, str]) -> None:
    plan = plan_for(text, window=a_window(("4", "boh"), line, ("4", "ahah")))
    assert plan.covered
    assert plan.requests == ()
    assert not plan.asks_memory
    assert any("history" in reason for reason in plan.reasons)
    searched = plan_for(text, window=a_window(("4", "boh"), line), recipe=recipes()["-coverage_check"])
    assert not searched.covered


@pytest.mark.parametrize(
    "text",
    [
        "nuvola dove abito?",
        "nuvola who won earlier, the crabs?",
        "nuvola ti ho detto del mio granchio?",
        "nuvola chi mi ha detto granchi?",
    ],
)
def test_a_history_that_does_not_answer_covers_nothing(text: str) -> None:
    plan = plan_for(text, window=a_window(("3", "dove abito io piove"), ("4", "the crabs won, granchi!"), ("2", "granchio")))
    assert not plan.covered
    assert plan.requests


@pytest.mark.parametrize("text", ["nuvola ti ricordi il torneo di scacchi?", "nuvola do you remember the chess match"])
def test_a_question_whether_the_bot_remembers_looks_into_the_streams(text: str) -> None:
    assert sources(plan_for(text)) == {"stream:s3:episode", "stream:s2:episode", "stream:s1:episode"}


@pytest.mark.parametrize(
    "text",
    [
        "nuvola cosa sai dei buchi neri?",
        "nuvola do you know who invented the radio",
        "nuvola che sai del jazz?",
        "nuvola quanti minuti bolle un uovo?",
        "nuvola is a boat faster than a train?",
    ],
)
def test_a_question_about_knowledge_of_the_world_asks_at_most_its_authors_memory_quietly(text: str) -> None:
    plan = plan_for(text)
    assert {request.why for request in plan.requests if request.viewer_id} <= {"may be about who writes it"}
    assert about(plan) <= {"2"}
    assert not plan.asks_memory
    assert not plan.explicit_recall


def test_a_batch_of_notices_alone_has_its_reason_too() -> None:
    plan = plan_for(Notice(id="n", at=NOW, kind="raid", user=None))
    assert plan.reasons == ("nobody wrote a message",)
    assert plan.targets == ()


def test_emotes_are_no_words_of_the_question() -> None:
    plan = plan_for(a_message("nuvola dove abito? ioHype", emotes=(Emote(name="ioHype", start=19, end=25),)))
    assert next(r for r in plan.requests if r.kind is SourceKind.RECALL).query == "dove abito?"


def test_as_of_expressions_become_the_moment_of_the_plan() -> None:
    plan = plan_for("nuvola dove abitavo l'anno scorso?")
    assert plan.as_of is not None
    assert (plan.as_of.year, plan.as_of.month) == (2025, 12)
    assert {request.as_of for request in plan.requests if request.viewer_id} == {plan.as_of}
    assert any("2025-12-31" in reason for reason in plan.reasons)


def test_a_follow_up_in_the_same_batch_counts_as_said_to_the_bot() -> None:
    plan = plan_for(
        a_message("nuvola can i eat mussels?"), a_message("and do i get nuts?", "3", "q2"), a_message("and lol", "4", "q3")
    )
    assert about(plan) == {"2", "3"}
    assert about(plan_for(a_message("and do i get nuts?", "3"))) == set()


def test_a_follow_up_to_the_bots_answer_counts_as_said_to_the_bot() -> None:
    bot = Viewer(id=BOT.id, login=BOT.login, name=BOT.name)
    answer = HistoryLine(id="r", at=NOW, kind="reply", author=bot, text="A Gubbio.", reply_to="h0")
    window = Window(stream_id="s3", lines=(*a_window(("2", "nuvola dove abito?")).lines, answer))
    assert about(plan_for("e dove lavoro?", window=window)) == {"2"}
    assert about(plan_for(a_message("e dove lavoro?", "3"), window=window)) == set()


def test_a_reply_to_the_bot_needs_no_name_and_is_asked_with_its_parent() -> None:
    plan = plan_for(a_message("e di dove sono io?", reply_to="h0"), window=a_window(("9", "Parlavamo di città.")))
    recall = next(request for request in plan.requests if request.kind is SourceKind.RECALL)
    assert recall.query == "Parlavamo di città. e di dove sono io?"


def test_the_query_is_the_question_without_the_bots_name_and_leaves_the_batch_out() -> None:
    plan = plan_for("@NuvolaBot, dove abito?")
    recall = next(request for request in plan.requests if request.kind is SourceKind.RECALL)
    assert recall.query == "dove abito?"
    assert recall.exclude == ("q0",)
    assert next(r for r in plan.requests if r.kind is SourceKind.PROFILE).query == ""


def test_viewers_are_ranked_by_signals_and_cut_to_three() -> None:
    plan = plan_for(
        a_message("ciao", "3", "a"),
        a_message("guardate https://example.org", "4", "b"),
        a_message("nuvola ciao", "5", "c"),
        a_message("nuvola ricordati che piove", "6", "d"),
    )
    assert [target.viewer_id for target in plan.targets] == ["6", "5", "4"]
    assert plan.targets[0].reasons == ("asks to remember", "speaks to the bot", "active")


def test_a_platform_event_outranks_speaking_to_the_bot() -> None:
    sub = Notice(id="n", at=NOW, kind="sub", user=person("7"))
    plan = plan_for(sub, a_message("nuvola ciao", "3"))
    assert [target.viewer_id for target in plan.targets] == ["7", "3"]


def test_ties_go_to_the_newest_message_then_to_the_id() -> None:
    later = NOW + timedelta(seconds=1)
    plan = plan_for(a_message("ciao", "4", "a"), a_message("ciao", "3", "b"), a_message("ciao", "2", "c", at=later))
    assert [target.viewer_id for target in plan.targets] == ["2", "3", "4"]


def test_more_viewers_are_looked_up_where_they_are_named_but_never_above_the_maximum() -> None:
    text = "nuvola dove vivono @rosalba_t, @seppiastorta, @quartz_ellis e @moon?"
    assert about(plan_for(text)) == {"3", "4", "5", "6"}
    tight = replace(FULL, limits=Limits(viewers=1, viewers_max=2))
    plan = plan_for(text, recipe=tight)
    assert len(about(plan)) == 2
    assert any("left out" in reason for reason in plan.reasons)


def test_without_ranking_the_batchs_authors_are_looked_up_in_their_order() -> None:
    plan = plan_for(
        a_message("ciao", "3", "a"), a_message("nuvola dove vive quartz?", "4", "b"), recipe=recipes()["-viewer_ranking"]
    )
    assert about(plan) == {"3", "4"}


@pytest.mark.parametrize(("recipe", "gone"), [("-profile", "viewer:2:profile"), ("-recall", "viewer:2:recall")])
def test_a_source_that_is_switched_off_is_not_planned(recipe: str, gone: str) -> None:
    assert gone not in sources(plan_for("nuvola dove abito?", recipe=recipes()[recipe]))


def test_two_questions_to_one_source_become_one_request() -> None:
    plan = plan_for(a_message("nuvola dove abito?", "2", "a"), a_message("nuvola che lavoro faccio?", "2", "b"))
    recalls = [request for request in plan.requests if request.kind is SourceKind.RECALL]
    assert [request.query for request in recalls] == ["dove abito? che lavoro faccio?"]


def test_bots_and_the_bot_itself_ask_nothing() -> None:
    assert plan_for(a_message("nuvola dove abito?", "8", is_bot=True)).requests == ()


@pytest.mark.parametrize(
    ("text", "language"), [("nuvola dove abito io?", "it"), ("nuvola where do i live?", "en"), ("🦀", "it")]
)
def test_the_language_of_the_batch_is_told_by_its_stop_words(text: str, language: str) -> None:
    assert plan_for(text).language == language


@pytest.mark.parametrize(
    "text",
    [
        "nuvola " + "a" * 1_000_000,
        "nuvola " + "prima " * 20_000 + "?",
        "nuvola \x00\x1b[31m\ud800 dove abito?",
        "nuvola \u202edove abito?\u202c",
        "nuvola d\u0336o\u0336v\u0336e abito?",
        "@" * 3000 + "nuvola?",
        "nuvola " + "what did i " * 5000 + "?",
        "nuvola ((((*(.*)+)+)+ [[[ ?",
    ],
)
def test_hostile_text_is_planned_like_any_other(text: str) -> None:
    assert plan_for(text, window=a_window(("3", text))).reasons


def test_planning_twice_gives_the_same_plan() -> None:
    text = "nuvola dove vivono @rosalba_t e @moon, e chi ha vinto la live scorsa?"
    assert plan_for(text) == plan_for(text)
