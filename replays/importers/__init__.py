"""Foreign chat log formats, one a file."""
