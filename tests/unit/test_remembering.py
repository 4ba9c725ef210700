from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from builders_llm import MARTA, NOW, ZENO, addressing, batch_of, item, message, past_line, recall_of
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.language import content_of, language_of, words_of
from bot.remembering import REPLY_CHARACTERS, MemoryResponder
from bot.remembering_texts import TEXTS, day_of
from memory import Item, Plan, Recall, Section, SourceKind, SourceRequest, Viewer

ORIGINS = "Ricordo fu acceso nel 2021 in un faro. Lo montò Ersilia, che perdeva le tazze. La sua prima parola fu «Pronto?»."


async def say(text: str, recall: Recall | None = None, user: Viewer = MARTA) -> str:
    asked = message(text, user)
    answer = await MemoryResponder(addressing()).reply(batch_of(asked), recall or recall_of(), asked)
    assert answer.model is None
    assert 0 < len(answer.text) <= REPLY_CHARACTERS
    return answer.text


@pytest.mark.parametrize(
    ("text", "kind", "language"),
    [
        ("ciao ricordo!", "greeting", "it"),
        ("@Ricordo buonasera a tutti", "greeting", "it"),
        ("hello ricordo", "greeting", "en"),
        ("ricordo grazie mille", "welcome", "it"),
        ("thank you so much @ricordo", "welcome", "en"),
        ("buonanotte centralino", "farewell", "it"),
        ("good night ricordo", "farewell", "en"),
        ("Ricordo", "heard", "it"),
        ("ricordo, oggi da me piove e non c'è nessuno", "heard", "it"),
        ("ricordo it was raining all of the day", "heard", "en"),
        ("ricordo che ore sono?", "cannot", "it"),
        ("ricordo what time is it?", "cannot", "en"),
        ("ricordo ricordati che domani porto i biscotti", "noted", "it"),
        ("ricordo please remember that I am away on monday", "noted", "en"),
        ("ricordo no, mi chiamo Marta", "noted", "it"),
        ("ricordo non vivo più a Milano, sto a Roma", "noted", "it"),
        ("ricordo ti sbagli, il mio gatto si chiama Briciola", "noted", "it"),
        ("ricordo no, my name is Martha", "noted", "en"),
        ("ricordo I no longer live in Milan", "noted", "en"),
        ("ricordo no dai, che freddo", "heard", "it"),
    ],
)
async def test_message_that_asks_nothing_of_memory_is_answered_with_courtesy(text: str, kind: str, language: str) -> None:
    allowed = [template.format(name="Marta") for template in getattr(TEXTS[language], kind)]
    assert await say(text) in allowed


async def test_what_was_said_just_before_the_question_in_the_same_batch_is_told() -> None:
    said = message("la mia gatta si chiama Nerone e dorme sempre", ZENO)
    asked = message("ricordo come si chiama la gatta di Zeno?", MARTA, "m2")
    after = message("la gatta di Zeno si chiama Bugia", ZENO, "m3")
    answer = await MemoryResponder(addressing()).reply(batch_of(said, asked, after), recall_of(), asked)
    assert "Zeno" in answer.text
    assert "«la mia gatta si chiama Nerone e dorme sempre»" in answer.text


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("la mia gatta si chiama Nerone", "ricordo come si chiama la mia gatta?"),
        ("my cat is called Nerone", "ricordo what is my cat called?"),
    ],
)
async def test_who_asks_about_themselves_is_told_what_they_just_said(said: str, asked: str) -> None:
    question = message(asked, MARTA, "m2")
    anothers = message("la mia gatta si chiama Bugia, my cat is called Bugia", ZENO, "m1b")
    answer = await MemoryResponder(addressing()).reply(batch_of(message(said), anothers, question), recall_of(), question)
    assert said in answer.text


async def test_greeting_with_a_question_is_a_question() -> None:
    recall = recall_of(item("il mio gatto si chiama Baffo"))
    assert "Baffo" in await say("ciao ricordo, come si chiama il mio gatto?", recall)


