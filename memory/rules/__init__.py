"""Language rules, as data."""
