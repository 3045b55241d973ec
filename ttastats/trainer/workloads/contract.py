"""What may a workload's file give? A recipe, data, a model, and what of the training it owns.

Every function of a file takes what it names: values of its recipe, what its hook is given, and what
all are given (`COMMON`). Whatever a file leaves out, the trainer does in its own way.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import random
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from msgspec import Struct
from torch import Tensor, nn
from torch.nn import functional

from ttastats.base import metrics, percentages
from ttastats.base.errors import TtastatsError, nearest_names, raise_if, suggestion

#: Names a workload's file must define.
REQUIRED = ("RECIPE", "data", "model")
#: The hooks a file may define, and what each is given beside the values of the recipe and `COMMON`;
#: what comes first is given by place as well, so that a file may call it as it likes.
HOOKS: Mapping[str, tuple[str, ...]] = {
    "data": ("folder",),
    "model": ("width", "data"),
    "dummy": ("samples",),
    "augment": ("inputs", "rng", "epoch", "step"),
    "batches": ("data", "rng", "epoch"),
    "loss": ("outputs", "targets"),
    "optimizer": ("model",),
    "schedule": ("epoch", "step", "group"),
    "step": ("model", "inputs", "targets", "optimizers", "epoch", "step", "autocast"),
    "score": ("outputs", "targets"),
    "evaluate": ("model", "data"),
    "check": ("folder",),
}
COMMON = ("device", "seed")

Value: TypeAlias = float | int | bool | str

#: The `evaluate_every` of a recipe that asks for the quality once, when its epochs are used up.
END = "end"


class LearningRate(Struct, frozen=True):
    """The peak learning rate at one batch size, and how it follows the batch size."""

    peak: float
    at_batch_size: int
    scaling: Literal["linear", "sqrt"]
    weight_decay: float


#: What a recipe that does not say otherwise has, in parts that a hook of that name replaces.
_DEFAULTS: Mapping[str, Mapping[str, Value]] = {
    "": {"evaluate_every": 1.0, "drop_last": False, "precision": "fp32", "compile": False,
         "channels_last": False, "threads": 0, "workers": 1},
    "optimizer": {"optimizer": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.0},
    "schedule": {"warmup_epochs": 0.0},
    "evaluate": {"eval_batch_size": 1024},
}  # fmt: skip


class Recipe:
    """The defaults of a workload: every value can be set per run, and is in the log.

    Parameters
    ----------
    metric, higher_is_better
        What the quality is called, and which way it counts.
    target, epochs
        A run ends when it reaches the target, or when its epochs are used up; parts of one count.
    batch_size
        Samples per step, over all workers.
    learning_rates
        The peak rate by the name of the optimizer, where it follows the batch size; `lr` and
        `weight_decay` of a run come from here unless they are set.
    values
        Whatever else the file's functions name; and what the trainer asks: `lr`, `optimizer` (sgd
        or adamw), `momentum`, `nesterov`, `weight_decay`, `warmup_epochs` and `schedule_epochs`
        (the rate rises in a straight line, then falls to zero), `evaluate_every` (epochs, or
        `END`), `drop_last`, `eval_batch_size`, `precision`, `compile`, `channels_last`, `threads`
        (of each worker; 0 leaves it to the trainer) and `workers`; with `dummy` also
        `train_samples` and `eval_samples`.
    """

    def __init__(
        self,
        *,
        metric: str,
        higher_is_better: bool,
        target: float,
        epochs: float,
        batch_size: int,
        learning_rates: Mapping[str, LearningRate] | None = None,
        **values: Value,
    ) -> None:
        reserved = {name for names in HOOKS.values() for name in names} - {"width"} | set(COMMON)
        wrong = sorted(reserved & values.keys())
        raise_if(wrong, f"reserved names for values: {', '.join(wrong)}", "RECIPE")
        self.metric, self.higher_is_better = metric, higher_is_better
        #: Whether the quality lies between 0 and 1.
        self.is_share = False
        self.learning_rates = learning_rates or {}
        first = {"target": float(target), "epochs": float(epochs), "batch_size": batch_size}
        self.values: dict[str, Value] = {**first, **values}

    def with_defaults(self, hooks: Container[str]) -> Recipe:
        """Return the recipe completed by default values; `hooks` are those its file defines."""
        defaults: dict[str, Value] = {}
        for part, values in _DEFAULTS.items():
            defaults |= {} if part in hooks else values
        if "schedule" not in hooks:
            defaults["schedule_epochs"] = self.values["epochs"]
        if "optimizer" in hooks:
            defaults |= {"optimizer": "own", "lr": 1.0}
        whole = copy.copy(self)
        whole.values = {**defaults, **self.values}
        by_name = "accuracy" in self.metric.lower() and float(self.values["target"]) <= 1
        whole.is_share = by_name or ("score" not in hooks and "evaluate" not in hooks)
        return whole

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all values of a run."""
        return (*self.values, "lr")

    def complete(self, changes: Mapping[str, Value]) -> dict[str, Value]:
        """Return all values of a run: those of the recipe with the changes.

        A schedule that would end before the run may is stretched, unless it is set itself.
        """
        for name in changes.keys() - set(self.names):
            message, nearest = (
                f"the recipe has no value {name!r}",
                suggestion(name, self.names, "Values"),
            )
            raise TtastatsError(message, where=f"--set {name}", remedy=nearest)
        values: dict[str, Any] = {**self.values, **changes}
        for name in self.values.keys() & changes.keys():
            kind: Callable[[Any], Value] = type(self.values[name])
            if name == "evaluate_every":
                kind = str if changes[name] == END else float
            values[name] = kind(changes[name])
        self._expect_target(float(values["target"]))
        if "schedule_epochs" in values.keys() - changes and changes.get("epochs"):
            values["schedule_epochs"] = max(values["schedule_epochs"], values["epochs"])
        rate = self.learning_rates.get(str(values["optimizer"]))
        if rate is not None:
            ratio = int(values["batch_size"]) / rate.at_batch_size
            peak = rate.peak * (ratio if rate.scaling == "linear" else ratio**0.5)
            scaled = {"lr": peak, "weight_decay": rate.weight_decay}
            return values | scaled | {name: values[name] for name in scaled.keys() & changes}
        rated = " or ".join(self.learning_rates)
        is_missing = "lr" not in values or (rated and "lr" not in changes)
        remedy = f"Choose {rated}, or add --set lr=..." if rated else "Give lr=..."
        message = f"the recipe has no learning rate for {values['optimizer']!r}"
        raise_if(is_missing, message, "--optimizer" if rated else "RECIPE", remedy)
        return values

    def target(self, value: float) -> metrics.Target:
        """Return the target of a run by the rule of those who read its log."""
        return metrics.Target(self.metric, self.higher_is_better, value, 1, "user")

    def _expect_target(self, value: float) -> None:
        """Raise an error if a share is to be above 1: a percentage without its sign."""
        official = float(self.values["target"])
        fraction = self.higher_is_better and official <= 1 and metrics.may_be_share(self.metric)
        beyond = value > (1 if self.is_share else metrics.LARGEST_FRACTION)
        message = f"{value:g} cannot be reached: {self.metric} is a number from 0 to 1"
        remedy = f"Write {value:g}% or {value / 100:g}."
        raise_if(beyond and (fraction or self.is_share), message, "--target", remedy)

    def parse_value(self, name: str, text: str) -> Value:
        """Return the value of `--set NAME=`, in the type of the default."""
        if name not in self.names:
            self.complete({name: text})
        default = self.values.get(name, 0.0)
        if name == "evaluate_every":
            default = END if text == END else 1.0
        try:
            if isinstance(default, bool):
                return {"true": True, "false": False}[text.lower()]
            if isinstance(default, float):
                return percentages.expect_number(text, f"--set {name}")
            return type(default)(text)
        except (KeyError, ValueError):
            kind = "true or false" if isinstance(default, bool) else "a whole number"
            raise TtastatsError(f"{text!r} is not {kind}", where=f"--set {name}") from None


