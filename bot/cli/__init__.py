"""Commands of the command line that need the bot and its memory."""
