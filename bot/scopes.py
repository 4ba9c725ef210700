"""What is asked of a Twitch account, and why: a scope a line, in both languages. Nothing that is not used is asked for.

`user:bot` of the bot and `channel:bot` of the broadcaster let the application itself write as the bot: Twitch then shows it as
a chat bot, and in a shared chat its words stay in this channel. That takes a client secret; without one neither is asked for.
"""

from dataclasses import dataclass
from typing import Literal

Role = Literal["bot", "broadcaster"]
MODERATED = "user:read:moderated_channels"
AS_BOT, LET_BOT = "user:bot", "channel:bot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One permission, and what it is for."""

    name: str
    why: dict[str, str]  # by language
    needed: bool = True  # without it the bot cannot run
    secret: bool = False  # of use only to an application with a client secret


BOT_SCOPES = (
    Scope(name="user:read:chat", why={"en": "read the chat of your channel", "it": "leggere la chat del tuo canale"}),
    Scope(name="user:write:chat", why={"en": "write its answers there", "it": "scriverci le sue risposte"}),
    Scope(
        name=MODERATED,
        why={
            "en": "see whether it is a moderator (`ricordo doctor` says so); --minimal leaves this out",
            "it": "vedere se è moderatore (lo dice `ricordo doctor`); --minimal ne fa a meno",
        },
        needed=False,
    ),
    Scope(
        name=AS_BOT,
        why={
            "en": "write as a chat bot, where you allow it by `ricordo login --broadcaster`; --minimal leaves this out",
            "it": "scrivere come chat bot, se lo permetti con `ricordo login --broadcaster`; --minimal ne fa a meno",
        },
        needed=False,
        secret=True,
    ),
)
BROADCASTER_SCOPES = (
    Scope(
        name=LET_BOT,
        why={
            "en": "let the bot write in your chat as a chat bot; it gives no power over the channel",
            "it": "far scrivere il bot nella tua chat come chat bot; non gli dà poteri sul canale",
        },
        secret=True,
    ),
)


def scopes_of(role: Role, *, minimal: bool = False, secret: bool = True) -> tuple[Scope, ...]:
    """Return what a login asks for in this role; `secret`: the application has a client secret."""
    wanted = BOT_SCOPES if role == "bot" else BROADCASTER_SCOPES
    return tuple(scope for scope in wanted if (scope.needed or not minimal) and (secret or not scope.secret))


def missing_scopes(role: Role, granted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the needed scopes that were not granted."""
    return tuple(scope.name for scope in scopes_of(role, minimal=True) if scope.name not in granted)
