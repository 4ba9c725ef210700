"""Messages to facts."""
