"""Public benchmarks of long conversations, put to the same memory as the chat."""
