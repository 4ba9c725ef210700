"""What a person sees of a replay: the chat as it comes, the replies, and for each reply the memories behind it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bot.cli.terminal import day, printable
from bot.turn import TurnOutcome
from memory import Item, Message, Notice, StreamEvent, counted
from replays.log import LoggedEvent
from replays.log_report import SHOWN, LogReport, warned
from replays.logfile import LogFile
from replays.runner import ReplaySummary

WIDEST = 110  # columns: longer lines are hard to read
PIPED = 100  # columns where the output is no terminal
LOOKED_AT = 50  # lines of a log in which a time is looked for
LONGEST_TEXT, LONGEST_MEMORY = 500, 160
INDENT = "       "  # the width of a time and a little air
COLUMN = 14  # of names: most fit, longer ones push their line
SILENT = (
    "the bot said nothing: it answers who addresses it, by its name (ricordo, where the log names none) or by one of "
    'persona.aliases; with manners.answer = "questions" it answers open questions too'
)
_SEARCHED = "memory stage where it searched: {count:turn|turns}, p50 {p50:.1f} ms, p95 {p95:.1f} ms"
NO_MODEL = "no language model is configured: the replies were made from the memory alone"


class Stage:
    """Prints events and turns as they happen."""

    def __init__(self, console: Console, zone: tzinfo = UTC) -> None:
        """Print to `console`, times as they are in `zone`."""
        self._console = console
        self._zone = zone
        self._width = min(console.width, WIDEST) if console.is_terminal else PIPED
        self._names: dict[str, str] = {}
        self._bot = "the bot"

    def event(self, logged: LoggedEvent) -> None:
        """Print a chat line, a notice or the beginning of a stream."""
        match logged.event:
            case StreamEvent(event="online") as stream:
                self._begin(stream)
            case Message() as message:
                self._names[message.user.id] = message.user.name
                name = printable(message.user.name, 25)
                self._line(
                    Text.assemble((f"{self._clock(message.at)}  ", "dim"), (f"{name:<{COLUMN}}", "cyan"), " "),
                    printable(message.text, LONGEST_TEXT),
                )
            case Notice() as notice:
                who = printable(notice.user.name, 25) if notice.user else "somebody"
                self._line(Text(f"{self._clock(notice.at)}  "), f"* {who}: {printable(notice.kind, 40)} *", style="dim")
            case _:
                pass

    def turn(self, outcome: TurnOutcome) -> None:
        """Print the reply of a turn, to whom, and what it rests on; silent turns print nothing."""
        turn = outcome.turn
        said, recall = turn.said, turn.recall
        if said.text is None or said.state != "sent":
            return
        asked = [printable(message.user.name, 25) for message in turn.batch.messages if message.id in said.in_reply_to]
        head = Text.assemble("  ", ("▸ ", "bold green"), (f"{self._bot} to {' and '.join(asked) or 'everybody'}: ", "green"))
        self._line(head, printable(said.text, LONGEST_TEXT), style="bold", indent=INDENT)
        for item in recall.block.items if recall else ():
            self._beneath(self._told(item))
        if recall and recall.block.abstained:
            self._beneath(f"nothing {'certain ' if recall.block.items else ''}in memory on this, which the bot admits")
        if recall and recall.degraded:
            missing = ", ".join((*recall.timed_out, *recall.failed)) or "a step"
            self._beneath(f"degraded: without {missing}", style="yellow")

    def _begin(self, stream: StreamEvent) -> None:
        if stream.bot:
            self._bot = printable(stream.bot.name, 25) or self._bot
        title = f" · {printable(stream.title, LONGEST_TEXT)}" if stream.title else ""
        self._console.print()
        self._line(Text("── "), f"{day(stream.at, self._zone)}{title} ──", style="bold", indent="   ")

    def _beneath(self, text: str, style: str = "dim") -> None:
        self._line(Text(f"{INDENT}└ ", style=style), text, style=style, indent=f"{INDENT}  ")

    def _line(self, head: Text, text: str, *, style: str = "", indent: str | None = None) -> None:
        """Print `text` after `head`, wrapped, with further lines below its beginning (or `indent`)."""
        indent = " " * head.cell_len if indent is None else indent
        whole = Text.assemble(head, (text, style))
        first, *rest = whole.wrap(self._console, self._width)
        first.rstrip()
        self._console.print(first)
        for line in rest:
            line.rstrip()
        if rest:
            remaining = Text(" ").join(rest)
            for line in remaining.wrap(self._console, max(20, self._width - len(indent))):
                line.rstrip()
                self._console.print(Text.assemble(indent, line))

    def _clock(self, at: datetime) -> str:
        return f"{at.astimezone(self._zone):%H:%M}"

    def _told(self, item: Item) -> str:
        """Return a memory as people read it: whose, from when, what."""
        when = day(item.at, self._zone) if item.at else ""
        words = printable((item.words or item.text).replace("\n", " / "), LONGEST_MEMORY)
        return f"{', '.join(filter(None, (self._whose(item), when)))}: {words}"

    def _whose(self, item: Item) -> str:
        author = item.author_name or self._names.get(item.author or "", "")
        subject = item.subject_name or self._names.get(item.subject or "", "")
        match item.section:
            case "lore":
                return f"canon {', '.join(one.removeprefix('lore:') for one in item.provenance)}"
            case "episode":
                return "the stream"
            case "profile":
                return f"fact about {printable(subject or author, 25)}"
            case "state":
                return f"note on {printable(subject, 25)}" if subject else "note"
            case _:
                return f"{printable(author or subject or 'somebody', 25)} wrote"


def zone_of(log: Path) -> tzinfo:
    """Return the zone in which a native log gives its first time: what its readers take for the time of day; else UTC.

    Raises:
        LogError: the log cannot be read.
    """
    for number, text in LogFile(log, LogReport(path=log)).lines():
        if number > LOOKED_AT:
            break
        try:
            return datetime.fromisoformat(json.loads(text)["at"]).tzinfo or UTC
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return UTC


def summary_lines(summary: ReplaySummary, folder: Path) -> list[str]:
    """Return what a replay did, a line each."""
    counts, health, memory = summary.counts, summary.health, summary.latency_ms["memory_asked"]
    said = [f"{value} {key.removeprefix('said_')}" for key, value in sorted(counts.items()) if key.startswith("said_")]
    jobs = [f"{count} {state}" for state, count in sorted(health.jobs.items()) if count]
    chat = counted(
        "{messages:message|messages}, {streams:stream|streams}, {viewers:viewer|viewers}",
        messages=counts.get("message", 0),
        streams=health.streams,
        viewers=health.viewers,
    )
    lines = [
        f"{chat} in {summary.seconds:.1f} s: {counted('{n:message|messages}/s', n=round(summary.messages_per_second))}",
        f"{_turns(counts, said)}, {counted('{n:document|documents} in memory', n=health.documents)}",
        f"jobs: {', '.join(jobs) or 'none'}",
        counted(_SEARCHED if memory["count"] else "the memory was searched in no turn", **memory),
    ]
    if counts.get("turns") and not counts.get("said_sent"):
        lines.append(SILENT)
    elif summary.llm is None:
        lines.append(NO_MODEL)
    if summary.degraded_turns:
        lines.append(counted("{n:turn was|turns were} degraded: a source was late or failed", n=summary.degraded_turns))
    lines += troubles(summary.report)
    return ["", *lines, f"every turn with its plan, memories and reply: {folder / 'turns.jsonl'}"]


def _turns(counts: Mapping[str, int], said: Sequence[str]) -> str:
    told = counted("{n:turn|turns}", n=counts.get("turns", 0)) + (f" ({', '.join(said)})" if said else "")
    before = counts.get("turns_recorded_before", 0)
    return told + (counted(" beside {n:turn|turns} that this folder had before", n=before) if before else "")


def troubles(report: LogReport) -> list[str]:
    """Return what was wrong with single lines of the log, counted, the first ones with number and reason."""
    told = [f"warning: {warned(kind, count)}" for kind, count in sorted(report.warnings.items())]
    if report.skipped:
        told.append(
            counted("warning: {n:line could not be read and was|lines could not be read and were} skipped", n=report.skipped)
        )
        told += [f"  line {item.line}: {printable(item.reason, LONGEST_MEMORY)}" for item in report.first_skipped[:SHOWN]]
    return told
