"""What of an answer without a model tells something: the quotes, whatever stands around them."""

import pytest
from builders_llm import MARTA, ZENO, addressing, batch_of, item, message, recall_of

from bot.remembering import MemoryResponder


@pytest.mark.parametrize(
    ("text", "telling"),
    [
        ("come si chiama la gatta di Zeno?", "«la mia gatta si chiama Nerone»"),
        ("what is the gatta of Zeno called?", "“la mia gatta si chiama Nerone”"),
        ("what is the time?", ""),
        ("ciao!", ""),
    ],
)
async def test_an_answer_says_which_of_its_words_tell_something(text: str, telling: str) -> None:
    asked = message(f"ricordo {text}", MARTA, "m2")
    batch = batch_of(message("la mia gatta si chiama Nerone", ZENO), asked)
    assert (await MemoryResponder(addressing()).reply(batch, recall_of(), asked)).telling == telling


async def test_of_an_answer_to_several_all_quotes_tell_something() -> None:
    asked = message("ricordo come si chiama il mio gatto?", MARTA, "m1"), message("ricordo e il mio cane?", ZENO, "m2")
    recall = recall_of(item("il mio gatto si chiama Baffo"), item("il mio cane si chiama Rex", subject=ZENO, author=ZENO))
    answer = await MemoryResponder(addressing()).reply(batch_of(*asked), recall, asked[1], asked[:1])
    assert answer.telling == "«il mio gatto si chiama Baffo» «il mio cane si chiama Rex»"
