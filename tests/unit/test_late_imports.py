"""What takes long to import is imported where it is needed."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

from replays.cli_replay import LIVE

ROOT = Path(__file__).parent.parent.parent


def test_the_command_line_starts_without_what_is_not_needed_yet() -> None:
    program = "import sys, replays.cli; print(*sorted({'twitchio', 'chromadb', 'alembic', 'openai'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_live_bot_is_found_by_its_name() -> None:
    assert callable(import_module(LIVE).run_bot)