@pytest.mark.parametrize(
    ("text", "words", "parts"),
    [
        ("ricordo, come si chiama il mio gatto?", "il mio gatto si chiama Baffo", ["il 10 febbraio hai scritto", "Baffo»"]),
        ("ricordo what is my cat called?", "my cat is called Baffo", ["on 10 February you wrote", "“my cat is called Baffo”"]),
    ],
)
async def test_own_words_are_given_back_with_their_day(text: str, words: str, parts: list[str]) -> None:
    said = await say(text, recall_of(item(words)))
    assert all(part.casefold() in said.casefold() for part in parts), said


async def test_no_words_end_the_quotation_marks_around_them() -> None:
    forged = "my cat is called Baffo\u201d. Zeno wrote: \u201cI hate you all"
    said = await say("ricordo what is my cat called?", recall_of(item(forged)))
    assert "Baffo" in said
    assert (said.count("\u201c"), said.count("\u201d")) == (1, 1)


async def test_words_of_another_are_named_as_theirs() -> None:
    said = await say("ricordo dove vive Zeno?", recall_of(item("vivo a Trieste", subject=ZENO, author=ZENO)))
    assert "Zeno ha scritto: «vivo a Trieste»" in said
    assert "hai scritto" not in said


@pytest.mark.parametrize(
    ("subject", "asker", "warned"), [(MARTA, MARTA, True), (Viewer(id="3", login="ada", name="Ada"), MARTA, False)]
)
@pytest.mark.parametrize("section", ["recall", "episode"])
async def test_claim_is_told_as_a_claim(section: Section, subject: Viewer, asker: Viewer, warned: bool) -> None:
    claim = item("bara a carte", section, subject=subject, author=ZENO, kind="claim")
    said = await say("ricordo chi bara a carte?", recall_of(claim), asker)
    assert "Zeno" in said
    assert ("Secondo Zeno" in said) or ("lo ha detto Zeno" in said)
    assert ("lo dice Zeno, non tu" in said) == warned


async def test_fact_about_another_names_them() -> None:
    said = await say(
        "ricordo dove vive Zeno?", recall_of(item("vive a Trieste", "profile", subject=ZENO, author=ZENO, kind="fact"))
    )
    assert "Di Zeno" in said
    assert "«vive a Trieste»" in said


async def test_everything_known_is_told_facts_first_and_together() -> None:
    facts = [item(text, "profile", kind="fact") for text in ("vive a Lecce", "suona la viola")]
    said = await say(
        "ricordo cosa ricordi di me?", recall_of(item("ho rotto la moka"), *facts, plan=Plan(explicit_recall=True))
    )
    assert "«vive a Lecce»; «suona la viola»." in said
    assert said.index("Lecce") < said.index("moka")
    assert said.count("Di te") == 1


async def test_naming_somebody_is_not_a_match_by_itself() -> None:
    facts = [item(text, "profile", subject=ZENO, author=ZENO, kind="fact") for text in ("vive a Trieste", "Zeno ha un cane")]
    said = await say("ricordo cosa sai di Zeno?", recall_of(*facts, plan=Plan(explicit_recall=True)))
    assert "Trieste" in said
    assert "cane" in said


async def test_order_to_remember_is_acknowledged_whatever_was_found() -> None:
    said = await say("ricordo tieni a mente che lunedì non ci sono", recall_of(item("lunedì lavoro")))
    assert said in [template.format(name="Marta") for template in TEXTS["it"].noted]


async def test_several_facts_about_another_are_told_together() -> None:
    facts = [item(text, "profile", subject=ZENO, author=ZENO, kind="fact") for text in ("ama il mare", "ama il vento")]
    said = await say("ricordo che cosa ama Zeno?", recall_of(*facts))
    assert "Di Zeno" in said
    assert "«ama il mare»; «ama il vento»" in said


async def test_what_is_no_longer_true_is_told_as_past_and_last() -> None:
    old = item("lavora in banca", "profile", kind="fact", current=False)
    new = item("lavora in posta", "profile", kind="fact")
    said = await say("ricordo dove lavoro?", recall_of(old, new))
    assert said.index("posta") < said.index("Una volta invece") < said.index("banca")
    other = item("lavora in banca", "profile", subject=ZENO, author=ZENO, kind="fact", current=False)
    assert "Una volta invece, Zeno" in await say("ricordo Zeno lavora?", recall_of(other))


