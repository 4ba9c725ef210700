"""The sections of the configuration file. Every field says what it does: the file and its documentation come from that."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, model_validator

Seconds = Annotated[float, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
SECRET: dict[str, JsonValue] = {"secret": True}  # kept out of the ordinary file, masked when shown


class Section(BaseModel):
    """A table of the file: unknown keys are refused, values never change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class Storage(Section):
    """Where the memory lives on disk."""

    data_dir: Path = Field(default=Path("data"), description="Folder of the memory; one sub-folder a channel. Back this up.")
    synchronous: Literal["normal", "full"] = Field(
        default="normal",
        description="SQLite durability. normal: survives every crash of the program, may lose the last seconds on power loss. "
        "full: survives power loss too, slower on busy disks.",
    )


class Log(Section):
    """What the program writes about itself (never chat text, never secrets)."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least important event that is written."
    )
    format: Literal["console", "json"] = Field(default="console", description="console for people, json for machines.")


class Twitch(Section):
    """The account and the channel. Without client_id, channel and a token the bot plays its bundled chat instead."""

    client_id: str = Field(default="", description="Client id of the application registered at dev.twitch.tv.")
    channel: str = Field(default="", description="Login of the channel to join, without #.")
    bot: str = Field(default="", description="Login of the bot's account. `ricordo login` takes no other.")
    redirect_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=17563,
        description="Port of the page here that a browser is sent back to: register http://localhost:PORT. 0: a free one.",
    )
    token_file: Path = Field(default=Path("twitch-tokens.json"), description="Where tokens are (mode 0600), in data_dir.")
    client_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Client secret. Environment or secrets file only.",
        json_schema_extra=SECRET,
    )
    access_token: SecretStr = Field(
        default=SecretStr(""),
        description="User token of the bot account, for a first start. Environment or secrets file only.",
        json_schema_extra=SECRET,
    )
    refresh_token: SecretStr = Field(
        default=SecretStr(""),
        description="Refresh token of the bot account. Environment or secrets file only.",
        json_schema_extra=SECRET,
    )
    notices: bool = Field(default=True, description="Also read subscriptions, raids, announcements and other notices.")
    moderation: bool = Field(default=True, description="Also follow deletions, time-outs, clears; erase what they remove.")
    shared_chat: bool = Field(
        default=False,
        description="In a shared chat, also remember and answer what is written in the other channels. Their viewers "
        "did not choose this bot: ask them first.",
    )
    watchdog_seconds: float = Field(
        default=45.0,
        ge=0.05,
        description="How often the bot looks whether it still hears everything, and mends what it does not.",
    )
    api_url: str = Field(default="", description="Loopback address of a stand-in for Twitch, for tests; empty: Twitch itself.")


class Batching(Section):
    """When chat lines are put together into one turn."""

    size: Positive = Field(default=20, description="Lines that close a batch.")
    quiet_seconds: Seconds = Field(default=4.0, description="Silence that closes a batch.")
    longest_wait_seconds: Seconds = Field(default=15.0, description="Longest time a line waits in an open batch.")
    addressed_grace_seconds: Seconds = Field(default=0.8, description="How long a line to the bot waits for its second half.")


class History(Section):
    """The working history: the tail of the current stream."""

    messages: Positive = Field(default=30, description="Lines of the current stream that the model sees verbatim.")


class Planner(Section):
    """Who and what a turn looks for."""

    viewers: Positive = Field(default=3, description="Viewers whose memory is asked in one turn.")
    viewers_max: Positive = Field(default=5, description="The same, where more are named outright.")
    viewer_ranking: bool = Field(
        default=True, description="Score viewers by their signals; off: take them in order of appearance."
    )
    greeting_hours: Amount = Field(
        default=0.0, description="Show what is known of who writes for the first time in so many hours, unasked; 0: never."
    )
    coverage_check: bool = Field(
        default=True, description="Search nothing where the history already holds what is asked about."
    )

    @model_validator(mode="after")
    def _nested(self) -> "Planner":
        if self.viewers > self.viewers_max:
            message = "viewers must not exceed viewers_max"
            raise ValueError(message)
        return self


class Retrieval(Section):
    """Where the memory looks, how much it takes, and how long it may take."""

    source_seconds: Seconds = Field(default=0.6, description="Deadline of one source. Must be below retrieve_seconds.")
    retrieve_seconds: Seconds = Field(
        default=0.8, description="Deadline of all sources together. Must be below recall_seconds."
    )
    recall_seconds: Seconds = Field(default=1.0, description="Deadline of the whole memory stage.")
    sources: tuple[Literal["profile", "recall", "episode", "lore", "state"], ...] = Field(
        default=("profile", "recall", "episode", "lore", "state"), description="Places to look."
    )
    channels: tuple[Literal["dense", "lexical", "exchange", "graph", "recency", "worth", "taken_back"], ...] = Field(
        default=("dense", "lexical", "exchange", "recency", "worth", "taken_back"),
        description="Ways to look inside a place. exchange: what a line answers; graph: who shares something; taken_back: "
        "what was said right behind a line.",
    )
    viewer_hits: Positive = Field(default=3, description="Hits shown of one viewer's memory at most.")
    episode_hits: Positive = Field(default=3, description="Passages of streams shown at most.")
    claim_hits: Count = Field(
        default=2, description="Claims of others shown about a viewer whose own memory has no answer; 0: never."
    )
    lore_hits: Positive = Field(default=2, description="Entries of the canon shown at most.")
    state_hits: Positive = Field(default=6, description="Records of structured state shown at most.")
    gap: Share = Field(
        default=0.3,
        description="Without a chance to answer: a source is cut where its scores fall by this part of the best one.",
    )
    dense_floor: float = Field(
        default=0.18, description="Without a chance to answer: cosine below which a hit counts for nothing."
    )
    lexical_floor: Weight = Field(
        default=3.0, description="The same: BM25 score below which a hit among a viewer's own words counts for nothing."
    )
    fused_floor: Weight = Field(default=0.0, description="The same: fused score below which nothing is returned.")
    least_chance: Share = Field(default=0.09, description="Calibrated fusion: chance to answer from which a hit is shown.")
    answer_chance: Share = Field(default=0.09, description="The same for the best hit of a place, or it shows nothing at all.")
    unsure_chance: Share = Field(
        default=0.52,
        description="Chance that nothing found answers, from which the bot is told so and sees the nearest hit alone.",
    )
    answer_floor: Weight = Field(
        default=0.35,
        description="Without a chance to answer: what a viewer's best hit must reach, or their memory gives nothing.",
    )
    lead: Weight = Field(default=0.5, description="How much of its lead over the next hit is added to the best one for that.")

    @model_validator(mode="after")
    def _nested(self) -> "Retrieval":
        if not 0 < self.source_seconds < self.retrieve_seconds < self.recall_seconds:
            message = "source_seconds must be below retrieve_seconds, and that below recall_seconds"
            raise ValueError(message)
        return self


class Fusion(Section):
    """How the channels' results become one list. The weights count where a hit is given no chance to answer."""

    method: Literal["calibrated", "level", "sum", "rrf"] = Field(
        default="calibrated",
        description="calibrated: the chance that a hit answers, by fitted weights, or level where a model has none; level: "
        "weighted sum of the channels' own measures; sum: weighted min-max sum; rrf: weighted reciprocal ranks.",
    )
    k: Positive = Field(default=60, description="The constant of reciprocal rank fusion.")
    message_dense: Weight = Field(default=0.6, description="Weight of the dense channel among a viewer's messages.")
    message_lexical: Weight = Field(default=0.2, description="Weight of the lexical channel among a viewer's messages.")
    fact_dense: Weight = Field(default=0.8, description="Weight of the dense channel among facts.")
    fact_lexical: Weight = Field(default=0.2, description="Weight of the lexical channel among facts.")
    recency_prior: Weight = Field(default=0.05, description="What being recent adds to a hit.")
    worth_prior: Weight = Field(default=0.4, description="What saying something of its author adds to a hit.")


