"""Named sets of sources, channels, deadlines and limits: `FULL` and every ablation. Nothing else asks "is X enabled"."""

from dataclasses import dataclass, field, replace
from pathlib import Path

ALL_SOURCES = frozenset({"profile", "recall", "episode", "lore", "state"})
ALL_CHANNELS = frozenset({"dense", "lexical", "exchange", "graph", "recency", "worth", "taken_back"})
USUAL_CHANNELS = ALL_CHANNELS - {"graph"}  # decision 0014


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds, nested: source < retrieve < recall. Any other order is refused."""

    source_seconds: float = 0.6
    retrieve_seconds: float = 0.8
    recall_seconds: float = 1.0

    def __post_init__(self) -> None:
        """Refuse deadlines that do not nest."""
        if not 0 < self.source_seconds < self.retrieve_seconds < self.recall_seconds:
            msg = (
                "deadlines must nest: 0 < source_seconds < retrieve_seconds < recall_seconds, not "
                f"{self.source_seconds} / {self.retrieve_seconds} / {self.recall_seconds}"
            )
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of everything."""

    history_messages: int = 30
    viewers: int = 3  # targets of one plan
    viewers_max: int = 5
    viewer_hits: int = 3  # shown of each viewer's memory at most
    episode_hits: int = 3
    claim_hits: int = 2  # of what others say about a viewer, where the viewer's own memory has nothing; 0: never
    lore_hits: int = 2
    state_hits: int = 6
    greeting_hours: float = 0.0  # whose first message in so long it is has their profile shown without a question; 0: nobody
    block_tokens: int = 600  # hard
    section_shares: dict[str, float] = field(
        default_factory=lambda: {"state": 0.2, "lore": 0.25, "profile": 0.25, "recall": 0.5, "episode": 0.75}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How the channels' rankings become one.

    `calibrated`: the chance that a hit answers, by weights fitted for the embedding model (`memory.relevance`), `level` where
    there are none; `level`: weighted sum of the channels' own measures, comparable across questions; `sum`: per-query min-max,
    weighted; `rrf`: Σ w/(k + rank), Cormack et al. 2009.
    """

    method: str = "calibrated"
    k: int = 60
    message_weights: dict[str, float] = field(default_factory=lambda: {"dense": 0.6, "lexical": 0.2})
    fact_weights: dict[str, float] = field(default_factory=lambda: {"dense": 0.8, "lexical": 0.2})
    recency_prior: float = 0.05
    worth_prior: float = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Scores below which a source returns nothing. `off`: nothing is weak, only the number of hits is bounded."""

    off: bool = False
    dense_floor: float = 0.18
    lexical_floor: float = 3.0  # among a viewer's own words; elsewhere every shared word counts
    fused_floor: float = 0.0
    least_chance: float = 0.09  # that a hit answers, where fusion is calibrated
    answer_chance: float = 0.09  # … that the best of a place does, else the place gives nothing
    unsure_chance: float = 0.52  # that nothing found answers, from which the block says so and shows the nearest hit alone
    answer_floor: float = 0.35  # of the best of a viewer's lines, `lead` times its lead over the next one added
    lead: float = 0.5
    gap: float = 0.3  # how far below the best of its source a hit may stay, 0 to 1
    levels: dict[str, float] = field(  # least fused score by kind of document, where fusion is by level
        default_factory=lambda: {
            "message": 0.3,
            "fact": 0.35,
            "claim": 0.35,
            "line": 0.1,
            "turn": 0.1,
            "reply": 0.1,
            "lore": 0.0,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What one recall is made of."""

    name: str = "full"
    sources: frozenset[str] = ALL_SOURCES
    channels: frozenset[str] = USUAL_CHANNELS
    viewer_ranking: bool = True
    dedup: bool = True
    coverage_check: bool = True
    deadlines: Deadlines = Deadlines()
    limits: Limits = Limits()
    fusion: Fusion = Fusion()
    gate: Gate = Gate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """Lifetimes in seconds and sizes in entries, by kind of information."""

    query_seconds: float = 30.0
    profile_seconds: float = 300.0
    lore_seconds: float = 3600.0
    entries: int = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """Leases, retries and pace of the background work."""

    lease_seconds: float = 60.0
    batch: int = 16
    max_attempts: int = 20
    max_crashes: int = 10
    backoff_base_seconds: float = 5.0
    backoff_cap_seconds: float = 3600.0
    drain_seconds: float = 2.0
    recover_seconds: float = 15.0
    checkpoint_seconds: float = 60.0
    keep_done_days: float = 7.0
    keep_dead_days: float = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPlan:
    """Backups that are made by the clock; a relative directory lies within that of the memory."""

    every_hours: float = 24.0  # 0: none
    keep: int = 3
    directory: Path = Path("backups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Days after which each kind of data goes; 0: never. Jobs that are done have their own limits in `JobLimits`."""

    message_days: float = 1095.0
    episode_days: float = 1095.0  # the lines of streams and the bot's replies
    fact_days: float = 1825.0  # since last said or used
    claim_days: float = 365.0  # the same
    closed_record_days: float = 365.0
    audit_days: float = 1095.0
    backup_days: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How many facts and claims one author may leave; what exceeds it stays a message, and is found as one."""

    per_stream: int = 60
    total: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """When a memory that nobody repeats or uses leaves retrieval; the record keeps it.

    It fades once its salience, as `memory.salience` reckons it with this half-life, is below `floor`; 0: never.
    """

    half_life_days: float = 90.0
    floor: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a language model does for facts, where there is one, and how much it may read for that."""

    lines: bool = True  # it looks for facts in lines
    judge: bool = False  # it judges conflicts that no step could settle
    tokens_per_stream: int = 50_000  # read and written, for both together; what is beyond stays as it is
    wait_seconds: float = 30.0  # lines and conflicts gather so long before they are shown to it together


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRun:
    """Where the vector index runs. The program gives it a process of its own; a memory opened by itself needs none."""

    own_process: bool = False
    hang_seconds: float = 60.0  # a call of that process without a sign of life for so long has it killed and started again


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Everything `open_memory` needs, as values; composition roots build it from the configuration."""

    data_dir: Path
    recipe: Recipe = Recipe()
    caches: Caches = Caches()
    index: IndexRun = IndexRun()
    jobs: JobLimits = JobLimits()
    backup: BackupPlan = BackupPlan()
    quotas: Quotas = Quotas()
    fading: Fading = Fading()
    retention: Retention = Retention()
    reading: Reading = Reading()
    synchronous: str = "normal"  # or "full"
    block_language: str = "it"  # headings of the block: it | en
    languages: tuple[str, ...] = ("it", "en")
    ignored_bots: frozenset[str] = frozenset()  # viewer ids


FULL = Recipe()


def recipes(full: Recipe = FULL) -> dict[str, Recipe]:
    """Return every named recipe, built on `full`: the layers, each switched off in turn."""
    named = {
        "full": full,
        "-profile": replace(full, sources=full.sources - {"profile"}),
        "-recall": replace(full, sources=full.sources - {"recall"}),
        "-episode": replace(full, sources=full.sources - {"episode"}),
        "-lore": replace(full, sources=full.sources - {"lore"}),
        "-state": replace(full, sources=full.sources - {"state"}),
        "-viewer_ranking": replace(full, viewer_ranking=False),
        "-dedup": replace(full, dedup=False),
        "-lexical": replace(full, channels=full.channels - {"lexical"}),
        "-dense": replace(full, channels=full.channels - {"dense"}),
        "-exchange": replace(full, channels=full.channels - {"exchange"}),
        "-worth": replace(full, channels=full.channels - {"worth"}),
        "-taken_back": replace(full, channels=full.channels - {"taken_back"}),
        "+graph": replace(full, channels=full.channels | {"graph"}),
        "-graph": replace(full, channels=full.channels - {"graph"}),
        "-coverage_check": replace(full, coverage_check=False),
        "history_only": replace(full, sources=frozenset()),
    }
    return {name: replace(recipe, name=name) for name, recipe in named.items()}


named_recipes = recipes  # its name outside, where `memory.recipes` is this module
