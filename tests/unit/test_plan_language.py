"""How chat asks, in both languages: invented sentences for each kind of question, none of them from any data set."""

import pytest
from builders_plan import about, plan_for, sources

OWN = (
    "nuvola a che ora mi sveglio di solito?",
    "nuvola qual è il mio piatto preferito",
    "nuvola ti ricordi che auto guido?",
    "nuvola da quanto tempo suono il violino",
    "nuvola quanti figli ho",
    "nuvola dove ho studiato",
    "nuvola cosa bevo la mattina",
    "nuvola con chi vado in vacanza?",
    "nuvola mia sorella come si chiama",
    "nuvola in che squadra gioco",
    "nuvola sono allergico a qualcosa?",
    "nuvola di che segno sono",
    "nuvola che taglia porto di scarpe",
    "nuvola mi sono sposato o no?",
    "nuvola quando compio gli anni",
    "nuvola ho ancora il gatto?",
    "nuvola secondo te cosa mi regalo?",
    "nuvola sai dirmi che strumento suono?",
    "nuvola quando mi opero al ginocchio",
    "nuvola che esame devo dare?",
    "nuvola vivo ancora a Bari?",
    "nuvola mi piace il sushi?",
    "nuvola odio qualcosa in particolare?",
    "nuvola quanto sono alto",
    "nuvola come mi guadagno da vivere",
    "nuvola chi mi aspetta a casa",
    "nuvola posso bere latte?",
    "nuvola cosa dovrei evitare al ristorante",
    "nuvola da dove scrivo",
    "nuvola per chi tifo?",
    "nuvola che corso frequento",
    "nuvola dove lavora mia madre",
    "nuvola hai idea di quando parto per Lisbona",
    "nuvola ma tu lo sai quante lingue parlo",
    "nuvola quale console possiedo",
    "nuvola mi conviene prendere il gelato alla nocciola?",
    "nuvola in che anno mi sono diplomato",
    "nuvola i miei hobby?",
    "nuvola il mio compleanno?",
    "nuvola che tipo di musica ascolto",
    "nuvola come va la mia schiena? te ne avevo parlato",
    "nuvola where am i from",
    "nuvola what do i do for work",
    "nuvola whats my favourite food",
    "nuvola how many kids do i have",
    "nuvola when is my birthday",
    "nuvola do i own a car",
    "nuvola which team do i root for",
    "nuvola did i finish my degree",
    "nuvola is my sister older than me",
    "nuvola whats the name of my boat",
    "nuvola how tall am i",
    "nuvola remind me when i fly to lisbon",
    "nuvola what instrument do i play again",
    "nuvola would a peanut bar be ok for me",
    "nuvola have i got any pets",
    "nuvola any idea what im studying",
    "nuvola where did i go on holiday",
    "nuvola who do i live with",
    "nuvola am i vegan",
    "nuvola what was my old job",
    "nuvola how long have i been married",
    "nuvola whats waiting for me at home",
    "nuvola my mum lives where",
    "nuvola tell me my shoe size",
    "nuvola could i have the nut cake",
    "nuvola what time do i usually get up",
    "nuvola should i order the prawns",
    "nuvola who am i cheering for this season",
    "nuvola what did i have for breakfast this morning",
    "nuvola which console is mine",
    "nuvola how did my exam go",
    "nuvola i forgot what i told you about my knee, what was it",
    "nuvola so whats wrong with my back",
    "nuvola what languages do i speak",
)
ORDINARY = (
    "nuvola buongiorno",
    "nuvola come butta",
    "nuvola quanto fa 7 per 8",
    "nuvola che ore sono",
    "nuvola chi ha inventato la radio?",
    "nuvola raccontami una barzelletta sui pesci",
    "nuvola cos'è un buco nero?",
    "nuvola consigliami un film",
    "nuvola come si fa la carbonara?",
    "nuvola metti una canzone",
    "nuvola grande",
    "nuvola che tempo fa domani a Roma?",
    "nuvola good evening",
    "nuvola whats 7 times 8",
    "nuvola who invented the radio",
    "nuvola what is a black hole?",
    "nuvola recommend a movie",
    "nuvola how do you cook rice",
    "nuvola whats the weather like",
    "nuvola nice one",
    "nuvola hahaha",
    "nuvola sing a song",
    "nuvola what year is it",
    "nuvola is water wet",
    "nuvola gg",
    "nuvola lol same",
    "ma che ne so io",
    "io vado a dormire",
    "my dog is barking again",
    "@rosalba_t dove vivi?",
    "who won?",
    "i live in rome",
    "chi vince oggi secondo voi?",
    "nuvola ahahah questa era bella",
    "nuvola thanks",
    "nuvola grazie mille!",
    "nuvola i love you",
    "nuvola ti voglio bene",
    "nuvola sei la migliore",
    "nuvola you are so funny",
    "nuvola saluta mia mamma",
    "nuvola say hi to my mum",
)
EVENTS = (
    "nuvola cosa è successo al minuto venti",
    "nuvola chi ha vinto il torneo",
    "nuvola com'è finita la scommessa di ombretta",
    "nuvola di che si parlava quando sono arrivato",
    "nuvola mi racconti l'inizio della live?",
    "nuvola che è successo mentre ero a cena",
    "nuvola l'ultima volta come era andata a finire?",
    "nuvola chi ci ha raidato la settimana scorsa",
    "nuvola perché rosalba era arrabbiata prima?",
    "nuvola qual era la penitenza di seppiastorta?",
    "nuvola che fine ha fatto la barca di sabato scorso",
    "nuvola nella scorsa live chi cantava?",
    "nuvola chi aveva proposto il gioco nuovo?",
    "nuvola what happened while i was away",
    "nuvola who won the tournament",
    "nuvola how did the bet end",
    "nuvola what did the raiders do last week",
    "nuvola why was everyone yelling at the start",
    "nuvola what was the punishment for losing",
    "nuvola who raided us last stream",
    "nuvola what was the plan we made on the first stream",
    "nuvola come abbiamo battezzato la barca?",
    "nuvola dove avevamo nascosto il tesoro?",
    "nuvola which boss killed us earlier",
    "nuvola who came up with that name for the boat",
    "nuvola what were we laughing about before the break",
    "nuvola previously who was in the lead",
)
# Said of nobody and not clearly of the world: taste or life of who asks may answer it.
MAYBE_OWN = {
    "nuvola come butta",
    "nuvola quanto fa 7 per 8",
    "nuvola raccontami una barzelletta sui pesci",
    "nuvola consigliami un film",
    "nuvola recommend a movie",
    "nuvola perché il cielo è blu?",
    "nuvola why is the sky blue?",
    "nuvola best pizza topping?",
    "nuvola meglio mare o montagna?",
    "nuvola pizza or pasta?",
    "nuvola chi vincerà secondo te?",
    "nuvola who will win?",
    "nuvola when does the new season come out",
    "nuvola is this game hard?",
    "nuvola questo gioco è difficile?",
    "nuvola quanti continenti ci sono",
}
MORE_ORDINARY = (
    "nuvola io vivo a Bari",
    "nuvola my dog is called Rex",
    "nuvola quando ero piccolo avevo un cane",
    "nuvola when i was a kid i had a dog",
    "nuvola ho finito il lavoro adesso",
    "nuvola i just got a new job",
    "nuvola mi sa che piove",
    "nuvola stasera mi sento stanco",
    "nuvola what a day",
    "nuvola what an idiot",
    "nuvola che bello",
    "nuvola che giornata assurda",
    "nuvola come sei carina",
    "nuvola how cute",
    "nuvola dove sei?",
    "nuvola are you there?",
    "nuvola you ok?",
    "nuvola ci sei?",
    "nuvola perché il cielo è blu?",
    "nuvola why is the sky blue?",
    "nuvola best pizza topping?",
    "nuvola meglio mare o montagna?",
    "nuvola pizza or pasta?",
    "nuvola will it rain tomorrow",
    "nuvola traduci ciao in inglese",
    "nuvola translate hello to french",
    "nuvola wow",
    "nuvola no",
    "nuvola what do you think of this song?",
    "nuvola cosa ne pensi di questa canzone?",
    "nuvola chi vincerà secondo te?",
    "nuvola who will win?",
    "nuvola can you help",
    "nuvola when does the new season come out",
    "nuvola is this game hard?",
    "nuvola questo gioco è difficile?",
    "nuvola quanti continenti ci sono",
    "nuvola rosalba ti saluta",
    "nuvola say hello to rosalba",
)
STATE = (
    ("nuvola a che punto è la mia richiesta", "request"),
    ("nuvola ho ancora richieste aperte?", "request"),
    ("nuvola what did i request", "request"),
    ("nuvola is the map i asked for done yet", "request"),
    ("nuvola c'è qualche promemoria per stasera?", "note"),
    ("nuvola chi deve portare le patatine?", "note"),
    ("nuvola did you note down who brings the chips?", "note"),
    ("nuvola any reminders for me", "note"),
    ("nuvola chi è il mio compagno di squadra", "relation"),
    ("nuvola rosalba e seppiastorta sono parenti?", "relation"),
    ("nuvola are quartz and tamburino cousins?", "relation"),
    ("nuvola who am i teamed up with", "relation"),
    ("nuvola qual era il meme della papera", "joke"),
    ("nuvola what was the inside joke about the duck", "joke"),
    ("nuvola ogni quanto andate in live?", "channel"),
    ("nuvola quando sei in live la prossima volta", "channel"),
    ("nuvola a che ora comincia la live di solito", "channel"),
    ("nuvola whats the stream schedule", "channel"),
    ("nuvola when is the next stream", "channel"),
    ("nuvola chi sono i mod qui?", "channel"),
    ("nuvola who are the mods here", "channel"),
    ("nuvola is spoiling against the rules?", "channel"),
    ("nuvola avete un discord?", "channel"),
)
PERSONA = (
    "nuvola quanti anni hai?",
    "nuvola chi sono i tuoi genitori?",
    "nuvola qual è il tuo colore preferito",
    "nuvola hai fratelli?",
    "nuvola ti piace il mare?",
    "nuvola come sei nata",
    "nuvola what is your favourite colour",
    "nuvola do you have siblings",
    "nuvola do you like the sea?",
    "nuvola where do you live",
    "nuvola what do you hate most",
    "nuvola are you human",
    "nuvola do you ever sleep",
    "nuvola raccontami di te",
    "nuvola tell me about yourself",
)
NAMED = (
    ("nuvola rosalba ha figli?", "3"),
    ("nuvola che mestiere fa @seppiastorta", "4"),
    ("nuvola quando è il compleanno di rosalba", "3"),
    ("nuvola cosa sai di rosalba?", "3"),
    ("nuvola what do you know about quartz", "5"),
    ("nuvola does quartz have pets", "5"),
    ("nuvola whats tamburinos job", "7"),
    ("nuvola is @rosalba_t allergic to anything", "3"),
    ("nuvola where is seppia from", "4"),
    ("nuvola a rosalba posso offrire le noci?", "3"),
    ("nuvola can i offer quartz some nuts", "5"),
    ("nuvola ricordami dove abita rosalba", "3"),
    ("nuvola who's quartz's boss", "5"),
    ("nuvola rosalba è vegana vero?", "3"),
    ("nuvola hey so rosalba is vegan right?", "3"),
    ("nuvola what did rosalba say about her job", "3"),
)


