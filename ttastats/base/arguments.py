"""What do callers of the Python functions give? One value for each parameter, or an error.

What a parameter takes goes by its name, wherever it occurs; a function may have parameters of its
own. A number, a mapping or a list is taken where it says the same as a text of the command line.
Errors name the parameter: those from further inside too, where they name an option.
"""

from __future__ import annotations

import errno
import math
import numbers
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError, raise_if, suggestion

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: Returns the value of a parameter, by its name and what was given.
Taken = Callable[[str, Any], Any]

#: Whether the command line asks: its errors name options.
_OF_COMMANDS: ContextVar[bool] = ContextVar("OF_COMMANDS", default=False)
#: Parameters that are not called as their options.
OPTIONS = {"in": "unit", "label": "labels", "detect": "effects", "runs": "n", "code": "codes",
           "profile-a": "profiles", "profile-b": "profiles", "sequential": "max_runs"}  # fmt: skip


def shown(value: object) -> str:
    """Return a value as errors show it, or its type where that is long."""
    try:
        text = repr(value)
    except Exception:  # of somebody's class, or nested too deeply
        text = ""
    return (
        text.encode("ascii", "backslashreplace").decode()
        if 0 < len(text) < 80
        else type(value).__name__
    )


def refusal(name: str, value: object, remedy: str) -> TtastatsError:
    """Return the error for an invalid value of a parameter."""
    return TtastatsError(f"{shown(value)} is not valid", where=f"{name}=", remedy=remedy)


def is_text(value: object) -> bool:
    """Return whether a value is a text that can be written: no half of a pair of surrogates."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def written(value: float) -> str:
    """Return a number as a text has it: `0.9`, `10`."""
    return repr(float(value)).removesuffix(".0")


def listed(value: Any) -> tuple[Any, ...]:
    """Return one value or several as a tuple: a text is one, never its letters."""
    if value is None:
        return ()
    try:
        return (value,) if isinstance(value, str | bytes | Mapping) else tuple(value)
    except TypeError:  # nothing to iterate over
        return (value,)


def texts(example: str, *, comma: bool = False) -> Taken:
    """Take one text or several; with `comma` one text may list them."""

    def take(name: str, value: Any) -> tuple[str, ...]:
        if comma and isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        for item in (items := listed(value)):
            if not is_text(item):
                raise refusal(name, item, f"Give a text or a list of texts, such as {example}.")
        return items

    return take


def text(example: str) -> Taken:
    """Take a text, or None for nothing."""

    def take(name: str, value: Any) -> Any:
        if value is None or is_text(value):
            return value
        raise refusal(name, value, f"Give a text, such as {example}.")

    return take


#: Parameters that are a fraction, with the limits. A confidence of half or less would make an
#: interval meaningless, and none so near 1 is left of it; a coefficient of variation may exceed
#: 100 %, with a percent sign, but nobody plans for ten times the mean.
FRACTIONS: dict[str, dict[str, float]] = {
    "confidence": {"above": 0.5, "below": 1 - 1e-9}, "level": {"above": 1e-9, "below": 0.5},
    "power": {}, "cv": {"below": 10.0},
}  # fmt: skip


def fraction(*, above: float = 0.0, below: float = 1.0) -> Taken:
    """Take a fraction between limits, or a percentage in a text."""

    def take(name: str, value: Any) -> float:
        if not isinstance(value, str) and not is_number(value):
            raise refusal(name, value, "Give a fraction, such as 0.05.")
        if not isinstance(value, str) and value < 1 and not above < value < below:
            raise refusal(name, value, f"Give a fraction above {above:g} and below {below:g}.")
        fraction_text = value if isinstance(value, str) else written(value)
        return percentages.parse_fraction(fraction_text, f"{name}=", above=above, below=below)

    return take


def margin(name: str, value: Any) -> float:
    """Take a difference: a number above 0, or a percentage in a text."""
    if isinstance(value, str):
        return percentages.parse_fraction(value, f"{name}=")
    if not is_number(value) or value <= 0:
        raise refusal(name, value, "Give a number above 0, such as 0.01.")
    return float(value)


def whole(least: int, most: int | None = None) -> Taken:
    """Take a whole number between limits, or None for the default."""

    def take(name: str, value: Any) -> int | None:
        if value is None:
            return None
        is_whole = is_number(value) and value == int(value)
        if not is_whole or value < least or (most is not None and value > most):
            limits = f"from {least} on" if most is None else f"from {least} to {most:,}"
            raise refusal(name, value, f"Give a whole number {limits}.")
        return int(value)

    return take


def number(name: str, value: Any) -> float | None:
    """Take a finite number, or None."""
    if value is None or is_number(value):
        return value if value is None else float(value)
    raise refusal(name, value, "Give a number.")


def truth(name: str, value: Any) -> bool:
    """Take True or False."""
    if isinstance(value, bool) or type(value).__name__ in {"bool", "bool_"}:  # of numpy
        return bool(value)
    raise refusal(name, value, "Give True or False.")


def choice(*known: str) -> Taken:
    """Take one of some words."""

    def take(name: str, value: Any) -> str:
        if isinstance(value, str) and value in known:
            return value
        message = f"{shown(value)} is not one of {', '.join(known)}"
        remedy = suggestion(shown(value), known, "Values")
        raise TtastatsError(message, where=f"{name}=", remedy=remedy)

    return take


def conditions(name: str, value: Any) -> tuple[Any, ...]:
    """Take conditions: texts, expressions of polars, or a mapping of columns to values."""
    conditions_: list[Any] = []
    for condition in listed(value):
        if isinstance(condition, Mapping):
            conditions_ += [
                f"{column}={_condition_values(name, values)}"
                for column, values in condition.items()
            ]
        elif is_text(condition) or hasattr(condition, "meta") or hasattr(condition, "operator"):
            conditions_.append(condition)
        else:
            remedy = "Give a text such as 'nodes>=8', or an expression: pl.col('nodes') >= 8."
            raise refusal(name, condition, remedy)
    return tuple(conditions_)


def _condition_values(name: str, value: Any) -> str:
    """Return values as a condition has them, each as it is."""
    values = listed(value)
    for item in values:
        if not is_text(item) and not isinstance(item, numbers.Number | bool | date):
            raise refusal(name, item, "Give a value of a column, or several.")
    escaped = (re.sub(r'(["\\])', r"\\\1", str(item)) for item in values)
    return ",".join(f'"{item}"' for item in escaped)


def targets(name: str, value: Any) -> tuple[str, ...]:
    """Take targets: texts, numbers, or a mapping of metrics to either."""
    goals: list[str] = []
    for item in listed(value):
        for metric, goal in item.items() if isinstance(item, Mapping) else [("", item)]:
            if not (is_text(goal) or is_number(goal)) or not is_text(metric):
                remedy = "Give a number, a text such as 'accuracy>=0.9', or {'accuracy': 0.9}."
                raise refusal(name, goal, remedy)
            goal = goal if isinstance(goal, str) else written(goal)
            is_equality = metric and not re.match(r"\s*[<>=]", goal)
            quoted = f'"{metric}"' if re.search(r"[\s=<>]", metric) else metric
            goals.append(f"{quoted}{'=' if is_equality else ''}{goal}")
    return tuple(goals)


def budget(name: str, value: Any) -> str:
    """Take a budget: a text, or a mapping of one unit to an amount."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((unit, amount),) = value.items()
        if is_number(amount):
            return f"{unit}={written(amount)}"
    elif isinstance(value, str):
        return value
    remedy = "Write 'step=3325' or {'step': 3325}; also epoch, samples, seconds."
    raise refusal(name, value, remedy)