class Budget(Section):
    """The size and the language of the memory block."""

    block_tokens: Positive = Field(default=600, description="Hard limit of the block, in tokens.")
    language: Literal["it", "en"] = Field(default="it", description="Language of the block's headings.")
    dedup: bool = Field(default=True, description="Drop repeats across profile, recall, episode and history.")
    state_share: Share = Field(default=0.2, description="Part of the block that structured state may fill.")
    lore_share: Share = Field(default=0.25, description="Part of the block that the canon may fill.")
    profile_share: Share = Field(default=0.25, description="Part of the block that profiles may fill.")
    recall_share: Share = Field(default=0.5, description="Part of the block that viewers' own messages may fill.")
    episode_share: Share = Field(default=0.75, description="Part of the block that passages of streams may fill.")


class Caches(Section):
    """How long answers of the memory are kept. Every change of what they rest on drops them at once."""

    query_seconds: Seconds = Field(default=30.0, description="Lifetime of a search result.")
    profile_seconds: Seconds = Field(default=300.0, description="Lifetime of a profile.")
    lore_seconds: Seconds = Field(default=3600.0, description="Lifetime of canon results.")
    entries: Positive = Field(default=2048, description="Entries of each kind.")


class Index(Section):
    """The vector index (Chroma). It is made from the database, and can be made again: `ricordo reindex`."""

    own_process: bool = Field(
        default=True,
        description="Run it in a process of its own: the chat never waits for it, both processors work, and it may die or hang "
        "without the bot. false: in the bot's process, some 70 to 100 MB of memory less.",
    )
    hang_seconds: Annotated[float, Field(ge=1)] = Field(
        default=60.0, description="A call without a sign of life for so long has that process killed and started again."
    )


