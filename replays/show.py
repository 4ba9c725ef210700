"""What a person sees of a replay: the chat as it comes, the replies, and for each reply the memories behind it."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from bot.turn import TurnOutcome
from memory import Item, Message, Notice, StreamEvent
from replays.log import LoggedEvent
from replays.runner import ReplaySummary

SOURCES = {"profile": "profile", "recall": "said before", "episode": "earlier turn", "lore": "canon", "state": "state"}


class Stage:
    """Prints events and turns as they happen."""

    def __init__(self, console: Console) -> None:
        """Print to `console`."""
        self._console = console
        self._names: dict[str, str] = {}

    def event(self, logged: LoggedEvent) -> None:
        """Print a chat line, a notice or the beginning of a stream."""
        match logged.event:
            case StreamEvent(event="online") as stream:
                title = f" · {stream.title}" if stream.title else ""
                self._console.print(Text(f"\n── {stream.at:%d %B %Y}{title} ──", style="bold"))
            case Message() as message:
                self._names[message.user.id] = message.user.name
                self._console.print(
                    Text(f"{message.at:%H:%M} ", style="dim"), Text(message.user.name, style="cyan"), message.text
                )
            case Notice() as notice:
                who = notice.user.name if notice.user else "somebody"
                self._console.print(Text(f"{notice.at:%H:%M} * {who}: {notice.kind} *", style="dim"))
            case _:
                pass

    def turn(self, outcome: TurnOutcome) -> None:
        """Print the reply of a turn and what it rests on; silent turns print nothing."""
        turn = outcome.turn
        if turn.said.text is None or turn.said.state != "sent":
            return
        self._console.print(Text("      ▸ ", style="bold green"), Text(turn.said.text, style="bold"), sep="")
        items = turn.recall.block.items if turn.recall else ()
        for item in items:
            self._console.print(Text(f"        └ {self._told(item)}", style="dim"))
        if turn.recall and turn.recall.block.abstained:
            self._console.print(Text("        └ nothing in memory on this: said so", style="dim"))
        if turn.recall and turn.recall.degraded:
            missing = ", ".join((*turn.recall.timed_out, *turn.recall.failed))
            self._console.print(Text(f"        └ degraded: without {missing or 'a step'}", style="yellow"))

    def _told(self, item: Item) -> str:
        whose = self._names.get(item.author or item.subject or "", "")
        when = f", {item.at:%d %b %Y}" if item.at else ""
        words = (item.words or item.text).replace("\n", " / ")
        return f"{SOURCES.get(item.section, item.section)}{f' by {whose}' if whose else ''}{when}: {words[:110]}"


def summary_lines(summary: ReplaySummary, folder: Path) -> list[str]:
    """Return what a replay did, a line each."""
    counts, health, memory = summary.counts, summary.health, summary.latency_ms["memory_asked"]
    said = [f"{value} {key.removeprefix('said_')}" for key, value in sorted(counts.items()) if key.startswith("said_")]
    jobs = [f"{count} {state}" for state, count in sorted(health.jobs.items()) if count]
    chat = f"{counts.get('message', 0)} messages, {health.streams} streams, {health.viewers} viewers"
    lines = [
        f"{chat} in {summary.seconds:.1f} s: {summary.messages_per_second:,.0f} messages/s",
        f"{counts.get('turns', 0)} turns ({', '.join(said)}), {health.documents} documents in memory, jobs: {', '.join(jobs)}",
        f"memory stage where it searched: {memory['count']} turns, p50 {memory['p50']} ms, p95 {memory['p95']} ms",
    ]
    if summary.llm is None:
        lines.append("no language model is configured: the replies were made from the memory alone")
    if summary.degraded_turns:
        lines.append(f"{summary.degraded_turns} turns were degraded: a source was late or failed")
    if summary.report.skipped:
        lines.append(f"{summary.report.skipped} lines could not be read")
    return ["", *lines, f"every turn with its plan, memories and reply: {folder / 'turns.jsonl'}"]
