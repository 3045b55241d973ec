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
from math import prod
from typing import Any

from msgspec import Struct

Shape = Sequence[int]


def _is_shape(value: Any) -> bool:
    """Return whether a value is the shape of a tensor with at least one dimension."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(size, int) and size >= 0 for size in value)


class Inputs(Struct, frozen=True):
    """The recorded inputs of a call; `concrete` are the values of those that are no tensors."""

    shapes: Sequence[Any]
    types: Sequence[str] = ()
    concrete: Sequence[str] = ()

    def shape(self, number: int) -> Shape:
        """Return the shape of a tensor input; an error if there is none."""
        sizes = self.shapes[number]
        if not _is_shape(sizes):
            raise ValueError
        return list(sizes)

    def value(self, number: int) -> Any:
        """Return a non-tensor input: a list of numbers, a number or a boolean."""
        return json.loads(self.concrete[number].lower())


class Cost(Struct, frozen=True):
    """What a call takes; `output` is the number of elements it makes."""

    flops: int
    output: int


def _mm_cost(a: Shape, b: Shape) -> Cost:
    (m, k), (inner, n) = a, b
    if k != inner:
        raise ValueError
    return Cost(2 * m * n * k, m * n)


def _bmm_cost(a: Shape, b: Shape) -> Cost:
    (batch, m, k), (_, _, n) = a, b
    return Cost(2 * batch * m * n * k, batch * m * n)


def _linear_cost(inputs: Inputs) -> Cost:
    x, weight = inputs.shape(0), inputs.shape(1)
    return Cost(2 * prod(x) * weight[0], prod(x[:-1]) * weight[0])


def _convolution_flops(x: Shape, weight: Shape, out: Shape, *, transposed: bool) -> int:
    """Return the FLOPs of a convolution of given sizes (`conv_flop_count` of PyTorch)."""
    points = (x if transposed else out)[2:]
    return 2 * x[0] * prod(weight) * prod(points)


def _per_dimension(value: Any, rank: int) -> list[int]:
    """Return one number for each dimension; a single number holds for all."""
    values = value if isinstance(value, list) else [value]
    return [int(number) for number in values] * (rank if len(values) == 1 else 1)


def _convolution_cost(inputs: Inputs) -> Cost:
    """Return the cost of a convolution, which may be transposed.

    Its settings begin at the input number 3: stride, padding, dilation, whether it is transposed,
    padding of the output, groups.
    """
    x, weight = inputs.shape(0), inputs.shape(1)
    rank = len(x) - 2
    settings = tuple(_per_dimension(inputs.value(place), rank) for place in (3, 4, 5))
    if not inputs.value(6):
        return _forward_cost(x, weight, settings)
    extra, groups = _per_dimension(inputs.value(7), rank), int(inputs.value(8))
    sizes = [
        (size - 1) * step - 2 * pad + dilated * (width - 1) + 1 + more
        for size, width, step, pad, dilated, more in zip(
            x[2:], weight[2:], *settings, extra, strict=True
        )
    ]
    out = [x[0], weight[1] * groups, *sizes]
    return Cost(_convolution_flops(x, weight, out, transposed=True), prod(out))


def _forward_cost(x: Shape, weight: Shape, settings: tuple[list[int], ...]) -> Cost:
    """Return the cost of a convolution with a stride, padding and dilation."""
    sizes = [
        (size + 2 * pad - dilated * (width - 1) - 1) // step + 1
        for size, width, step, pad, dilated in zip(x[2:], weight[2:], *settings, strict=True)
    ]
    out = [x[0], weight[0], *sizes]
    return Cost(_convolution_flops(x, weight, out, transposed=False), prod(out))


def _library_convolution(first: int) -> Callable[[Inputs], Cost]:
    """Return the cost function of a library's convolution: input, weight, perhaps a bias.

    Then come padding, stride and dilation, from the input number `first` on.
    """

    def cost(inputs: Inputs) -> Cost:
        x, weight = inputs.shape(0), inputs.shape(1)
        places = (first + 1, first, first + 2)
        settings = tuple(_per_dimension(inputs.value(place), len(x) - 2) for place in places)
        return _forward_cost(x, weight, settings)

    return cost


def _swapped(shape: Shape) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


def _gradient_cost(
    gradient: Shape, x: Shape, weight: Shape, *, transposed: bool, mask: Sequence[bool]
) -> Cost:
    """Return the cost of the gradients of a convolution (`conv_backward_flop` of PyTorch)."""
    flops = output = 0
    if mask[0]:
        flops += _convolution_flops(gradient, weight, x, transposed=not transposed)
        output += prod(x)
    if mask[1]:
        a, b = (gradient, x) if transposed else (x, gradient)
        flops += _convolution_flops(_swapped(a), _swapped(b), _swapped(weight), transposed=False)
        output += prod(weight)
    return Cost(flops, output)


def _convolution_backward_cost(inputs: Inputs) -> Cost:
    shapes = (inputs.shape(0), inputs.shape(1), inputs.shape(2))
    mask = [bool(wanted) for wanted in inputs.value(10)]
    return _gradient_cost(*shapes, transposed=bool(inputs.value(7)), mask=mask)


def _library_backward_cost(inputs: Inputs) -> Cost:
    """Return the cost of gradients as PyTorch called them until 1.10: the input stood first."""
    shapes = (inputs.shape(1), inputs.shape(0), inputs.shape(2))
    return _gradient_cost(*shapes, transposed=False, mask=(True, True))


def _attention_flops(query: Shape, key: Shape, value: Shape, products: tuple[int, int]) -> Cost:
    """Return the cost of attention from its matrix products over the widths of keys and values."""
    batch, heads, queries, width = query
    keys, width_of_values = key[2], value[3]
    over_keys, over_values = products
    flops = 2 * batch * heads * queries * keys * (over_keys * width + over_values * width_of_values)
    return Cost(flops, batch * heads * queries * width_of_values)


#: Matrix products of attention over the width of the keys and of the values, in each direction.
_FORWARD, _BACKWARD = (1, 1), (3, 2)


def _attention_cost(inputs: Inputs) -> Cost:
    return _attention_flops(inputs.shape(0), inputs.shape(1), inputs.shape(2), _FORWARD)


def _attention_backward_cost(inputs: Inputs) -> Cost:
    return _attention_flops(inputs.shape(1), inputs.shape(2), inputs.shape(3), _BACKWARD)


def _with_heads_third(rule: Callable[[Inputs], Cost]) -> Callable[[Inputs], Cost]:
    """Return the cost function for inputs whose heads are the third dimension, not the second."""

    def cost(inputs: Inputs) -> Cost:
        shapes = [
            [shape[0], shape[2], shape[1], shape[3]] if shape and len(shape) == 4 else shape
            for shape in inputs.shapes
        ]
        return rule(Inputs(shapes, inputs.types, inputs.concrete))

    return cost


def _product_cost(rule: Callable[[Shape, Shape], Cost], first: int) -> Callable[[Inputs], Cost]:
    return lambda given: rule(given.shape(first), given.shape(first + 1))


_FUSED = (
    "flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu",
    "fused_attention_overrideable",
)  # fmt: skip
_RULES: dict[str, Callable[[Inputs], Cost]] = {
    "aten::mm": _product_cost(_mm_cost, 0),
    "aten::_scaled_mm": _product_cost(_mm_cost, 0),
    "aten::addmm": _product_cost(_mm_cost, 1),
    "aten::_addmm_activation": _product_cost(_mm_cost, 1),
    "aten::bmm": _product_cost(_bmm_cost, 0),
    "aten::baddbmm": _product_cost(_bmm_cost, 1),
    "aten::mkldnn_linear": _linear_cost,
    "mkldnn::_linear_pointwise": _linear_cost,
    "aten::convolution": _convolution_cost,
    "aten::_convolution": _convolution_cost,
    "aten::convolution_overrideable": _convolution_cost,
    "aten::cudnn_convolution": _library_convolution(2),
    "aten::miopen_convolution": _library_convolution(3),
    "aten::mkldnn_convolution": _library_convolution(3),
    "aten::convolution_backward": _convolution_backward_cost,
    "aten::cudnn_convolution_backward": _library_backward_cost,
    "aten::miopen_convolution_backward": _library_backward_cost,
    "aten::mkldnn_convolution_backward": _library_backward_cost,
    **{f"aten::_scaled_dot_product_{kind}": _attention_cost for kind in _FUSED},
    **{f"aten::_scaled_dot_product_{kind}_backward": _attention_backward_cost for kind in _FUSED},
    "aten::_flash_attention_forward": _with_heads_third(_attention_cost),
    "aten::_efficient_attention_forward": _with_heads_third(_attention_cost),
    "aten::_flash_attention_backward": _with_heads_third(_attention_backward_cost),
    "aten::_efficient_attention_backward": _with_heads_third(_attention_backward_cost),
}
#: The operators whose FLOPs count; what they call does not count again.
COUNTED = frozenset(_RULES)


def call_cost(name: str, inputs: Inputs) -> Cost | None:
    """Return the cost of a call of a counted operator, or None if the trace lacks its inputs."""
    try:
        return _RULES[name](inputs)
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


def bytes_moved(name: str, inputs: Inputs, output: int | None = None) -> int | None:
    """Return the bytes of the inputs and outputs of a call, each once; caches are ignored.

    An output that is not known is taken to be as large as the largest input.
    """
    if _NO_WORK.fullmatch(name):
        return None
    sized = [
        (prod(shape), _SIZES[str(kind).lower()])
        for shape, kind in zip(inputs.shapes, inputs.types, strict=False)
        if str(kind).lower() in _SIZES and _is_shape(shape)
    ]
    if not sized:
        return None
    largest, size = max(sized)
    read: int = sum(number * each for number, each in sized)
    return read + (output or largest) * size