def limit(name: str, value: Any) -> str:
    """Take a limit that is not to be passed: a text such as `<= 80`, or the number alone."""
    if isinstance(value, str):
        return value
    if not is_number(value):
        raise refusal(name, value, "Give a number, or a text such as '<= 80'.")
    return f"<= {written(value)}"


def prices(name: str, value: Any) -> Any:
    """Take one price or several, each a number or a column."""
    for price in listed(value):
        if not isinstance(price, str) and not (is_number(price) and price >= 0):
            raise refusal(name, price, "Give dollars per hour, or a column with them.")
    return value if isinstance(value, str) else listed(value)


def expect_path(value: object, where: str) -> None:
    """Raise an error for what can be no path: another type, a name too long or with odd letters."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TtastatsError(f"{type(value).__name__} is no path", where=where, remedy=_A_PATH)
    try:
        os.fsencode(text)
        if "://" not in text:
            os.lstat(text)
    except ValueError as error:
        raise TtastatsError(
            f"no path can hold this: {error}", where=where, remedy=_A_PATH
        ) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise TtastatsError("the name is too long", where=where, remedy=_A_PATH) from None


_A_PATH = "Give the path of a file or folder."


def path(name: str, value: Any) -> Any:
    """Take a path or URL, or None."""
    if value is not None:
        expect_path(value, f"{name}=")
    return value


def paths(name: str, value: Any) -> tuple[Any, ...]:
    """Take one path or URL, or several."""
    paths_ = listed(value)
    for item in paths_:
        expect_path(item, f"{name}=")
    if not paths_:
        raise TtastatsError("no path given", where=f"{name}=", remedy="Give a path or several.")
    return paths_


def function(name: str, value: Any) -> Any:
    """Take a function, or None."""
    if value is None or callable(value):
        return value
    raise refusal(name, value, "Give a function.")


def a_goal(name: str, value: Any) -> Any:
    """Take a target of one metric: a number, or a text such as `>=0.75`."""
    if is_text(value) or is_number(value):
        return value if isinstance(value, str) else written(value)
    remedy = "Write 0.94, '94%', '>=0.94' or '<=3.28'."
    raise TtastatsError(f"{shown(value)} is not a quality target", where=f"{name}=", remedy=remedy)


def fractions(name: str, value: Any) -> tuple[float, ...]:
    """Take one difference or several, of less than ten times the mean."""
    return tuple(fraction(below=10.0)(name, difference) for difference in listed(value))


_COLUMNS = texts("'benchmark' or ['benchmark', 'entry']", comma=True)
_WORDS = texts("'A' or ['A', 'B']")
#: What each parameter takes, by name.
KINDS: dict[str, Taken] = {
    **dict.fromkeys(("by", "levels", "block", "sources", "on", "also", "codes"), _COLUMNS),
    **dict.fromkeys(("labels", "partition"), _WORDS),
    **dict.fromkeys(("fail_on", "require"), texts("'slower:2%'")),
    **dict.fromkeys(("metric", "mine", "sort", "title", "command", "quality"), text("'accuracy'")),
    **dict.fromkeys(("dialect", "round", "ruleset", "rules", "kind", "order"), text("'date'")),
    "unit": text("'epochs'"), "clock": text("'training'"),
    "where": conditions, "target": targets, "at": budget, "price": prices,
    **{name: fraction(**limits) for name, limits in FRACTIONS.items()},
    "effects": fractions, "margin": margin,
    "sigma": number, "against": number,
    "ddof": whole(0, 1), "seed": whole(0),
    **dict.fromkeys(("top",), whole(0)),
    **dict.fromkeys(("max_runs", "n", "points", "draws"), whole(1, 10**9)),
    "workers": whole(1, 1_000),
    **dict.fromkeys(("censor_stopped", "pool", "at_end", "best", "interpolate", "dots"), truth),
    **dict.fromkeys(("interactions", "same", "bypass", "verbose", "append"), truth),
    **dict.fromkeys(("same_convergence", "epochs_fixed", "fdr", "wide", "strips"), truth),
    "margin_claims": truth,
    "estimand": choice("mean", "geomean"), "metrics": choice("evaluations", "all"),
    **dict.fromkeys(("output", "config", "records", "path"), path), "paths": paths,
    **dict.fromkeys(("on_progress", "ask"), function),
}  # fmt: skip


def taken(
    given: Mapping[str, Any],
    own: Mapping[str, Taken] | None = None,
    usual: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return values by the names of their parameters, as functions compute with them.

    None stands for the usual value; a parameter that has none, in `usual`, must have one.
    """
    kinds, usual = {**KINDS, **(own or {})}, usual or {}
    values = {}
    for name, value in given.items():
        values[name] = usual.get(name) if value is None else value
        if name in kinds and value is not None:
            values[name] = kinds[name](name, value)
        elif name in kinds and name not in usual:
            raise refusal(name, value, "Give a value.")
    return values