@pytest.mark.parametrize("text", OWN)
def test_a_question_about_oneself_reaches_ones_own_memory(text: str) -> None:
    plan = plan_for(text)
    assert about(plan) == {"2"}
    assert plan.asks_memory


@pytest.mark.parametrize("text", sorted({*ORDINARY, *MORE_ORDINARY} - MAYBE_OWN))
def test_small_talk_and_questions_about_the_world_reach_no_memory(text: str) -> None:
    assert plan_for(text).requests == ()


@pytest.mark.parametrize("text", sorted(MAYBE_OWN))
def test_a_question_that_may_be_about_its_author_asks_their_memory_quietly(text: str) -> None:
    plan = plan_for(text)
    assert about(plan) == {"2"}
    assert not any(name.startswith("stream:") for name in sources(plan))
    assert not plan.asks_memory  # nothing found is nothing to tell


@pytest.mark.parametrize("text", EVENTS)
def test_a_question_about_what_happened_reaches_the_streams(text: str) -> None:
    assert any(name.startswith("stream:") for name in sources(plan_for(text)))


@pytest.mark.parametrize(("text", "domain"), STATE)
def test_a_question_about_records_reaches_their_domain(text: str, domain: str) -> None:
    assert any(domain in request.domains for request in plan_for(text).requests)


