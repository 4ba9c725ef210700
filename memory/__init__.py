"""The memory. Outsiders import from here alone."""

from memory.events import BotIdentity as BotIdentity
from memory.events import BotReply as BotReply
from memory.events import Channel as Channel
from memory.events import Command as Command
from memory.events import Deletion as Deletion
from memory.events import Emote as Emote
from memory.events import Event as Event
from memory.events import Message as Message
from memory.events import Notice as Notice
from memory.events import Probe as Probe
from memory.events import Settle as Settle
from memory.events import StateCall as StateCall
from memory.events import StreamEvent as StreamEvent
from memory.events import Viewer as Viewer
from memory.events import utc as utc
