"""A channel's folder on disk: made where there is none, and marked with whose memory lies in it."""

import json
from pathlib import Path

from memory import Channel, StoreUnavailable

CHANNEL_FILE = "channel.json"


def make_folder(directory: Path) -> None:
    """Make a folder where there is none.

    Raises:
        StoreUnavailable: it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"{directory} cannot be made: {error.strerror}. Choose another folder, or mend its rights"
        ) from None


def remember_channel(directory: Path, channel: Channel) -> None:
    """Write the channel's names beside its memory, so that the command line can say whose it is."""
    text = json.dumps({"id": channel.id, "login": channel.login, "name": channel.name}, ensure_ascii=False)
    (directory / CHANNEL_FILE).write_text(text + "\n", encoding="utf-8")
