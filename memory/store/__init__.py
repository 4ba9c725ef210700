"""Persistence: SQL is the truth, Chroma and full text are rebuilt from it."""
