"""What does an MLPerf log tell of training itself: losses, learning rates, throughput?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ttastats.base.metric_names import higher_is_better
from ttastats.base.records import Evaluation
from ttastats_parsers.mlperf_events import Event
from ttastats_parsers.payloads import as_float, as_int, since

#: Keys of events that training logs again and again; `tracked_stats` holds several numbers.
KEYS = ("train_loss", "tracked_stats")


def training_of(by_key: Mapping[str, Sequence[Event]], start: Event) -> list[Evaluation]:
    """Return training metrics in the order of time, with numbers below 0: they evaluate nothing.

    The key `step` of `tracked_stats` is left out: it counts samples, steps or epochs.
    """
    events = sorted(
        (event for key in KEYS for event in by_key.get(key, ())), key=lambda event: event.time or 0
    )
    rows = [list(_rows(event, start)) for event in events]
    return [
        replace(row, index=number - len(rows)) for number, found in enumerate(rows) for row in found
    ]


def _rows(event: Event, start: Event) -> Iterator[Evaluation]:
    values = event.value if isinstance(event.value, dict) else {event.key: event.value}
    rate = {} if event.metadata.lr is None else {"lr": event.metadata.lr}
    seconds = since(event.time, start.time)
    for metric, logged in {**values, **rate}.items():
        value = as_float(logged)
        if value is not None:
            yield Evaluation(
                index=0,
                metric=str(metric),
                value=value,
                logged_value=value,
                seconds=seconds,
                higher_is_better=higher_is_better(str(metric)),
                epoch=as_float(event.metadata.epoch_num),
                step=as_int(event.metadata.step_num),
                samples=as_int(event.metadata.samples_count),
                line=event.line,
            )
