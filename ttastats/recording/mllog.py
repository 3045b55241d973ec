"""How does an event look as a line of an MLPerf log? As the official logger writes it.

Only the standard library is imported, so that a training script can log at no cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ttastats.base.json_safe import json_value

EventType = Literal["INTERVAL_START", "INTERVAL_END", "POINT_IN_TIME"]


#: The key of the event by which a log says that it is of somebody's own run: no rules of a round
#: tell its target, and its time to accuracy ends when the target is met, not when the run does.
RECORDER = "recorder"


def event_line(
    event_type: EventType, time_ms: float | None, key: str, value: Any, metadata: Mapping[str, Any]
) -> str:
    """Return an event as a line of an MLPerf log; without a time it has no time stamp.

    NaN and infinity, which JSON cannot hold, are null; what is no value of JSON is its text.
    """
    event = {
        "namespace": "",
        "time_ms": json_value(time_ms),
        "event_type": event_type,
        "key": key,
        "value": json_value(value),
        "metadata": json_value(metadata),
    }
    # A text that holds the token must not pass for another event.
    return (
        ":::MLLOG " + json.dumps(event, default=_plain_value).replace(":::ML", "\\u003a::ML") + "\n"
    )


def read_events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a log written by ttastats; an incomplete last line is ignored.

    Logs of others are read by the parsers, which take what is no JSON, too.
    """
    for line in text.splitlines():
        _, token, payload = line.partition(":::MLLOG ")
        try:
            event = json.loads(payload) if token else None
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def milliseconds(seconds: float) -> float:
    """Return seconds as milliseconds rounded to the microsecond, as the official logger does."""
    time = round(seconds * 1e3, 3)  # infinity stays what it is
    return int(time) if time.is_integer() else time


def _plain_value(value: Any) -> Any:
    """Return the number in an array or tensor of one element, or the text of any other object."""
    item = getattr(value, "item", None)
    try:
        number = item() if callable(item) else None
    except (TypeError, ValueError, RuntimeError):  # of several numbers
        number = None
    return json_value(number) if isinstance(number, bool | int | float) else str(value)
