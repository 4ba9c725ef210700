"""Places to look, one a file."""
