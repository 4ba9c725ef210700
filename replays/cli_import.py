"""`ricordo import`: chat logs of any known format become one native log."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.text import Text

from bot.cli.terminal import styled
from memory import counted
from replays.detect import FORMATS
from replays.errors import LogError
from replays.import_log import ImportOptions, ImportProgress, ImportSummary, import_logs
from replays.log_report import SHOWN, warned


def import_command(
    files: Annotated[list[Path], typer.Argument(help="Chat logs; packed with gzip is fine.", show_default=False)],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The native log to write.", show_default=False)],
    log_format: Annotated[
        str | None, typer.Option("--format", "-f", help=f"Instead of telling it from the content: {', '.join(FORMATS)}.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="Login of the channel, where the log leaves it out or holds several.")
    ] = None,
    start: Annotated[
        datetime | None, typer.Option(help="When the stream began (UTC), where the log only counts from its beginning.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Turn chat logs of any known format into one native log.

    Example: ricordo import "chat (2020-03-01T184500Z).tcd" vod.json.gz --out chat.jsonl
    """
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    options = ImportOptions(format=log_format, channel=channel, start=start.replace(tzinfo=UTC) if start else None)
    try:
        summary = _with_bar(files, out, options, errors)
    except LogError as error:
        errors.print(styled(f"Nothing was imported: {error}"))
        raise typer.Exit(1) from None
    console = Console(soft_wrap=True, highlight=False)
    if as_json:
        typer.echo(json.dumps(summary.to_json(), ensure_ascii=True, indent=2))
    else:
        show(summary, console)
    if summary.failed:
        raise typer.Exit(1 if any(path.exists() and path.stat().st_size for path, _ in summary.failed) else 0)


def _with_bar(files: list[Path], out: Path, options: ImportOptions, console: Console) -> ImportSummary:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[lines]:,} lines, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("importing", total=None, lines=0, rate=0.0)

        def moved(now: ImportProgress) -> None:
            elapsed = bar.tasks[task].elapsed or 0
            rate = now.lines / elapsed if elapsed else 0.0
            bar.update(task, completed=now.bytes_done, total=now.bytes_total, lines=now.lines, rate=rate)

        return import_logs(files, out, options, progress=moved)


def show(summary: ImportSummary, console: Console) -> None:
    """Print the counts, the warnings, and the first skipped lines of each file with number and reason."""
    console.print(Text(counted("{events:event|events} in {out}", events=summary.events, out=summary.out), style="bold"))
    for report in summary.files:
        counts = [counted("{n:stream|streams}", n=len(report.streams))]
        counts += [counted(f"{{n:{kind}|{kind}s}}", n=report.counts[kind]) for kind in ("message", "notice", "deletion")]
        console.print(styled(f"{report.path.name}: {report.format}, {', '.join(counts)}, {report.skipped:,} skipped"))
    for kind, count in sorted(summary.total("warnings").items()):
        console.print(Text(f"warning: {warned(kind, count)}"))
    if len(summary.channels) > 1:
        console.print(Text(f"warning: several channels in one log ({', '.join(summary.channels)}): import each by itself"))
    ignored = summary.total("ignored")
    if ignored:
        console.print(
            Text("left out, since it is no chat: " + ", ".join(f"{count:,} {kind}" for kind, count in ignored.items()))
        )
    for report in summary.files:
        for item in report.first_skipped[:SHOWN]:
            console.print(styled(f"skipped: {report.path.name}, line {item.line}: {item.reason}"))
        if report.skipped > SHOWN:
            console.print(Text(f"skipped: {report.path.name}, {report.skipped - SHOWN:,} more"))
    for path, reason in summary.failed:
        console.print(styled(f"not imported: {path}: {reason}"))
