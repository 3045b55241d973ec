"""What is a row of an answer? A frozen struct; its fields are the keys that programs read."""

from __future__ import annotations

from typing import Any

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one group of runs, or of one comparison.

    A field is a key of JSON and CSV, in the order in which they are declared, under its `name` if
    `msgspec.field` renames it. `keys` are the values of the columns by which runs were grouped, and
    come first. A field whose value is a row gives its keys in its place, and one that is
    `msgspec.UNSET` gives none.
    """

    keys: dict[str, Any] = {}

    def numbers(self) -> dict[str, Any]:
        """Return the row for programs: seconds, fractions, None for unknown."""
        numbers = dict(self.keys)
        for name, key in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            value = getattr(self, name)
            if isinstance(value, Row):
                numbers |= value.numbers()
            elif value is not msgspec.UNSET and name != "keys":
                numbers[key] = value
        return numbers

    def get(self, name: str) -> Any:
        """Return the value of a key that is known by its name only, as one of `--by`."""
        return self.keys[name] if name in self.keys else getattr(self, name)
