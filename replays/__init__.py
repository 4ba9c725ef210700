"""Chat logs: import, replay, evaluation, and the command line."""
