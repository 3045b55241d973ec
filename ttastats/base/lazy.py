"""Items that are made when somebody reads them: of thousands of rows people see a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T]):
    """So many items, each made by its place when it is first read."""

    def __init__(self, make: Callable[[int], T], size: int) -> None:
        self._make, self._size = make, size
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lazy | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            places = range(self._size)[place]
            return Lazy(lambda number: self[places[number]], len(places))
        place = range(self._size)[place]
        if place not in self._made:
            self._made[place] = self._make(place)
        return self._made[place]


def lazy_subset(items: Sequence[T], places: Sequence[int]) -> Sequence[T]:
    """Return the items at the given positions, in that order, as a lazy sequence."""
    return Lazy(lambda number: items[places[number]], len(places))
