"""Configuration: typed settings and their defaults."""
