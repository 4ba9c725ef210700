"""The memory. Outsiders import from here alone."""
