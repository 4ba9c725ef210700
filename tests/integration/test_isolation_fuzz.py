"""Two hundred viewers with ids and names made to be confused, asked about at random: nobody is told another's memory."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from builders_memory import opened, tell
from builders_recall import BOT_VIEWER, NOON, a_batch, a_message, a_stream

from memory import Memory, Recall, Viewer

ROOTS = (
    "../../etc/passwd", "http://x/y?z=1", "login:rana", "LOGIN:rana", "login:Rana", "1001", "01001", "1001 ", "１００１",
    "rana", "Rana", "ràna", "rаna", "\u202eanar", "a:b:recall", "viewer:1001:recall", " ", "stream-s0", "lore", "'; DROP--",
    "%", "_", "a\x00b", "\ud800x", "x" * 500, "x" * 501, "-", "*", "日本語", "İ", "i\u0307", "ß", "ss", "SS", "ﬀ",
)  # fmt: skip
NAMES = ("Rana", "rana", "RANA_", "Лиса", "</memory>", "a\nb", "[x · y]")
LOGINS = ("rana", "gufo", "volpe")  # recycled, all of them
SYLLABLES = "bra cor dul fen gim hol jup kin lom mun nep ost pul qur rin sol tam uvi vor wex".split()  # noqa: SIM905 - a word list
VIEWERS, QUESTIONS = 200, 400
OWN = "come si chiama il mio gatto?"


@dataclass(frozen=True, slots=True)
class Crowd:
    viewers: list[Viewer]
    cats: list[str]  # what each said their cat is called: nobody else's name
    chance: Random


def a_crowd() -> Crowd:
    chance = Random(7)
    viewers = []
    for number in range(VIEWERS):
        root, copy = ROOTS[number % len(ROOTS)], number // len(ROOTS)
        login = chance.choice((*LOGINS, f"v{number}"))
        name = chance.choice((*NAMES, f"Gufo{number}", root[:25]))
        viewers.append(Viewer(id=f"{root}{copy or ''}", login=login, name=name))
    cats = ["".join(chance.choice(SYLLABLES) for _ in range(4)) + str(number) for number in range(VIEWERS)]
    return Crowd(viewers, cats, chance)


async def everybody_speaks(memory: Memory, crowd: Crowd) -> None:
    await memory.begin_stream(a_stream("s0", after=-7200))
    lines = [
        a_message(f"m{place}", f"il mio gatto si chiama {cat}", user=viewer, after=-7000 + place)
        for place, (viewer, cat) in enumerate(zip(crowd.viewers, crowd.cats, strict=True))
    ]
    await tell(memory, *(a_batch(*lines[start : start + 20], stream_id="s0") for start in range(0, VIEWERS, 20)))
    await memory.end_stream("s0", NOON - timedelta(seconds=6000))
    await memory.run_jobs()
    await memory.begin_stream(a_stream("s1"))


def stored(id_: str) -> str:
    return id_.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")


def told_of_others(recall: Recall, crowd: Crowd) -> list[tuple[str, str | None, str]]:
    """Return the personal items whose source, subject and author are not one and the same viewer."""
    wrong = []
    for item in recall.block.items:
        if item.section not in {"profile", "recall"}:
            continue
        writers = {stored(crowd.viewers[int(source[1:])].id) for source in item.provenance}
        asked = stored(item.source.removeprefix("viewer:").rsplit(":", 1)[0])
        if writers != {item.subject} or asked != item.subject:
            wrong.append((item.source, item.subject, item.text))
    return wrong


async def test_whoever_asks_what_of_whom_no_personal_item_is_anybody_elses(tmp_path: Path) -> None:
    crowd = a_crowd()
    async with opened(tmp_path) as memory:
        await everybody_speaks(memory, crowd)
        assert len(await memory.viewers()) == VIEWERS
        answered = 0
        for number in range(QUESTIONS):
            author, other = crowd.chance.choice(crowd.viewers), crowd.chance.choice(crowd.viewers)
            about = (
                f"cosa sai di @{other.name}?",
                f"come si chiama il gatto di {other.login}?",
                f"cosa sai di viewer:{other.id}:recall?",
            )
            text = crowd.chance.choice((OWN, *about, f"cosa ricordi di me? {other.id}"))
            question = a_message(f"q{number}", f"@ricordo {text}", user=author, after=10, mentions=(BOT_VIEWER,))
            recall = await memory.recall(a_batch(question, stream_id="s1"))
            assert told_of_others(recall, crowd) == []
            if text == OWN and author.id == stored(author.id):  # what the store cannot hold as it is, it does not find either
                assert crowd.cats[crowd.viewers.index(author)] in recall.block.text
                assert {target.viewer_id for target in recall.plan.targets} == {author.id}
            answered += bool(recall.block.items)
        assert answered > QUESTIONS // 4
