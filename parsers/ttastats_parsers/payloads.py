"""Payloads and numbers of logs, however they are spelled: JSON, Python, or nearly either."""

from __future__ import annotations

import ast
import json
import re
import warnings
from datetime import UTC, datetime
from math import floor, isfinite
from typing import Any

import msgspec

_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode
#: No logger writes a longer event (the longest known has 2,323 bytes); what lies behind is output
#: of other programs, and is not searched for more.
LONGEST = 1 << 20
#: Payloads that are no JSON are short; slower ways of reading are tried on no others.
_LONGEST_LENIENT = 1 << 14
_BARE_WORD = re.compile(r"(?<=[{,:\[ ])([A-Za-z_][\w./-]*+)(?=\s*[:,}\]])")
#: Python reads over `0.37_14` and knows `0x1f`; in a log they are numbers with a torn digit.
_NUMBER_OF_A_PROGRAM = re.compile(r"(?<![\w.'\"/-])(?:0[xXoObB]|\d[\d.]*_\d)")
_LITERALS = {"true", "false", "null", "NaN", "Infinity"}
_plain_json = json.JSONDecoder()
#: Reads control characters in texts, too.
LENIENT_JSON = json.JSONDecoder(strict=False)


def decode(payload: bytes) -> Any:
    """Return the value of a payload: JSON, else a Python literal, else JSON with unquoted words.

    Text glued behind a complete JSON value is ignored, as other programs write to the same line. A
    ValueError says that the payload is none of these.
    """
    payload = payload[:LONGEST]
    try:
        return _decode_json(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    text = payload.decode("utf-8", "replace").strip()
    torn = text.startswith("{") and "}" not in text
    attempts = (_json_prefix, _python_literal, _unquoted_json)
    for attempt in attempts if len(text) <= _LONGEST_LENIENT and not torn else attempts[:1]:
        try:
            value = attempt(text)
            _encode_json(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError):
            continue
        return value
    raise ValueError(f"neither JSON nor a Python literal: {text[:80]!r}")


def json_value(content: bytes | str, other: json.JSONDecoder = _plain_json) -> Any:
    """Return a JSON value or None; one with NaN and Infinity is what the `other` decoder reads."""
    try:
        return _decode_json(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig", "replace")
        return other.decode(text)
    except (ValueError, RecursionError):
        return None


def shown(value: Any) -> str:
    """Return a value as text for comparisons; one nested too deeply equals no other."""
    try:
        return value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__} {id(value)}"


_SIMPLE_TYPES = {float, bool, type(None)}
#: The first whole number that no column holds.
_LARGEST = 2**63


def storable(value: Any) -> Any:
    """Return a value as a table keeps it in JSON: with texts for keys, or as a text itself."""
    kind = type(value)
    if (
        kind in _SIMPLE_TYPES
        or (kind is str and value.isascii())
        or (kind is int and -_LARGEST <= value < _LARGEST)
    ):
        return value
    try:
        _encode_json(value)
        return _with_text_keys(value)
    except (ValueError, TypeError, RecursionError, OverflowError):
        text = shown(value)[:200].encode("utf-8", "replace").decode()
        return None if isinstance(value, dict | list) else text


def _with_text_keys(value: Any) -> Any:
    """Return a value whose mappings have texts for keys, as the JSON of tables must."""
    if isinstance(value, dict):
        return {str(key): _with_text_keys(item) for key, item in value.items()}
    return [_with_text_keys(item) for item in value] if isinstance(value, list | tuple) else value


def _json_prefix(text: str) -> Any:
    return LENIENT_JSON.raw_decode(text)[0]


def _python_literal(text: str) -> Any:
    """Read `{"value": null, "metadata": {'lineno': 615}}`: JSON words inside a Python literal."""
    if _NUMBER_OF_A_PROGRAM.search(text):
        raise ValueError("a number that no logger writes")
    words = {"null": "None", "true": "True", "false": "False"}
    python = re.sub(r"\b(?:null|true|false)\b", lambda match: words[match[0]], text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that a program's paths may hold
        return ast.literal_eval(python)


def _unquoted_json(text: str) -> Any:
    """Read `{value: true, metadata: {lineno: 0, file: manual}}`."""

    def quoted(match: re.Match[str]) -> str:
        word = match.group(1)
        return word if word in _LITERALS else f'"{word}"'

    return _json_prefix(_BARE_WORD.sub(quoted, text))


def as_mapping(value: Any) -> dict[str, Any]:
    """Return `value` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_float(value: Any) -> float | None:
    """Return a number that is logged as a number, as text, or as text in brackets.

    What is not finite is no measurement: an infinite score would meet every target.
    """
    kind = type(value)
    if kind is float:
        return value if isfinite(value) else None
    if kind is int:
        try:
            return float(value)
        except OverflowError:  # too large to be a measurement
            return None
    if isinstance(value, str) and "_" not in value:  # which Python would read over
        try:
            number = float(value.strip().strip("[]()"))
        except ValueError:
            return None
        return number if isfinite(number) else None
    return None


def since(time: float | None, zero: float | None) -> float | None:
    """Return a difference of times rounded to the microsecond, or None.

    It is what `round` gives, at a fifth of its price.
    """
    return None if time is None or zero is None else floor((time - zero) * 1e6 + 0.5) / 1e6


def date_of(seconds: float | None) -> datetime | None:
    """Return the date and time of seconds since 1970, None if out of range."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def seconds_of(stamp: bytes) -> float:
    """Return the number of a time stamp; of a torn line, raise a ValueError."""
    number = as_float(stamp.decode())
    if number is None:
        raise ValueError(f"not a time stamp: {stamp!r:.80}")
    return number


def as_int(value: Any) -> int | None:
    """Return a whole number however it is logged: 8, 8.0 or "8"; None for anything else.

    One beyond 64 bits is None too, as no column holds it; the digits of a long one are all kept.
    """
    if value is None or (type(value) is int and -_LARGEST <= value < _LARGEST):
        return value
    number: float | None
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        value = value.strip()[:40]
        number = int(value)
    else:
        number = value if type(value) is int else as_float(value)
    if number is None or not -_LARGEST <= number < _LARGEST or number != int(number):
        return None
    return int(number)
