"""`python -m replays` is `ricordo`."""

from replays.entry import main

main()
