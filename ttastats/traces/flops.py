"""How many floating-point operations and bytes does an operator take, by the shapes of its inputs?

Multiplications and additions of matrix products, convolutions and attention count, in both
directions, as PyTorch's `FlopCounterMode` counts them: nothing else does, causal attention counts
in full, and the gradient of the weights of a convolution in groups counts once for each group.
Attention on a CPU counts like that on a GPU, which the counter leaves out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

Shape = Sequence[int]


def _is_shape(value: Any) -> bool:
    """Return whether something is the shape of a tensor of one dimension or more."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(size, int) and size >= 0 for size in value)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The recorded inputs of a call; `concrete` are the values of those that are no tensors."""

    shapes: Sequence[Any]
    types: Sequence[str] = ()
    concrete: Sequence[str] = ()

    def shape(self, number: int) -> Shape:
        """Return the shape of a tensor that must be there."""
        sizes = self.shapes[number]
        if not _is_shape(sizes):
            raise ValueError
        return list(sizes)

    def value(self, number: int) -> Any:
        """Return a value: a list of numbers, a number, a truth value."""
        return json.loads(self.concrete[number].lower())


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call takes; `output` is the number of elements it makes."""

    flops: int
    output: int


def _mm(a: Shape, b: Shape) -> Cost:
    (m, k), (inner, n) = a, b
    if k != inner:
        raise ValueError
    return Cost(2 * m * n * k, m * n)


def _bmm(a: Shape, b: Shape) -> Cost:
    (batch, m, k), (_, _, n) = a, b
    return Cost(2 * batch * m * n * k, batch * m * n)


def _linear(given: Inputs) -> Cost:
    x, weight = given.shape(0), given.shape(1)
    return Cost(2 * prod(x) * weight[0], prod(x[:-1]) * weight[0])


def _convolved(x: Shape, weight: Shape, out: Shape, *, transposed: bool) -> int:
    """Return the FLOPs of a convolution of some sizes (`conv_flop_count` of PyTorch)."""
    points = (x if transposed else out)[2:]
    return 2 * x[0] * prod(weight) * prod(points)


def _all(value: Any, rank: int) -> list[int]:
    """Return one number for each dimension; a single one holds for all."""
    values = value if isinstance(value, list) else [value]
    return [int(number) for number in values] * (rank if len(values) == 1 else 1)


def _convolution(given: Inputs) -> Cost:
    """Return the cost of a convolution, which may be transposed.

    Its settings begin at the input number 3: stride, padding, dilation, whether it is transposed,
    padding of the output, groups.
    """
    x, weight = given.shape(0), given.shape(1)
    rank = len(x) - 2
    settings = tuple(_all(given.value(place), rank) for place in (3, 4, 5))
    if not given.value(6):
        return _plain_cost(x, weight, settings)
    extra, groups = _all(given.value(7), rank), int(given.value(8))
    sizes = [
        (size - 1) * step - 2 * pad + dilated * (width - 1) + 1 + more
        for size, width, step, pad, dilated, more in zip(
            x[2:], weight[2:], *settings, extra, strict=True
        )
    ]
    out = [x[0], weight[1] * groups, *sizes]
    return Cost(_convolved(x, weight, out, transposed=True), prod(out))


def _plain_cost(x: Shape, weight: Shape, settings: tuple[list[int], ...]) -> Cost:
    """Return the cost of a convolution of some stride, padding and dilation."""
    sizes = [
        (size + 2 * pad - dilated * (width - 1) - 1) // step + 1
        for size, width, step, pad, dilated in zip(x[2:], weight[2:], *settings, strict=True)
    ]
    out = [x[0], weight[0], *sizes]
    return Cost(_convolved(x, weight, out, transposed=False), prod(out))


def _plain_convolution(first: int) -> Callable[[Inputs], Cost]:
    """Return the cost of the operator of a library: input, weight, perhaps a bias.

    Then come padding, stride and dilation, from the input number `first` on.
    """

    def cost(given: Inputs) -> Cost:
        x, weight = given.shape(0), given.shape(1)
        places = (first + 1, first, first + 2)
        settings = tuple(_all(given.value(place), len(x) - 2) for place in places)
        return _plain_cost(x, weight, settings)

    return cost


def _swapped(shape: Shape) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


def _gradients(
    gradient: Shape, x: Shape, weight: Shape, *, transposed: bool, mask: Sequence[bool]
) -> Cost:
    """Return the cost of the gradients of a convolution (`conv_backward_flop` of PyTorch)."""
    flops = output = 0
    if mask[0]:
        flops += _convolved(gradient, weight, x, transposed=not transposed)
        output += prod(x)
    if mask[1]:
        a, b = (gradient, x) if transposed else (x, gradient)
        flops += _convolved(_swapped(a), _swapped(b), _swapped(weight), transposed=False)
        output += prod(weight)
    return Cost(flops, output)


def _convolution_backward(given: Inputs) -> Cost:
    shapes = (given.shape(0), given.shape(1), given.shape(2))
    mask = [bool(wanted) for wanted in given.value(10)]
    return _gradients(*shapes, transposed=bool(given.value(7)), mask=mask)


def _library_backward(given: Inputs) -> Cost:
    """Return the cost of the gradients as PyTorch called them until 1.10: the input stood first."""
    shapes = (given.shape(1), given.shape(0), given.shape(2))
    return _gradients(*shapes, transposed=False, mask=(True, True))


def _attended(query: Shape, key: Shape, value: Shape, products: tuple[int, int]) -> Cost:
    """Return cost of attention: products over the width of the keys, and over that of values."""
    batch, heads, queries, width = query
    keys, width_of_values = key[2], value[3]
    over_keys, over_values = products
    flops = 2 * batch * heads * queries * keys * (over_keys * width + over_values * width_of_values)
    return Cost(flops, batch * heads * queries * width_of_values)


#: Matrix products of attention over the width of the keys and of the values, in each direction.
_FORWARD, _BACKWARD = (1, 1), (3, 2)


def _attention(given: Inputs) -> Cost:
    return _attended(given.shape(0), given.shape(1), given.shape(2), _FORWARD)


def _attention_backward(given: Inputs) -> Cost:
    return _attended(given.shape(1), given.shape(2), given.shape(3), _BACKWARD)


def _heads_third(rule: Callable[[Inputs], Cost]) -> Callable[[Inputs], Cost]:
    """Return the cost where the heads are the third dimension, not the second."""

    def cost(given: Inputs) -> Cost:
        shapes = [
            [shape[0], shape[2], shape[1], shape[3]] if shape and len(shape) == 4 else shape
            for shape in given.shapes
        ]
        return rule(Inputs(shapes, given.types, given.concrete))

    return cost


def _product(rule: Callable[[Shape, Shape], Cost], first: int) -> Callable[[Inputs], Cost]:
    return lambda given: rule(given.shape(first), given.shape(first + 1))


_FUSED = (
    "flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu",
    "fused_attention_overrideable",
)  # fmt: skip
_RULES: dict[str, Callable[[Inputs], Cost]] = {
    "aten::mm": _product(_mm, 0),
    "aten::_scaled_mm": _product(_mm, 0),
    "aten::addmm": _product(_mm, 1),
    "aten::_addmm_activation": _product(_mm, 1),
    "aten::bmm": _product(_bmm, 0),
    "aten::baddbmm": _product(_bmm, 1),
    "aten::mkldnn_linear": _linear,
    "mkldnn::_linear_pointwise": _linear,
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    "aten::convolution_overrideable": _convolution,
    "aten::cudnn_convolution": _plain_convolution(2),
    "aten::miopen_convolution": _plain_convolution(3),
    "aten::mkldnn_convolution": _plain_convolution(3),
    "aten::convolution_backward": _convolution_backward,
    "aten::cudnn_convolution_backward": _library_backward,
    "aten::miopen_convolution_backward": _library_backward,
    "aten::mkldnn_convolution_backward": _library_backward,
    **{f"aten::_scaled_dot_product_{kind}": _attention for kind in _FUSED},
    **{f"aten::_scaled_dot_product_{kind}_backward": _attention_backward for kind in _FUSED},
    "aten::_flash_attention_forward": _heads_third(_attention),
    "aten::_efficient_attention_forward": _heads_third(_attention),
    "aten::_flash_attention_backward": _heads_third(_attention_backward),
    "aten::_efficient_attention_backward": _heads_third(_attention_backward),
}
#: The operators whose FLOPs count; what they call does not count again.
COUNTED = frozenset(_RULES)


def cost(name: str, given: Inputs) -> Cost | None:
    """Return what a call of a counted operator takes, or None where the trace does not tell."""
    try:
        return _RULES[name](given)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return None  # the texts of a trace may be anything


#: Bytes of an element by the name of its type, in the words of PyTorch and of C.
_SIZES = {
    name: size
    for size, names in (
        (1, ("unsigned char", "signed char", "char", "bool", "c10::float8_e4m3fn",
             "c10::float8_e5m2")),
        (2, ("c10::half", "c10::bfloat16", "half", "bfloat16", "at::half", "at::bfloat16", "short",
             "short int")),
        (4, ("float", "int")),
        (8, ("double", "long", "long int", "c10::complex<float>")),
        (16, ("c10::complex<double>",)),
    )
    for name in names
}  # fmt: skip
#: Operators that only make memory, or another view of some.
_NO_WORK = re.compile(
    r"(aten::)?(empty\w*|new_empty\w*|resize_|\w*view\w*|\w*reshape\w*|as_strided|t|transpose|"
    r"permute|expand\w*|squeeze|unsqueeze|slice|select|narrow|split\w*|chunk|unbind|detach_?|alias|"
    r"flatten|item|_local_scalar_dense|set_|unfold|diagonal|lift_fresh|result_type|resolve_\w+|"
    r"is_\w+|size|stride)"
)


def moved(name: str, given: Inputs, output: int | None = None) -> int | None:
    """Return the bytes of the inputs and outputs of a call, each once; caches are ignored.

    An output that is not known is taken to be as large as the largest input.
    """
    if _NO_WORK.fullmatch(name):
        return None
    inputs = [
        (prod(shape), _SIZES[str(kind).lower()])
        for shape, kind in zip(given.shapes, given.types, strict=False)
        if str(kind).lower() in _SIZES and _is_shape(shape)
    ]
    if not inputs:
        return None
    largest, size = max(inputs)
    read: int = sum(number * each for number, each in inputs)
    return read + (output or largest) * size
