"""Prints every figure of the documents."""