class Jobs(Section):
    """Background work."""

    batch: Positive = Field(default=16, description="Jobs taken at a time.")
    lease_seconds: Seconds = Field(default=60.0, description="How long a job may run before another attempt may take it.")
    max_attempts: Positive = Field(default=20, description="Temporary failures after which a job is buried.")
    max_crashes: Positive = Field(default=10, description="Crashes of the program after which a job in hand is buried.")
    backoff_base_seconds: Seconds = Field(default=5.0, description="First retry comes within this time.")
    backoff_cap_seconds: Seconds = Field(default=3600.0, description="Longest wait between retries.")
    drain_seconds: Seconds = Field(default=2.0, description="How often the scheduler looks for work that nobody announced.")
    recover_seconds: Seconds = Field(default=15.0, description="How often lost leases are looked for.")
    checkpoint_seconds: Seconds = Field(default=60.0, description="How often the write-ahead log is folded into the database.")


class Embedding(Section):
    """The model that turns text into vectors. After a change run `ricordo reindex`."""

    kind: Literal["use", "e5", "openai"] = Field(
        default="use", description="use: built in, fast; e5: stronger and slower, extra e5; openai: any compatible endpoint."
    )
    base_url: str = Field(default="", description="Endpoint of kind openai.")
    model: str = Field(default="", description="Model name of kind openai.")
    dimension: Count = Field(default=0, description="Vector length of kind openai; 0: the endpoint is asked at the start.")
    timeout_seconds: Seconds = Field(default=10.0, description="Deadline of one call of kinds e5 and openai.")
    api_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key of the endpoint. Environment or secrets file only.",
        json_schema_extra=SECRET,
    )


