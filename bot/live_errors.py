"""What can go wrong between the bot and Twitch. The texts never hold a secret.

LiveError
├── TokenFileUnsafe     others on this machine can read the tokens
├── TokenFileBroken     the file holds no tokens
├── EndpointRefused     a base URL that is not on this machine
├── LoginFailed         a login was denied, too late, or by another account
├── TwitchRefused       Twitch says no: token, scope, name, or a subscription that the bot cannot do without
├── TwitchUnreachable   no answer, or one that promises to be another later
└── TwitchDeaf          the chat could not be heard again after several attempts
"""


class LiveError(Exception):
    """Base of the live bot's errors. The text says what happened and what to do next, in Italian too where people log in."""

    def __init__(self, text: str, *, it: str = "") -> None:
        """Keep the Italian text beside the English one; without one, both are English."""
        super().__init__(text)
        self.it = it or text


class TokenFileUnsafe(LiveError):
    """Others on this machine can read the token file."""


class TokenFileBroken(LiveError):
    """The token file cannot be read, or holds no tokens."""


class EndpointRefused(LiveError):
    """A base URL other than Twitch's that is not on this machine."""


class LoginFailed(LiveError):
    """A login came to nothing: denied, too late, or another account; nothing was kept."""


class TwitchRefused(LiveError):
    """Twitch refuses the bot; trying again is useless."""


class TwitchUnreachable(LiveError):
    """Twitch cannot be reached; trying again later helps."""


class TwitchDeaf(LiveError):
    """The chat cannot be heard any more."""
