"""Platform notices: the words Twitch uses for them over the years, and the viewer's own words inside a system text."""

import re

KINDS = {
    "sub": "sub", "resub": "resub", "primepaidupgrade": "sub", "giftpaidupgrade": "sub", "anongiftpaidupgrade": "sub",
    "prime_paid_upgrade": "sub", "gift_paid_upgrade": "sub", "extendsub": "sub",
    "subgift": "gift", "anonsubgift": "gift", "submysterygift": "gift", "anonsubmysterygift": "gift", "rewardgift": "gift",
    "standardpayforward": "gift", "communitypayforward": "gift", "pay_it_forward": "gift",
    "sub_gift": "gift", "community_sub_gift": "gift",
    "raid": "raid", "announcement": "announcement",
    "unraid": "unraid", "bitsbadgetier": "bits_badge_tier", "bits_badge_tier": "bits_badge_tier", "ritual": "ritual",
    "viewermilestone": "watch_streak", "watch_streak": "watch_streak", "modiversary": "modiversary",
    "socialsharingbadge": "social_sharing_badge", "charitydonation": "charity_donation", "charity_donation": "charity_donation",
    "sharedchatnotice": "shared_chat_notice",
}  # fmt: skip

_SYSTEM = re.compile(
    r"(?:just )?subscribed(?: with (?:Twitch )?Prime| (?:at|with a) Tier \d(?: sub)?)?(?: for \d+ months? in advance)?[.!]"
    r"(?: They've subscribed for \d+ months?(?:, currently on a \d+ months? streak)?!)?"
)


def subscription_text(name: str, text: str) -> tuple[str, str] | None:
    """Return `(kind, own words)` where `text` is the system line of a (re)subscription by `name`, else None.

    Such a line begins with the viewer's own name; what follows the system sentences are the viewer's own words.
    """
    if text[: len(name) + 1].casefold() != f"{name} ".casefold():
        return None
    found = _SYSTEM.match(text, len(name) + 1)
    if found is None:
        return None
    return "resub" if "They've" in found.group() else "sub", text[found.end() :].strip()
