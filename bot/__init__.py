"""The bot: batching, turns, prompt, replies, Twitch."""
