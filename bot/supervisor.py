"""What systemd is told: that the bot is up, that it lives, that it ends. Without systemd nobody is told anything."""

import contextlib
import os
import socket
from typing import Literal

State = Literal["READY=1", "WATCHDOG=1", "STOPPING=1"]


def tell_supervisor(state: State) -> None:
    """Send one state to the socket that NOTIFY_SOCKET names (sd_notify(3)); without one, or where it is gone, do nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(0)
        channel.sendto(state.encode(), name)
