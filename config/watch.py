"""The section of the configuration file about being looked at from outside."""

from ipaddress import ip_address
from typing import Annotated

from pydantic import Field, model_validator

from config.sections import Section


class Watch(Section):
    """What a running bot shows of itself to monitoring programs. `ricordo top` needs none of it."""

    port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=0, description="Port for /metrics (Prometheus) and /healthz; 0: nothing listens."
    )
    host: str = Field(default="127.0.0.1", description="Address it listens on: this machine's alone, unless outside is true.")
    outside: bool = Field(
        default=False,
        description="Let host be an address that other machines reach. They see figures, no names and no chat; no password.",
    )

    @model_validator(mode="after")
    def _kept_inside(self) -> "Watch":
        if not self.outside and not is_loopback(self.host):
            message = f"host {self.host!r} can be reached from other machines; set outside = true if that is meant"
            raise ValueError(message)
        return self


def is_loopback(host: str) -> bool:
    """Return whether an address is this machine's alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
