"""What is asked of a Twitch account, and why: a scope a line, in both languages. Nothing that is not used is asked for."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["bot", "broadcaster"]
MODERATED = "user:read:moderated_channels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One permission, and what it is for."""

    name: str
    why: dict[str, str]  # by language
    needed: bool = True  # without it the bot cannot run


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
)
BROADCASTER_SCOPES = (
    Scope(
        name="channel:bot",
        why={
            "en": "let the bot take part in your chat as a bot; it gives no power over the channel",
            "it": "far partecipare il bot alla tua chat come bot; non gli dà poteri sul canale",
        },
    ),
)


def scopes_of(role: Role, *, minimal: bool = False) -> tuple[Scope, ...]:
    """Return what a login asks for in this role."""
    wanted = BOT_SCOPES if role == "bot" else BROADCASTER_SCOPES
    return tuple(scope for scope in wanted if scope.needed or not minimal)


def missing_scopes(role: Role, granted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the needed scopes that were not granted."""
    return tuple(scope.name for scope in scopes_of(role, minimal=True) if scope.name not in granted)
