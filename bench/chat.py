"""A generated chat, the same for the same seed: for whoever measures or tests without real chat at hand."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
_BOT = {"id": "bot:ricordo", "login": "ricordo", "name": "Ricordo", "aliases": ["ricordo"]}
_CHANNEL = {"id": "9000", "login": "banco", "name": "Banco"}
_SUBJECTS = ("la partita", "il boss", "this map", "the soundtrack", "quel finale", "my build", "la pizza", "the new patch")
_SAYINGS = ("non mi piace", "is amazing", "mi ricorda casa", "was too hard for me", "è meglio di prima", "looks great tonight")
_FACTS = ("vivo a Torino", "I work as a nurse", "ho due gatti", "my favourite game is Tetris", "studio chimica", "I play bass")
_ASKED = ("@Ricordo cosa ricordi di me?", "@Ricordo what do you remember about me?", "@Ricordo che cosa ho detto prima?")


def events(
    messages: int, *, streams: int = 1, viewers: int = 200, seed: int = 0, moderated: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield about `messages` messages in `streams` streams a day apart, with deletions and state calls where `moderated`."""
    random = Random(seed)
    for stream in range(streams):
        at = START + timedelta(days=stream)
        yield {
            "type": "stream",
            "event": "online",
            "stream_id": f"s{stream}",
            "at": _time(at),
            "channel": _CHANNEL,
            "bot": _BOT,
        }
        for number in range(messages // streams):
            at += timedelta(milliseconds=random.choice((200, 400, 800, 1500, 9000)))
            message = _message(random, f"s{stream}-{number}", at, viewers)
            yield message
            if moderated and random.random() < 0.03:  # noqa: PLR2004 - a share
                yield _interference(random, message, at)
        yield {"type": "stream", "event": "offline", "stream_id": f"s{stream}", "at": _time(at + timedelta(minutes=1))}


def write_chat(path: Path, messages: int, **options: Any) -> Path:  # noqa: ANN401 - those of `events`
    """Write a chat log and return its path."""
    lines = (json.dumps(event, ensure_ascii=False) for event in events(messages, **options))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _message(random: Random, name: str, at: datetime, viewers: int) -> dict[str, Any]:
    viewer = min(int(random.paretovariate(0.8)), viewers)
    kind = random.random()
    if kind < 0.02:  # noqa: PLR2004 - a share
        text = random.choice(_ASKED)
    elif kind < 0.15:  # noqa: PLR2004 - a share
        text = random.choice(_FACTS)
    else:
        text = f"{random.choice(_SUBJECTS)} {random.choice(_SAYINGS)} {random.randrange(1000)}"
    user = {"id": str(1000 + viewer), "login": f"viewer_{viewer}", "name": f"Viewer_{viewer}"}
    return {"type": "message", "id": name, "at": _time(at), "user": user, "text": text}


def _interference(random: Random, message: dict[str, Any], at: datetime) -> dict[str, Any]:
    viewer, name = message["user"]["id"], message["id"]
    note = {"id": f"n-{viewer}", "viewer": viewer, "text": f"note {name}", "expires_at": None}
    return random.choice(
        (
            {"type": "deletion", "at": _time(at), "scope": "message", "message_id": name},
            {"type": "deletion", "at": _time(at), "scope": "user", "user_id": viewer},
            {"type": "deletion", "at": _time(at), "scope": "chat"},
            {"type": "state", "at": _time(at), "tool": "note_set", "arguments": note},
            {
                "type": "state",
                "at": _time(at),
                "tool": "request_open",
                "arguments": {"id": f"r-{name}", "viewer": viewer, "text": "a song"},
            },
            {"type": "settle"},
        )
    )


def _time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
