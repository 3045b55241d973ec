"""Who asks a server: the user and password of a URL, held apart from what is shown or kept?"""

from __future__ import annotations

import re

_PLACE = re.compile(r"(mlflow\+https?://)(?:([^/?#]*)@)?([^/?#]*)")
#: The user and password that URLs of this process named for a server.
_known: dict[str, str] = {}


def is_server(url: str) -> bool:
    """Return whether a URL names a tracking server, not an object store."""
    return _PLACE.match(url) is not None


def without_user(url: str) -> str:
    """Return a URL without its user and password, which are remembered for `user_of`."""
    match = _PLACE.match(url)
    if match is None or match[2] is None:
        return url
    place = match[1] + match[3]
    _known[place] = match[2]
    return place + url[match.end() :]


def user_of(url: str) -> str:
    """Return the user and password remembered for the server of a URL, or an empty text."""
    match = _PLACE.match(url)
    return _known.get(match[1] + match[3], "") if match else ""


def remember_user(url: str, user: str) -> None:
    """Remember the user and password of a URL's server, received from another process."""
    if user:
        without_user(url.replace("://", f"://{user}@", 1))
