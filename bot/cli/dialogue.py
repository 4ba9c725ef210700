"""Questions on a terminal, or answered by a script through standard input: asked again until the answer will do."""

import getpass
import re
import sys
from collections.abc import Callable

from bot.cli.login_texts import Language
from bot.cli.setup_texts import TEXTS, YES
from bot.cli.shell import CommandFailed, Exit, out
from bot.cli.terminal import printable

Check = Callable[[str], tuple[str, str]]  # an answer becomes what is meant, or "" and the name of what is wrong with it
_NAME = re.compile(r"[a-z0-9_]{3,25}")
_CLIENT = re.compile(r"[a-z0-9]{5,64}")


class Dialogue:
    """Asks in one language. Secrets are typed unseen, are never a default, and never repeated."""

    def __init__(self, language: Language) -> None:
        """Take the language; it may change."""
        self.language: Language = language
        self.written = False  # whether anything of the answers was written already

    def tell(self, name: str, **values: object) -> None:
        """Print a text."""
        out.print(self.text(name, **values), markup=False)

    def text(self, name: str, **values: object) -> str:
        """Return a text."""
        return TEXTS[name][self.language].format(**values)

    def ask(self, name: str, check: Check, *, default: str = "", **values: object) -> str:
        """Return an answer that will do; an empty one is the default.

        Raises:
            CommandFailed: there are no more answers.
        """
        while True:
            out.print(f"{self.text(name, **values)}{f' [{printable(default)}]' if default else ''}: ", end="", markup=False)
            given = self._line().strip() or default
            meant, wrong = check(given)
            if not wrong:
                return meant
            self.tell(wrong)

    def secret(self, name: str) -> str:
        """Return a secret, which is not shown while it is typed; it may be empty."""
        if sys.stdin.isatty():
            return getpass.getpass(f"{self.text(name)}: ").strip()
        out.print(f"{self.text(name)}: ", markup=False)
        return self._line().strip()

    def agrees(self, name: str, *, default: bool) -> bool:
        """Return whether the answer is yes."""
        yes, no = YES[self.language]

        def check(given: str) -> tuple[str, str]:
            first = given.casefold()[:1]
            return (first, "") if first in {yes, no} else ("", "yes_or_no")

        return self.ask(name, check, default=yes if default else no) != no

    def _line(self) -> str:
        line = sys.stdin.readline()
        if not line:
            out.print()
            raise CommandFailed(self.text("ended_written" if self.written else "ended"), Exit.USAGE)
        if not sys.stdin.isatty():
            out.print()
        return line


def twitch_name(given: str) -> tuple[str, str]:
    """Accept a login, also with @ or #, or as the channel's address."""
    name = given.casefold().removeprefix("https://").removeprefix("www.").removeprefix("twitch.tv/").strip("@#/ ")
    return (name, "") if _NAME.fullmatch(name) else ("", "name_wrong")


def client_id(given: str) -> tuple[str, str]:
    """Accept a client id."""
    return (given, "") if _CLIENT.fullmatch(given) else ("", "client_id_wrong")


def address(given: str) -> tuple[str, str]:
    """Accept an http address."""
    return (given, "") if re.fullmatch(r"https?://[^\s/]+\S*", given) else ("", "url_wrong")


def words(given: str) -> tuple[str, str]:
    """Accept anything but nothing, and no control characters."""
    return (given, "") if given and given.isprintable() else ("", "needed")
