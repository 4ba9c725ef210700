"""Ways to look inside a source, one a file."""
