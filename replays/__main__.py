"""`python -m replays` is `ricordo`."""

from replays.cli import main

main()
