"""The form of an API key, and text without secrets: for logs, the audit log and forms."""

import re

PREFIX = "dtd_"
PUBLIC_LENGTH = 12  # first characters, `dtd_` included, that lists and logs show
CHARACTER = "[A-Za-z0-9]"  # after the prefix
_PUBLIC_PART = re.compile(rf"{PREFIX}{CHARACTER}{{{PUBLIC_LENGTH - len(PREFIX)}}}")
# A key, or more of it than its public part, which is group 1.
_RAW_KEY = re.compile(rf"({_PUBLIC_PART.pattern}){CHARACTER}+")

# By the text that each pattern begins with: a search for that takes a tenth of the time.
_SECRETS = {
    "Signature=": re.compile(r"(Signature=)[^&\s\"'\\,]+"),  # of a URL of object storage
    "X-Amz-": re.compile(r"(X-Amz-(?:Credential|Security-Token)=)[^&\s\"'\\,]+"),
    # A person with the token of such a link may set an account's password.
    "/reset/": re.compile(r"(/reset/[^/\s\"]+/)[^/\s\"]+"),
    "://": re.compile(r"(://[^\s:/@\"]*:)[^\s/@\"]+(?=@)"),  # a password
}

# Perhaps a key with another prefix, escaped or in pieces. A UUID is not cut.
_LONG_RUN = re.compile(r"[\w%+:\x80-\U0010ffff-]{30,}", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

SHOWN_LENGTH = 150  # characters of what a client chose


def contains_raw_key(text: str) -> bool:
    """Whether the text has a raw key in it, or more of one than its public part."""
    return _RAW_KEY.search(text) is not None


def public_part(text: str) -> str:
    """The public part of a key in the text, which may have all of the key; "" without one."""
    found = _PUBLIC_PART.search(text)
    return found[0] if found else ""


def cut_raw_keys(text: str) -> str:
    return _RAW_KEY.sub(r"\1…", text) if PREFIX in text else text


def redact(text: str) -> str:
    """The text with raw keys cut to their public part, without signatures, tokens, passwords."""
    text = cut_raw_keys(text)
    for beginning, secret in _SECRETS.items():
        if beginning in text:
            text = secret.sub(r"\1…", text)
    return text


def redact_sent(text: str | None, length: int) -> str:
    """Like `redact`, for what a client chose, such as a path: cuts it, and other long runs too."""
    # It is cut first, since the search takes time. The search finds the first part of a key too.
    return redact(_cut_long_runs((text or "")[:length].replace("\0", "")))[:length]


def shown(text: str) -> str:
    """The beginning of what a client chose, without keys; what is left out takes no time."""
    return _cut_long_runs(text[: SHOWN_LENGTH + 50])[:SHOWN_LENGTH]


def _cut_long_runs(text: str) -> str:
    def cut(run: re.Match[str]) -> str:
        return run[0] if _UUID.fullmatch(run[0]) else f"{run[0][:8]}…"

    return _LONG_RUN.sub(cut, cut_raw_keys(text))
