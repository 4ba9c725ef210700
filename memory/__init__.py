"""The memory. Outsiders import from here alone."""

from memory.block import history_items as history_items
from memory.rules import RulesInvalid as RulesInvalid
from memory.tokens import count_tokens as count_tokens