class Data(Struct, frozen=True, eq=False):
    """All samples of a workload; the first dimension of each tensor counts samples."""

    train_inputs: Tensor
    train_targets: Tensor
    eval_inputs: Tensor
    eval_targets: Tensor
    notes: tuple[str, ...] = ()
    #: What lies in files, where `data` uploads that and makes the samples of it on the device.
    raw: tuple[Tensor, ...] = ()
    #: Inputs and targets that nothing looks at before the run has ended.
    test: tuple[Tensor, Tensor] | None = None

    def __post_init__(self) -> None:
        """Raise an error for samples that cannot be trained on or evaluated."""
        for part in ("train", "eval"):
            sizes = []
            for name in (f"{part}_inputs", f"{part}_targets"):
                tensor = getattr(self, name)
                wrong = f"{name} is {_described(tensor)}, not a tensor"
                raise_if(not isinstance(tensor, Tensor), wrong, remedy="Use torch.as_tensor.")
                raise_if(not tensor.dim() or not len(tensor), f"{name} has no samples")
                sizes.append(len(tensor))
            inputs, targets = sizes
            uneven = f"{part}_inputs has {inputs:,} samples, {part}_targets has {targets:,}"
            raise_if(inputs != targets, uneven)

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the four tensors of training and evaluation samples."""
        return self.train_inputs, self.train_targets, self.eval_inputs, self.eval_targets

    def to_device(self, device: torch.device) -> Data:
        """Return the data in the memory of a device."""
        inputs, targets, eval_inputs, eval_targets = (tensor.to(device) for tensor in self.tensors)
        raw = self.raw or self.tensors
        return Data(inputs, targets, eval_inputs, eval_targets, self.notes, raw, self.test)

    def digest(self) -> str:
        """Return the SHA-256 of the samples as they were before they came to a device."""
        state = hashlib.sha256()
        for tensor in (*(self.raw or self.tensors), *(self.test or ())):
            # NumPy knows no bfloat16: bytes are bytes.
            flat = tensor.detach().cpu().contiguous().flatten()
            state.update(flat.view(torch.uint8).numpy().tobytes())
        return state.hexdigest()


class Hook(Struct, frozen=True):
    """A function of a workload; arguments are passed by position or by name."""

    name: str
    function: Callable[..., Any]
    given: tuple[str, ...]
    #: The function's parameters, each with the name of what it gets; None: everything by place.
    parameters: Mapping[str, str] | None
    #: File and line, for errors.
    where: str = ""

    def __call__(self, *by_place: Any, **by_name: Any) -> Any:
        """Call the function with its parameters, and check the result."""
        values = {**by_name, **dict(zip(self.given, by_place, strict=False))}
        try:
            if self.parameters is None:
                value = self.function(*by_place)
            else:
                names = self.parameters.items()
                value = self.function(**{name: values[of] for name, of in names if of in values})
        except Exception as error:
            if not hasattr(error, "hook"):
                error.hook = self.where  # type: ignore[attr-defined]
            raise
        if wrong := self.name in _EXPECTED and _EXPECTED[self.name](value, values):
            raise TtastatsError(f"returned {_described(value)}, not {wrong}", where=self.where)
        return value

    def takes(self, word: str) -> bool:
        """Return whether the function takes a parameter of this name."""
        return word in (self.parameters or {}).values()


def _described(value: Any) -> str:
    """Return a value in words: its type, and the shape of a tensor."""
    if value is None:
        return "None"
    shape = f" of shape {tuple(value.shape)}" if hasattr(value, "shape") else ""
    return f"a {type(value).__name__}{shape}"


def _one_per_sample(value: Any, values: Mapping[str, Any]) -> str:
    samples = len(values["targets"])
    fits = isinstance(value, Tensor) and value.shape == (samples,)
    return "" if fits else f"one number for each of {samples} samples, a tensor of ({samples},)"


def _optimizers(value: Any, _values: Mapping[str, Any]) -> str:
    several = list(value) if isinstance(value, Sequence) else [value]
    needed = ("param_groups", "zero_grad", "step")
    fits = several and all(hasattr(optimizer, name) for optimizer in several for name in needed)
    return "" if fits else f"an optimizer with {', '.join(needed)}, or several"


def _one_number(value: Any, _values: Mapping[str, Any]) -> str:
    size = getattr(value, "size", 1)
    count = value.numel() if isinstance(value, Tensor) else size
    return "" if count == 1 and hasattr(value, "__float__") else "one number"


def _loss(value: Any, _values: Mapping[str, Any]) -> str:
    fits = isinstance(value, Tensor) and value.numel() == 1 and value.requires_grad
    return "" if fits else "the mean over the batch as a tensor with its gradient"


def _is(kind: type, description: str) -> Callable[[Any, Mapping[str, Any]], str]:
    return lambda value, _values: "" if isinstance(value, kind) else description


#: By hook: what else it should have returned, or an empty text; neither waits for the device.
_EXPECTED: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "data": _is(Data, "a Data"),
    "model": _is(nn.Module, "a torch.nn.Module"),
    "batches": _is(Iterable, "pairs of inputs and targets"),
    "augment": lambda value, _values: "inputs" if value is None else "",
    "schedule": _one_number,
    "loss": _loss,
    "score": _one_per_sample,
    "evaluate": _one_number,
    "optimizer": _optimizers,
}


def make_hook(name: str, function: Callable[..., Any], recipe: Recipe, where: str = "") -> Hook:
    """Return a function as the hook of a name, with its parameters resolved."""
    arguments = HOOKS[name]
    try:
        signature = list(inspect.signature(function).parameters.values())
    except ValueError:  # a function written in C tells nothing
        return Hook(name, function, arguments, None, where)
    by_name = [p for p in signature if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    if signature and not by_name:
        return Hook(name, function, arguments, None, where)
    # By `target` a loss means that of a sample, not the quality to be reached.
    names = {*arguments, *COMMON} - {"width"} | set(recipe.names) - {"target"}
    remedy = (
        f"Available arguments: {', '.join((*arguments, *COMMON))} and the values of the recipe."
    )
    parameters = {}
    for number, parameter in enumerate(by_name):
        word = parameter.name.lstrip("_")
        if word not in names and parameter.default is parameter.empty:
            word = arguments[number] if number < len(arguments) else ""
            message = f"{name} takes {parameter.name!r}, which is neither an argument nor in RECIPE"
            raise_if(word not in names, message, remedy=remedy)
        if word in names:
            parameters[parameter.name] = word
    return Hook(name, function, arguments, parameters, where)


#: What the trainer does where a file does not say it, as far as it is a function of its own: the
#: score of a sample is 1 if its highest class score is that of the right class, else 0.
_OWN_WAYS: Mapping[str, Callable[..., Any]] = {
    "augment": lambda inputs: inputs,
    "loss": lambda outputs, targets: functional.cross_entropy(outputs, targets),
    "score": lambda outputs, targets: (outputs.argmax(dim=-1) == targets).double(),
    "check": lambda: None,
}


class Workload(Struct, frozen=True):
    """One task: its recipe and its hooks, None where the trainer goes its own way.

    `source` is the text of the file and `imported` those of the files it imports; `sha256`, the
    digest of them all, is what the workload *is*, wherever the file lies.
    """

    name: str
    recipe: Recipe
    source: str
    imported: tuple[str, ...]
    sha256: str
    #: The path of the file, as in tracebacks.
    file: str
    #: Functions that nothing calls, by names almost those of hooks.
    unused: tuple[str, ...]
    #: What the file defines, and a copy of what a function of it may change.
    namespace: dict[str, Any]
    state: Mapping[str, Any]
    data: Hook
    model: Hook
    augment: Hook
    loss: Hook
    score: Hook
    check: Hook
    dummy: Hook | None = None
    batches: Hook | None = None
    optimizer: Hook | None = None
    schedule: Hook | None = None
    step: Hook | None = None
    evaluate: Hook | None = None

    def restore_globals(self) -> None:
        """Give the variables of the file the values that they had when it was read."""
        for name, value in self.state.items():
            set_state = _STATES.get(type(self.namespace[name]), (None, None))[1]
            if set_state is None:
                self.namespace[name] = copy.deepcopy(value)
            else:  # functions may hold it as a default
                set_state(self.namespace[name], value)


#: How the state of a generator is read and set, by its type.
_STATES: Mapping[type, tuple[Callable[[Any], Any], Callable[[Any, Any], object]]] = {
    torch.Generator: (torch.Generator.get_state, torch.Generator.set_state),
    random.Random: (random.Random.getstate, random.Random.setstate),
    np.random.RandomState: (np.random.RandomState.get_state, np.random.RandomState.set_state),
    np.random.Generator: (
        lambda rng: copy.deepcopy(rng.bit_generator.state),
        lambda rng, state: setattr(rng.bit_generator, "state", state),
    ),
}
_COPIED = (int, float, str, list, dict, set, Tensor, np.ndarray)


def _state_of(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states of generators, and copies of numbers, texts, containers and arrays."""
    state: dict[str, Any] = {}
    for name, value in namespace.items():
        if type(value) in _STATES:
            state[name] = _STATES[type(value)][0](value)
        elif type(value) in _COPIED and not name.startswith("__"):
            state[name] = copy.deepcopy(value)
    return state


