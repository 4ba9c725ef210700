"""The sections of the configuration file about what is kept, how long, and where else."""

from pathlib import Path

from pydantic import Field

from config.sections import Amount, Count, Positive, Section, Share


class Facts(Section):
    """Facts and claims: how many one author may leave, and when those that nobody repeats or uses fade."""

    per_stream: Positive = Field(default=60, description="Facts and claims kept of one author in one stream.")
    total: Positive = Field(default=2000, description="Facts and claims kept of one author altogether.")
    llm: bool = Field(default=False, description="Let the model of [llm] read lines again, in the background, for more facts.")
    judge: bool = Field(default=False, description="Let that model judge where rules cannot tell whether two facts clash.")
    llm_tokens_per_stream: Count = Field(default=50_000, description="Tokens that both may cost in one stream at most.")
    fade_half_life_days: float = Field(default=90.0, gt=0, description="Days in which a memory that is not used weighs half.")
    fade_floor: Share = Field(default=0.01, description="Weight below which it leaves retrieval, not the record; 0: never.")


class Retention(Section):
    """How long each kind of data is kept, in days, from when it was said; 0 keeps it for ever. Orders to forget are faster."""

    message_days: Amount = Field(default=1095.0, description="What viewers wrote. A line stays while a fact rests on it.")
    episode_days: Amount = Field(default=1095.0, description="The chat of each stream, with what the bot said.")
    fact_days: Amount = Field(default=1825.0, description="What viewers said about themselves, since last said or used.")
    claim_days: Amount = Field(default=365.0, description="What viewers said about others, since last said or used.")
    closed_record_days: Amount = Field(default=365.0, description="Requests, notes and the like, once done or out of date.")
    audit_days: Amount = Field(default=1095.0, description="Who had what forgotten or corrected: ids and numbers, no words.")
    backup_days: Amount = Field(default=60.0, description="Backups made by the clock, whatever their number.")
    done_job_days: Amount = Field(default=7.0, description="Finished jobs.")
    dead_job_days: Amount = Field(default=90.0, description="Buried jobs, with their errors.")


class Backup(Section):
    """Backups that are made while the bot runs. What chat has removed is taken out of them, too."""

    every_hours: Amount = Field(default=24.0, description="Time between two backups, in hours; 0 makes none.")
    keep: Positive = Field(default=3, description="Newest backups that are kept.")
    directory: Path = Field(
        default=Path("backups"), description="Where they lie; a relative folder is one inside each channel's memory."
    )


class Recording(Section):
    """The chat as a log that can be replayed. What is forgotten, corrected or moderated leaves it, too."""

    enabled: bool = Field(
        default=False, description="Write one file a stream into recordings/, inside the channel's memory. Tell your viewers."
    )
    days: float = Field(default=30.0, gt=0, description="Days after which a recording is removed.")
