"""How much a line says of its author."""

from dataclasses import replace

import pytest
from builders_plan import a_document

from memory.rules import load_rules
from memory.worthiness import FULL, Meaning, Weigher, ever_embedded, weighed, worth

RULES = load_rules(("it", "en"))


@pytest.mark.parametrize(
    "line",
    [
        "ciao!",
        "ahahah",
        "GG WP",
        "che lavoro faccio io?",
        "ciao bot, di dove sono? dimmi",
        "!forget me",
        "https://example.org/clip/abc",
        'my neighbour keeps saying "I was born on a boat" to all of us',
        "",
        "se fossi ricco comprerei un castello in collina",
        "i own a castle in the hills Kappa",
        "scherzavo, non ho mai avuto un castello in collina",
        "\x00\u202e \ud800 ?" * 50,
    ],
)
def test_what_says_nothing_of_its_author_is_worth_nothing(line: str) -> None:
    assert worth(line, RULES) == 0.0


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("io lavoro in una libreria vicino alla stazione", "bella partita oggi"),
        ("I repair bicycles in a small shop by the canal", "nice jump right there"),
        ("mi sono trasferito a Udine", "si sono trasferiti altrove"),
        ("il 12 marzo parto per Lisbona", "parto presto per qualche posto"),
        ("io lavoro in una libreria in centro", "IO LAVORO IN UNA LIBRERIA IN CENTRO"),
        ("mio zio vive in una casa sul fiume", 'mio zio dice sempre "chi vive in una casa sul fiume"'),
    ],
)
def test_what_tells_more_of_its_author_is_worth_more(more: str, less: str) -> None:
    assert worth(more, RULES) > worth(less, RULES)


def test_a_rich_line_has_the_full_worth_and_no_more() -> None:
    line = "io vivo a Trieste, lavoro al porto, suono il basso, ho 2 cani e colleziono francobolli rari da anni"
    assert worth(line, RULES) == pytest.approx(1.0)


def test_a_question_beside_a_statement_takes_nothing_from_it() -> None:
    assert worth("Il mio piatto preferito? Gnocchi con burro e salvia.", RULES) == worth("Gnocchi con burro e salvia.", RULES)


def test_one_quoted_word_is_no_quotation() -> None:
    assert not weighed('il mio nome è "Gigi" per tutti', RULES).quoting
    assert weighed("lei: «io vivo lontano»", RULES).quoting


def test_documents_come_in_the_order_of_their_worth() -> None:
    rich = a_document("io lavoro in una libreria vicino alla stazione", "rich")
    poor, fact = a_document("ciao", "poor"), a_document("Gigi vive a Bari", "fact", kind="fact")
    assert [name for name, _ in Weigher(RULES).by_worth([poor, rich, fact])] == ["fact", "rich", "poor"]


def test_a_turn_counts_by_its_richest_line() -> None:
    turn = a_document("A: lol\nB: ha vinto il fornaio contro il pescatore per punti", "t", kind="turn")
    assert dict(Weigher(RULES).by_worth([turn, replace(turn, id="u", text="A: lol")])) == {
        "t": pytest.approx(2.5 / FULL),
        "u": 0.0,
    }


def test_a_document_that_was_corrected_is_weighed_anew() -> None:
    weigher = Weigher(RULES, entries=1)
    first = a_document("ciao", "a")
    assert weigher.by_worth([first]) == [("a", 0.0)]
    assert weigher.by_worth([replace(first, text="io lavoro in una libreria vicino alla stazione")])[0][1] > 0.5
    assert weigher.by_worth([first]) == [("a", 0.0)]


def test_a_line_of_opening_quotes_is_weighed_at_once() -> None:
    """Were there several ways to divide the words, this would outlast the time limit of a test many times over."""
    for mark in "«“":
        assert not weighed(f"{mark} " * 1000, RULES).quoting
        assert not weighed(f"{mark} {'a ' * 998}", RULES).quoting
    assert weighed("ha detto «vivo in una torre» ieri", RULES).quoting
    assert not weighed("ha detto «due parole» ieri", RULES).quoting