def make_workload(
    name: str, source: str, imported: Sequence[str], namespace: dict[str, Any]
) -> Workload:
    """Return the workload defined by the names in a file."""
    recipe = namespace["RECIPE"]
    raise_if(not isinstance(recipe, Recipe), "RECIPE is not a Recipe")
    recipe = recipe.with_defaults(namespace)
    unsized = not {"train_samples", "eval_samples"} <= recipe.values.keys()
    needs = "dummy needs the numbers of samples to compute the batch sizes"
    remedy = "Set train_samples=... and eval_samples=... in RECIPE, or remove dummy."
    raise_if("dummy" in namespace and unsized, needs, remedy=remedy)
    file = str(namespace["__file__"])
    functions = {word: namespace[word] for word in HOOKS if word in namespace}
    lines = {word: _line_of(function, file, word) for word, function in functions.items()}
    for word, function in _OWN_WAYS.items():
        if functions.setdefault(word, function) is function:
            lines[word] = f"{lines['data']}, by the default {word}"
    hooks = {word: make_hook(word, functions[word], recipe, lines[word]) for word in functions}
    digest = hashlib.sha256("\0".join((source, *imported)).encode()).hexdigest()
    unused = tuple(_unused_functions(namespace, source))
    texts, state = tuple(imported), _state_of(namespace)
    return Workload(name, recipe, source, texts, digest, file, unused, namespace, state, **hooks)


def _line_of(function: Callable[..., Any], file: str, name: str) -> str:
    """Return file and line of a hook; of one that is imported, the file alone."""
    code = getattr(function, "__code__", None)
    line = f", line {code.co_firstlineno}" if code and code.co_filename == file else ""
    return f"{file}{line}, in {name}"


def _unused_functions(namespace: Mapping[str, Any], source: str) -> Iterable[str]:
    """Yield warnings of uncalled functions whose names resemble hooks."""
    for name, function in namespace.items():
        close = isinstance(function, FunctionType) and nearest_names(name, HOOKS)
        if close and name not in HOOKS and len(re.findall(rf"\b{name}\b", source)) == 1:
            yield f"{name} is not used: did you mean {close[0]}?"