async def test_only_what_matches_the_question_best_is_told() -> None:
    recall = recall_of(item("ho un cane di nome Argo"), item("adoro la pizza ai funghi"))
    said = await say("ricordo che pizza mi piace?", recall)
    assert "funghi" in said
    assert "Argo" not in said


async def test_same_words_are_told_once() -> None:
    twice = recall_of(item("adoro la pizza"), item("Adoro la PIZZA!", "profile", kind="fact"))
    assert (await say("ricordo la pizza?", twice)).casefold().count("pizza") == 1


@pytest.mark.parametrize(
    ("one", "part"),
    [
        (
            item(ORIGINS, "lore", subject=None, author=None, kind="lore"),
            "Ricordo fu acceso nel 2021 in un faro. Lo montò",
        ),
        (item("Azzurro, per Marta", "state", author=None, kind="state"), "«Azzurro, per Marta»"),
        (item("Zeno: ha vinto Pavlo!", "episode", subject=None, author=None, kind="turn"), "«Zeno: ha vinto Pavlo!»"),
        (item("Ricordo: vinto!", "episode", subject=None, author=None, kind="reply"), "ho detto io: «vinto!»"),
        (item("ha vinto Pavlo", "episode", subject=None, author=ZENO), "Zeno ha scritto: «ha vinto Pavlo»"),
    ],
)
async def test_every_section_has_its_way_of_telling(one: Item, part: str) -> None:
    said = await say("ricordo chi ha vinto, Azzurro? hai detto qualcosa?", recall_of(one))
    assert part in said


async def test_memory_that_shares_no_word_with_the_question_is_told_with_doubt() -> None:
    message_ = await say("ricordo dove abito?", recall_of(item("mi sono trasferita in via Garibaldi")))
    assert message_.startswith(TEXTS["it"].perhaps)
    assert "via Garibaldi" in message_
    fact = await say("ricordo dove abito?", recall_of(item("vive a Lecce", "profile", kind="fact")))
    assert TEXTS["it"].perhaps not in fact


@pytest.mark.parametrize(
    "one",
    [
        item("il sugo com'è venuto?"),
        item("Ada: ciao\nZeno: sera", "episode", subject=None, author=None, kind="turn"),
    ],
)
async def test_old_question_or_unrelated_scene_answers_nothing(one: Item) -> None:
    assert await say("ricordo dove lavoro?", recall_of(one)) in [text.format(name="Marta") for text in TEXTS["it"].unknown]


async def test_several_people_asked_about_get_one_memory_each() -> None:
    recall = recall_of(
        item("abito a Bari in città vecchia"),
        item("vivo a Zara", subject=ZENO, author=ZENO),
        item("adoro il mare", subject=ZENO, author=ZENO),
    )
    said = await say("ricordo in che città stanno Zeno e Marta?", recall, Viewer(id="3", login="ada", name="Ada"))
    assert "Marta ha scritto: «abito a Bari in città vecchia»" in said
    assert "Zeno ha scritto" in said
    assert said.count("ha scritto") == 2


async def test_title_of_a_canon_entry_is_not_told() -> None:
    lore = item("Il nome: Si chiama così per errore.", "lore", subject=None, author=None, kind="lore")
    assert await say("ricordo come ti chiami?", recall_of(lore)) == "Si chiama così per errore."


async def test_canon_is_told_from_the_sentence_that_answers() -> None:
    lore = item(ORIGINS, "lore", subject=None, author=None, kind="lore")
    assert await say("ricordo qual è stata la tua prima parola?", recall_of(lore)) == "La sua prima parola fu «Pronto?»."


async def test_long_canon_stops_at_a_sentence() -> None:
    lore = item("Una frase di prova abbastanza lunga. " * 30, "lore", subject=None, author=None, kind="lore")
    said = await say("ricordo racconta", recall_of(lore))
    assert said.endswith("lunga.")
    assert len(said) < 300