def checked(
    own: Mapping[str, Taken] | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator of a function that computes with typed values; `own` are its parameters.

    What is not given is left to the function.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        parameters = signature(function)
        variadic = {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}
        keywords = {name: p for name, p in parameters.parameters.items() if p.kind not in variadic}
        defaults = {
            name: p.default for name, p in keywords.items() if p.default is not Parameter.empty
        }

        @wraps(function)
        def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                bound = parameters.bind(*args, **kwargs)
            except TypeError as error:
                unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
                hint = f". {suggestion(unknown[1], keywords, 'Keywords')}" if unknown else ""
                raise TypeError(f"{function.__name__}() {error}{hint}") from None
            with named_in_python(own or ()):
                arguments = {
                    name: value for name, value in bound.arguments.items() if name in keywords
                }
                bound.arguments |= taken(arguments, own, defaults)
                lacks_sources = "sources" in parameters.parameters and not bound.args
                raise_if(lacks_sources, "no file given", "sources=", _A_PATH)
                return function(*bound.args, **bound.kwargs)

        wrapper.__signature__ = parameters  # type: ignore[attr-defined]
        return wrapper

    return decorate


@contextmanager
def on_command_line() -> Iterator[None]:
    """Let errors in the block name options."""
    token = _OF_COMMANDS.set(True)
    try:
        yield
    finally:
        _OF_COMMANDS.reset(token)


_OPTION = re.compile(
    r"(?<![\w-])--(?P<name>[a-z][a-z-]*)(?:[ =](?P<value>'[^']*'|[^\s,;]*[\d:=<>%_*][^\s,;]*))?"
)


def in_python(text: str, known: Iterable[str] = ()) -> str:
    """Return a text with parameters in place of options."""
    names = {"profiles", *KINDS, *known}

    def argument(option: re.Match[str]) -> str:
        name = OPTIONS.get(option["name"], option["name"].replace("-", "_"))
        if name not in names:
            return option[0]
        value = option["value"] or ""
        end = re.search(r"[.:)]*$", value)
        tail = end[0] if end else ""
        value = value.removesuffix(tail).strip("'")
        value_text = repr(value) if value else "True" if KINDS.get(name) is truth else ""
        return f"{name}={value_text}{tail}"

    return _OPTION.sub(argument, text)


@contextmanager
def named_in_python(known: Iterable[str] = ()) -> Iterator[None]:
    """Let errors of the block name parameters in place of the options that they stand for."""
    try:
        yield
    except TtastatsError as error:
        if not _OF_COMMANDS.get():
            for part in ("what", "where", "remedy"):
                text = getattr(error, part)
                setattr(error, part, text and in_python(text, known))
            error.args = (str(error),)
        raise