@pytest.mark.parametrize("text", PERSONA)
def test_a_question_about_the_bot_reaches_its_canon_alone(text: str) -> None:
    assert sources(plan_for(text)) == {"lore"}


@pytest.mark.parametrize(("text", "viewer"), NAMED)
def test_a_question_about_somebody_named_reaches_their_memory(text: str, viewer: str) -> None:
    assert viewer in about(plan_for(text))


@pytest.mark.parametrize(
    "text",
    [
        "nuvola which prize did the jury give me?",  # "give me" is no courtesy where somebody gives
        "nuvola does garlic suit me or not",
        "nuvola who taught me the drums?",
        "nuvola did the coach pick me",
    ],
)
def test_what_others_do_to_the_author_is_about_the_author(text: str) -> None:
    assert about(plan_for(text)) == {"2"}


@pytest.mark.parametrize(
    "text", ["nuvola give me a joke about cats", "nuvola let me think, is it raining?", "nuvola trust me on this?"]
)
def test_courtesies_and_set_phrases_are_not_about_the_author(text: str) -> None:
    plan = plan_for(text)
    assert not plan.asks_memory
    assert {request.why for request in plan.requests if request.viewer_id} <= {"may be about who writes it"}


@pytest.mark.parametrize(
    "text",
    [
        "nuvola which weekend will they finally show it? what day?",
        "nuvola in che mese si va a ritirarla?",
        "nuvola quando peut-on visiter notre petit atelier?",
        "nuvola welches instrument habe ich gelernt?",
    ],
)
def test_a_question_that_names_nobody_and_may_be_about_its_author_asks_quietly(text: str) -> None:
    plan = plan_for(text)
    assert about(plan) == {"2"}
    assert not plan.asks_memory  # it may need no memory at all: not knowing is no answer then
    assert any("names the bot" in reason for reason in plan.reasons)


@pytest.mark.parametrize("text", ["nuvola when does winter begin in norway", "nuvola in che mese fioriscono i mandorli?"])
def test_a_question_after_a_date_of_the_world_is_no_question_to_the_memory(text: str) -> None:
    plan = plan_for(text)
    assert not plan.asks_memory
    assert not any(name.startswith("stream:") for name in sources(plan))