@pytest.mark.parametrize("language", ["it", "en"])
@pytest.mark.parametrize(
    "plan",
    [
        Plan(asks_memory=True),
        Plan(explicit_recall=True),
        Plan(requests=(SourceRequest(kind=SourceKind.RECALL, why="x", viewer_id="1"),)),
    ],
)
async def test_nothing_found_is_admitted(plan: Plan, language: str) -> None:
    text = {"it": "ricordo come si chiama mia sorella?", "en": "ricordo what is the name of my sister?"}[language]
    unknown = [template.format(name="Marta") for template in TEXTS[language].unknown]
    assert await say(text, recall_of(plan=plan)) in unknown
    assert await say(text, recall_of(abstained=True)) in unknown


async def test_memory_that_could_not_be_read_is_said() -> None:
    said = await say("ricordo come si chiama mia sorella?", recall_of(plan=Plan(asks_memory=True), late=("viewer:1:recall",)))
    assert said.endswith(TEXTS["it"].partly)


async def test_what_the_history_covers_is_quoted_from_it() -> None:
    history = [
        past_line("io sono di Zara"),
        past_line("che freddo oggi", MARTA, "h2"),
        past_line("Zeno è di Roma", reply=True, id_="h3"),
    ]
    plan = Plan(covered=True, language="it")
    said = await say("ricordo di dove è Zeno?", recall_of(history=history, plan=plan))
    assert "Zeno" in said
    assert "«io sono di Zara»" in said
    nothing = await say("ricordo e il tempo?", recall_of(history=history[1:2], plan=plan))
    assert nothing in [template.format(name="Marta") for template in TEXTS["it"].above]


async def test_a_question_in_the_history_is_never_told_as_its_answer() -> None:
    history = [
        past_line("la mia gatta si chiama Briciola", ZENO, "h1"),
        past_line("ricordo come si chiama la mia gatta?", ZENO, "h2"),
    ]
    said = await say(
        "ricordo come si chiama la gatta di Zeno?", recall_of(history=history, plan=Plan(covered=True, language="it"))
    )
    assert "«la mia gatta si chiama Briciola»" in said


async def test_same_turn_always_gives_the_same_words() -> None:
    recall = recall_of(item("il mio gatto si chiama Baffo"))
    assert len({await say("ricordo il mio gatto?", recall) for _ in range(5)}) == 1


@pytest.mark.parametrize("by", ["secondo Zeno Blu", "according to Zeno Blu"])
async def test_item_without_bare_words_or_names_is_read_from_its_line(by: str) -> None:
    one = replace(item("vivo a Trieste", subject=ZENO, author=ZENO), words="", subject_name=None, author_name=None)
    assert "Zeno ha scritto: «vivo a Trieste»" in await say("ricordo chi sta a Trieste?", recall_of(one))
    claim = replace(one, subject=MARTA.id, text=f'- [Marta · 2026-02-10, 2 giorni fa] {by}: "Marta bara"')
    assert "Zeno Blu" in await say("ricordo chi bara?", recall_of(claim))
    odd = replace(one, text="somebody wrote something")
    assert "qualcuno in chat ha scritto: «somebody wrote something»" in await say("ricordo chi sta a Trieste?", recall_of(odd))
    known = recall_of(odd, history=[past_line("eccomi")])
    assert "Zeno ha scritto: «somebody wrote something»" in await say("ricordo chi sta a Trieste?", known)


async def test_turn_is_told_by_the_lines_that_answer() -> None:
    filler = "\n".join(f"Ada: {'bla ' * 20}{number}" for number in range(6))
    turn = item(f"{filler}\nZeno: la gara finisce alle nove\nAda: grazie", "episode", subject=None, author=None, kind="turn")
    said = await say("ricordo quando finisce la gara?", recall_of(turn))
    assert "Zeno: la gara finisce alle nove" in said
    short = item("Ada: vai!\nZeno: vinto", "episode", subject=None, author=None, kind="turn")
    assert "«Ada: vai! / Zeno: vinto»" in await say("ricordo chi ha vinto?", recall_of(short))
    unworded = replace(short, words="", text='- [live · 2026-02-10, 2 giorni fa] "Ada: vai!" "Zeno: vinto"')
    assert "«Ada: vai! / Zeno: vinto»" in await say("ricordo chi ha vinto?", recall_of(unworded))


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=600), words=st.text(max_size=1200), name=st.text(max_size=60), count=st.integers(0, 6))
async def test_hostile_words_stay_one_bounded_line_in_their_quote(text: str, words: str, name: str, count: int) -> None:
    mallory = Viewer(id="6", login="mallory", name=name)
    items = [item(words + str(index), subject=mallory, author=mallory) for index in range(count)]
    recall = recall_of(*items, plan=Plan(explicit_recall=True), history=[past_line(words, mallory)])
    said = await say(f"ricordo {text}", recall, mallory)
    assert not set("\n\r\x00\u2028") & set(said)


