"""The sections of the configuration file that the chat notices first: its commands, and who answers."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from config.sections import Seconds, Section


class Commands(Section):
    """Chat commands."""

    prefix: Annotated[str, Field(min_length=1, max_length=3)] = Field(default="!", description="What a command begins with.")
    memory: tuple[str, ...] = Field(default=("memory", "memoria"), description="Words for: what is this bot?")
    whatdoyouknow: tuple[str, ...] = Field(
        default=("whatdoyouknow", "cosasai"), description="Words for: how much is known of me? Counts alone."
    )
    forgetme: tuple[str, ...] = Field(
        default=("forgetme", "dimenticami"), description="Words for: forget all that I wrote. Asked to be confirmed."
    )
    optout: tuple[str, ...] = Field(
        default=("optout", "nonricordarmi"), description="Words for: forget me, and store nothing of me any more."
    )
    optin: tuple[str, ...] = Field(default=("optin", "ricordami"), description="Words for: remember me again.")
    forget: tuple[str, ...] = Field(
        default=("forget", "dimentica"), description="Words for: forget @name [words], #id or last. Others' by moderators only."
    )
    correct: tuple[str, ...] = Field(
        default=("correct", "correggi"),
        description="Words for: correct @name old -> new, or #id text. Others' by moderators only.",
    )
    memories: tuple[str, ...] = Field(
        default=("memories", "ricordi"), description="Words for: how much is known of @name, with ids. Moderators only."
    )
    bot: tuple[str, ...] = Field(default=("bot",), description="Words for: on or off, be silent or speak. Moderators only.")
    state: tuple[str, ...] = Field(
        default=("state", "stato"),
        description="Words for: list, request, done, note, drop or set what is noted. Moderators only.",
    )
    wipe: tuple[str, ...] = Field(
        default=("wipe", "azzera"),
        description="Words for: forget everything of the channel. Broadcaster only.",
    )
    reload: tuple[str, ...] = Field(
        default=("reload", "ricarica"), description="Words for: read persona and canon anew. Broadcaster only."
    )
    confirm_seconds: Seconds = Field(
        default=60.0, description="Time to confirm that one wants to be forgotten, or everything wiped."
    )
    pause_seconds: Seconds = Field(default=2.0, description="Pause between two orders of one viewer; moderators are exempt.")
    language: Literal["it", "en"] = Field(default="it", description="Language of the answers to commands.")


class Persona(Section):
    """Who the bot is."""

    aliases: tuple[str, ...] = Field(
        default=(),
        description="Words by which chat addresses it, besides @login and name. Choose none that is also an everyday word.",
    )
    file: Path | None = Field(default=None, description="TOML file with its character; empty: the bundled one.")
    canon: Path | None = Field(
        default=None, description="Folder of its lore, one Markdown file an entry; empty: the bundled one."
    )
    languages: tuple[str, ...] = Field(
        default=("it", "en"), description="Language rules that are applied; all of them to every line."
    )
