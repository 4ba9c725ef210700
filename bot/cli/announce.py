"""What `ricordo run` says to the person who started it, beside its log: that it is live, where, and how to stop it."""

from bot.account import Account
from bot.cli.language import chosen
from bot.cli.login_texts import Language
from bot.cli.shell import out
from bot.cli.terminal import printable
from config.settings import Settings

CONNECTING: dict[Language, str] = {"en": "connecting to Twitch …", "it": "mi collego a Twitch …"}
LIVE: dict[Language, str] = {
    "en": "{bot} is live in #{channel}. Ctrl+C stops it; `ricordo top` in another terminal shows what it does.",
    "it": "{bot} è in diretta su #{channel}. Ctrl+C lo ferma; `ricordo top` in un altro terminale mostra cosa fa.",
}
DRY: dict[Language, str] = {
    "en": "It only listens: manners.dry_run is on, and nothing is posted.",
    "it": "Ascolta soltanto: manners.dry_run è attivo, e non scrive nulla.",
}


class Announcer:
    """Prints to a terminal; a file or a supervisor gets the log alone."""

    def __init__(self, settings: Settings) -> None:
        """Take the language, and whether anything will be posted."""
        self._language = chosen("", settings)
        self._dry = settings.manners.dry_run
        if out.is_terminal:
            out.print(CONNECTING[self._language], style="dim", markup=False)

    def __call__(self, account: Account) -> None:
        """Say who is live, and where."""
        if not out.is_terminal:
            return
        names = {"bot": printable(account.bot.name, 40), "channel": printable(account.channel.login, 40)}
        out.print(LIVE[self._language].format(**names), style="bold green", markup=False)
        if self._dry:
            out.print(DRY[self._language], style="bold yellow", markup=False)