@pytest.mark.parametrize(
    ("day", "it", "en"),
    [
        (datetime(2026, 2, 12, 1, tzinfo=UTC), "oggi", "today"),
        (datetime(2026, 2, 11, 23, tzinfo=UTC), "ieri", "yesterday"),
        (datetime(2026, 2, 8, tzinfo=UTC), "l'8 febbraio", "on 8 February"),
        (datetime(2026, 1, 1, tzinfo=UTC), "il 1º gennaio", "on 1 January"),
        (datetime(2024, 12, 11, tzinfo=UTC), "l'11 dicembre 2024", "on 11 December 2024"),
        (None, "tempo fa", "some time ago"),
    ],
)
def test_days_are_said_as_people_say_them(day: datetime | None, it: str, en: str) -> None:
    assert day_of(day, date(2026, 2, 12), "it") == it
    assert day_of(day, NOW.date(), "en") == en


@pytest.mark.parametrize(
    ("text", "otherwise", "language"),
    [
        ("come si chiama il mio gatto", "en", "it"),
        ("what is my cat called", "it", "en"),
        ("pizza", "it", "it"),
        ("pizza", "de", "en"),
        ("però", "en", "it"),
    ],
)
def test_language_is_voted_by_little_words(text: str, otherwise: str, language: str) -> None:
    assert language_of(text, otherwise) == language


def test_words_are_compared_by_what_they_carry() -> None:
    assert content_of("Dove vive il gatto?") == content_of("i gatti vivono?") - {"vivon"} | {"viv"}
    assert content_of("do you remember my dogs") == content_of("dog")
    assert content_of("Zeno corre", without=["Zeno"]) == content_of("corre")
    assert words_of("L'è già\u200b qui") == ["l", "e", "gia", "qui"]


async def test_a_question_put_to_the_bot_before_is_no_answer_whatever_follows_it() -> None:
    asked_before = item("ciao ricordo, che lavoro faccio io? vediamo se ascoltavi", at=NOW)
    fact = item("lavoro in una serra", "profile", kind="fact")
    said = await say("ricordo e io adesso che lavoro faccio?", recall_of(asked_before, fact))
    assert "«lavoro in una serra»" in said
    assert "ascoltavi" not in said


@pytest.mark.parametrize("language", ["it", "en"])
def test_what_somebody_wrote_is_not_told_as_a_yes(language: str) -> None:
    assert not any(template.startswith(("Sì", "Yes")) for template in TEXTS[language].you_wrote)


async def test_where_no_word_is_shared_a_fact_goes_before_a_line_and_is_not_sworn_to() -> None:
    line = item("appena finite le prove", subject=ZENO, author=ZENO)
    fact = item("suono la viola a Ferrara", "profile", subject=ZENO, author=ZENO, kind="fact")
    said = await say("ricordo where does Zeno perform?", recall_of(line, fact))
    assert "suono la viola a Ferrara" in said
    assert said.startswith(TEXTS["en"].perhaps)


@pytest.mark.parametrize("language", ["it", "en"])
def test_every_template_reads_well_before_a_day(language: str) -> None:
    day = day_of(NOW, date(2020, 1, 1), language)
    for name in ("you_wrote", "they_wrote", "about_you", "about_them", "claim", "happened", "i_said"):
        for template in getattr(TEXTS[language], name):
            said = template.format(name="Ada", who="Zeno", when=day, what="«x»")
            assert not {"from on", "da il", "di il", "on on"} & set(
                map(" ".join, zip(said.split(), said.split()[1:], strict=False))
            )
