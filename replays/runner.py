"""Replay: a chat log through the real turn, on a virtual clock."""
