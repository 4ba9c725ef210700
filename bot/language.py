"""Which of the bot's languages a message is in, and which of its words carry meaning. Small word lists, no model."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from bot.plain import plain

LANGUAGES: Final = ("it", "en")
STEM = 6  # letters that a word keeps for comparing, less its ending: enough to join the forms of both languages

_ITALIAN = """
a ad ai al alla alle allo anche ancora avete aveva ce che chi ci ciao cio come con cosa cos cui da dai dal dalla dalle
dei del della delle dello di dimmi dove e era ero fa fai fatto fosse gia gli grazie ha hai hanno ho i il in io la le
lei li lo loro lui ma me mi mia mie miei mio ne nei nel nella noi non nostro o per perche piu poi puoi qual quale
quali quand quando quanti quanto quella quelle quelli quello questa queste questi questo sa sai se sei senti si so
sono sta stai stata stato su sua sue sul sulla suo te ti tra tu tua tue tuo tuoi un una uno va vai vi voi vostro
"""
_ENGLISH = """
a about am an and any are as at be been but by can could did do does for from had has have he hello her hey hi him his
how i if in is it its know let like me mine my no not of on or our say she should so some tell than thank thanks that
the their them then there these they this those to us was we were what when where which who whom whose why will with
would yes you your
"""
_ITALIAN_SIGNS = (
    "buongiorno buonasera buonanotte notte salve ehila arrivederci ricordati ricordi oggi ieri domani mille tutti sempre mai"
)
_ENGLISH_SIGNS = (
    "good morning evening night goodnight bye goodbye please remember today yesterday tomorrow everyone always never yo"
)
_SIGNS: Final = {"it": frozenset(_ITALIAN_SIGNS.split()), "en": frozenset(_ENGLISH_SIGNS.split())}  # tell the language only
_STOP: Final = {"it": frozenset(_ITALIAN.split()), "en": frozenset(_ENGLISH.split())}
_VERBS_OF_MEMORY: Final = frozenset(
    {"ricord", "rememb", "recall", "sapp", "diment", "forget", "dic", "dett", "diss", "scritt", "said", "wrot", "told"}
)
_ACCENTED = re.compile(r"[àèéìòù]")


def words_of(text: str) -> list[str]:
    """Return the words of `text`, folded: lower case, no accents, no marks, apostrophes part words."""
    bare = "".join(letter for letter in unicodedata.normalize("NFD", plain(text)) if not unicodedata.combining(letter))
    return re.findall(r"[^\W_]+", bare)


def language_of(text: str, otherwise: str) -> str:
    """Return the language whose little words are more frequent in `text`, `otherwise` where that does not decide."""
    words = words_of(text)
    votes = {language: sum(word in _STOP[language] or word in _SIGNS[language] for word in words) for language in LANGUAGES}
    votes["it"] += len(_ACCENTED.findall(plain(text)))
    if votes["it"] != votes["en"]:
        return max(LANGUAGES, key=lambda language: votes[language])
    return otherwise if otherwise in LANGUAGES else "en"


def content_of(text: str, without: Iterable[str] = ()) -> frozenset[str]:
    """Return the beginnings of the words that carry meaning: no little words, none about remembering, none of `without`."""
    aside = {_stem(word) for name in without for word in words_of(name)}
    stems = {_stem(word) for word in words_of(text) if len(word) > 1 and not any(word in stop for stop in _STOP.values())}
    return frozenset(stems - aside - _VERBS_OF_MEMORY)


def _stem(word: str) -> str:
    return word[:STEM].rstrip("s").rstrip("aeiou") or word