@pytest.mark.parametrize(
    ("guess_put_right", "plain"),
    [
        ("no no, Ancona, quella sul mare!", "ciao a tutti, Ancona, quella sul mare!"),
        ("@bot nope, a village plumber", "@bot hello, a village plumber"),
        ("not really, northern Wales", "good morning, northern Wales"),
    ],
)
def test_a_guess_put_right_says_more_than_its_words(guess_put_right: str, plain: str) -> None:
    assert worth(guess_put_right, RULES) > worth(plain, RULES) > 0


@pytest.mark.parametrize(
    "text",
    [
        "basta mi trasferisco sulla luna domani",
        "giuro che vendo la macchina e divento un eremita",
        "ah certo, stirare camicie è la mia gioia",
        "thats it im quitting and joining a circus",
        "I swear I'm selling everything and becoming a monk",
    ],
)
def test_an_outburst_tells_nothing(text: str) -> None:
    assert worth(text, RULES) == 0


def test_a_message_that_says_nothing_of_its_author_has_no_meaning_to_embed() -> None:
    meaning = Meaning(RULES)
    assert meaning("message", "ciao!") == ()
    assert meaning("message", "io lavoro in una libreria vicino alla stazione") == (
        "io lavoro in una libreria vicino alla stazione",
    )


@pytest.mark.parametrize("kind", ["turn", "reply"])
def test_what_happened_means_its_telling_lines_without_their_names(kind: str) -> None:
    meaning = Meaning(RULES)
    assert meaning(kind, "Gigi: lol\nAda: ha vinto il fornaio: contro il pescatore\nraid of ninety viewers") == (
        "ha vinto il fornaio: contro il pescatore",
        "raid of ninety viewers",
    )
    assert meaning(kind, "Gigi: lol\nAda: ciao") == ()


def test_facts_and_canon_are_embedded_as_they_are() -> None:
    assert Meaning(RULES)("fact", "ok") == ("ok",)
    assert Meaning(RULES)("lore", "a\nb") == ("a\nb",)


@pytest.mark.parametrize(
    "text",
    [
        "odio i lunedì in ufficio, li odio, non ne posso più",
        "mi si è appena rotto il forno nuovo, odio le cene eleganti",
        "detesto questo frigorifero, giuro lo butto dalla finestra",
        "i hate plumbing with passion and i really hate wrenches",
        "just lost my whole save file again, i hate farming games",
        "hate this oven, im selling everything in the kitchen",
    ],
)
def test_what_is_said_in_anger_says_nothing_of_its_author(text: str) -> None:
    assert worth(text, RULES) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "l'anno scorso ho vinto il nobel per la pigrizia domestica",
        "il mio maggiordomo stira anche le calze della domenica",
        "faccio il cuoco del papa nei giorni festivi",
        "i won an oscar for best snoring last winter",
        "my butler polishes the private jet every morning",
        "being a billionaire gets boring after the third yacht",
    ],
)
def test_what_hardly_anybody_has_or_has_won_is_a_boast(text: str) -> None:
    assert worth(text, RULES) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "odio le olive verdi da quando ero piccolo",
        "ho vinto il torneo di bocce del paese",
        "mio zio guida un jet di linea della compagnia",
        "i hate olives since i was a kid",
        "i won the chili contest at our village fair",
        "just moved to leeds and i love the canals",
    ],
)
def test_plain_tastes_and_small_victories_count(text: str) -> None:
    assert worth(text, RULES) > 0.3


def test_whatever_rules_embed_of_a_document_is_among_what_may_have_been_embedded() -> None:
    meaning = Meaning(RULES)
    texts = (
        "Alba: ho una gatta che si chiama Birba",
        "vivo a Torino da dieci anni",
        "Alba: ho due gatti\nBrando: vivo a Bari da solo",
        "ok",
    )
    for kind in ("message", "line", "turn", "reply", "fact", "lore"):
        for text in texts:
            assert set(meaning(kind, text)) <= set(ever_embedded(kind, text))