class Llm(Section):
    """The model that writes the replies. Without base_url or model, replies come from the memory block alone."""

    base_url: str = Field(default="", description="Any OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1.")
    model: str = Field(default="", description="Model name, as the endpoint calls it.")
    timeout_seconds: Seconds = Field(default=20.0, description="Total deadline of one reply, retries included.")
    retries: Count = Field(default=1, description="Repeats after a failure that may pass.")
    max_tokens: Positive = Field(default=160, description="Longest reply, in tokens.")
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(default=0.4, description="0 is the same answer each time.")
    prompt_tokens: Annotated[int, Field(ge=2600)] = Field(default=3500, description="Longest prompt, in tokens.")
    concurrency: Positive = Field(default=2, description="Requests at a time.")
    tools: bool = Field(
        default=True,
        description="Let the model note and change requests, notes, relations, running jokes and values of the channel. "
        "Costs up to 1600 tokens more a request; servers without tools go on without.",
    )
    tool_rounds: Positive = Field(default=3, description="Answers with tool calls in one turn; then the model must speak.")
    tool_calls: Positive = Field(default=6, description="Tool calls carried out in one turn.")
    calls_per_hour: Count = Field(
        default=0, description="Requests in any hour; with none left nobody is answered. 0: no limit."
    )
    tokens_per_hour: Count = Field(default=0, description="Tokens read and written in any hour. 0: no limit.")
    calls_per_stream: Count = Field(default=0, description="Requests in one stream. 0: no limit.")
    tokens_per_stream: Count = Field(default=0, description="Tokens read and written in one stream. 0: no limit.")
    read_price: Amount = Field(
        default=0.0,
        description="Price of a million tokens read, in your currency; evaluations add up what they cost. 0: unknown.",
    )
    written_price: Amount = Field(default=0.0, description="Price of a million tokens written. 0: unknown.")
    api_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key of the endpoint. Environment or secrets file only.",
        json_schema_extra=SECRET,
    )


class Manners(Section):
    """When the bot speaks, and how."""

    answer: Literal["addressed", "questions", "never"] = Field(
        default="addressed",
        description="addressed: only when spoken to; questions: open questions too; never: listen and remember.",
    )
    viewer_cooldown_seconds: Seconds = Field(default=10.0, description="Pause for one viewer; moderators are exempt.")
    channel_cooldown_seconds: Seconds = Field(default=3.0, description="Pause between replies.")
    max_characters: Annotated[int, Field(ge=20, le=450)] = Field(default=450, description="Longest reply; it is cut at a word.")
    chance: Share = Field(
        default=0.0, description="How often, of 1, the bot says something where nobody asked. Needs a language model."
    )
    events: tuple[Literal["sub", "resub", "gift", "raid", "cheer", "announcement", "watch_streak"], ...] = Field(
        default=(), description="Events that get a word from the bot. Needs a language model."
    )
    online_only: bool = Field(default=False, description="Answer only while the stream runs. Chat is remembered all the same.")
    language: Literal["viewer", "it", "en"] = Field(
        default="viewer", description="Language of the replies; viewer: the asker's."
    )
    blocked_words: tuple[str, ...] = Field(default=(), description="A reply that holds one of these is not sent.")
    blocked_words_in: tuple[str, ...] = Field(
        default=(), description="A line of chat that holds one of these is neither remembered nor answered."
    )
    strip_links: bool = Field(default=True, description="Take links out of replies.")
    people_per_reply: Annotated[int, Field(ge=1, le=5)] = Field(
        default=3, description="Who asks at the same time is answered in one line; of more people, those who asked last."
    )
    repeat_seconds: Seconds = Field(default=600.0, description="A reply is not said again within this time.")
    late_seconds: Seconds = Field(default=60.0, description="An answer that would come later than this is not given.")
    messages_per_window: Positive = Field(
        default=20, description="Posts in 32 seconds; where the bot is a moderator Twitch takes 100."
    )
    dry_run: bool = Field(default=False, description="Think and log, send nothing.")
    ignored_bots: tuple[str, ...] = Field(
        default=("nightbot", "streamelements", "streamlabs", "moobot", "fossabot", "wizebot", "sery_bot", "soundalerts"),
        description="Logins or ids that are neither remembered nor answered.",
    )
