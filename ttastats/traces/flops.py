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
from functools import partial
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

    def per_dimension(self, number: int, rank: int) -> list[int]:
        """Return a non-tensor input with one number for each dimension; a single one is of all."""
        value = self.value(number)
        values = value if isinstance(value, list) else [value]
        return [int(size) for size in values] * (rank if len(values) == 1 else 1)


class Cost(Struct, frozen=True):
    """What a call takes; `output` is the number of elements it makes."""

    flops: int
    output: int


Rule = Callable[[Inputs], Cost]


def _times_matrix(x: Shape, width: int) -> Cost:
    """Return the cost of the product of vectors with a matrix that gives vectors of a width."""
    return Cost(2 * prod(x) * width, prod(x[:-1]) * width)


def _linear_cost(inputs: Inputs) -> Cost:
    return _times_matrix(inputs.shape(0), inputs.shape(1)[0])


def _product_cost(first: int, rank: int) -> Rule:
    """Return the cost function of a product of two matrices, or of two batches of them."""

    def cost(inputs: Inputs) -> Cost:
        a, b = inputs.shape(first), inputs.shape(first + 1)
        if not len(a) == len(b) == rank or (rank == 2 and a[1] != b[0]):
            raise ValueError
        return _times_matrix(a, b[-1])

    return cost


def _convolution_flops(x: Shape, weight: Shape, out: Shape, *, transposed: bool) -> int:
    """Return the FLOPs of a convolution of given sizes (`conv_flop_count` of PyTorch)."""
    points = (x if transposed else out)[2:]
    return 2 * x[0] * prod(weight) * prod(points)


def _forward_cost(inputs: Inputs, positions: Sequence[int] = (3, 4, 5)) -> Cost:
    """Return the cost of a convolution by the places of its stride, padding and dilation."""
    x, weight = inputs.shape(0), inputs.shape(1)
    settings = (inputs.per_dimension(position, len(x) - 2) for position in positions)
    sizes = [
        (size + 2 * pad - dilated * (width - 1) - 1) // step + 1
        for size, width, step, pad, dilated in zip(x[2:], weight[2:], *settings, strict=True)
    ]
    out = [x[0], weight[0], *sizes]
    return Cost(_convolution_flops(x, weight, out, transposed=False), prod(out))


def _convolution_cost(inputs: Inputs) -> Cost:
    """Return the cost of a convolution, which may be transposed.

    Its settings begin at the input number 3: stride, padding, dilation, whether it is transposed,
    padding of the output, groups.
    """
    if not inputs.value(6):
        return _forward_cost(inputs)
    x, weight, groups = inputs.shape(0), inputs.shape(1), int(inputs.value(8))
    settings = (inputs.per_dimension(position, len(x) - 2) for position in (3, 4, 5, 7))
    sizes = [
        (size - 1) * step - 2 * pad + dilated * (width - 1) + 1 + extra
        for size, width, step, pad, dilated, extra in zip(x[2:], weight[2:], *settings, strict=True)
    ]
    out = [x[0], weight[1] * groups, *sizes]
    return Cost(_convolution_flops(x, weight, out, transposed=True), prod(out))


def _gradient_cost(inputs: Inputs, *, by_library: bool = False) -> Cost:
    """Return the cost of the gradients of a convolution (`conv_backward_flop` of PyTorch).

    Until 1.10 a library computed them: the input stood first, and all were asked for.
    """
    gradient, x, weight = (inputs.shape(number) for number in range(3))
    if by_library:
        gradient, x, transposed, mask = x, gradient, False, (True, True)
    else:
        transposed, mask = bool(inputs.value(7)), inputs.value(10)
    flops = output = 0
    if mask[0]:
        flops += _convolution_flops(gradient, weight, x, transposed=not transposed)
        output += prod(x)
    if mask[1]:
        pair = (gradient, x) if transposed else (x, gradient)
        swapped = ([shape[1], shape[0], *shape[2:]] for shape in (*pair, weight))
        flops += _convolution_flops(*swapped, transposed=False)
        output += prod(weight)
    return Cost(flops, output)


def _attention_cost(inputs: Inputs, *, backward: bool = False, heads_third: bool = False) -> Cost:
    """Return the cost of attention by its matrix products; heads are second, or else third."""
    first, over_keys, over_values = (1, 3, 2) if backward else (0, 1, 1)
    query, key, value = (inputs.shape(first + number) for number in range(3))
    batch, heads, queries, width = query
    keys, width_of_values = key[2], value[3]
    if heads_third:
        heads, queries, keys = queries, heads, key[1]
    flops = 2 * batch * heads * queries * keys * (over_keys * width + over_values * width_of_values)
    return Cost(flops, batch * heads * queries * width_of_values)


_FUSED = (
    "flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu",
    "fused_attention_overrideable",
)  # fmt: skip
_BACKWARD = partial(_attention_cost, backward=True)
_RULES: dict[str, Rule] = {
    "aten::mm": _product_cost(0, 2),
    "aten::_scaled_mm": _product_cost(0, 2),
    "aten::addmm": _product_cost(1, 2),
    "aten::_addmm_activation": _product_cost(1, 2),
    "aten::bmm": _product_cost(0, 3),
    "aten::baddbmm": _product_cost(1, 3),
    "aten::mkldnn_linear": _linear_cost,
    "mkldnn::_linear_pointwise": _linear_cost,
    "aten::convolution": _convolution_cost,
    "aten::_convolution": _convolution_cost,
    "aten::convolution_overrideable": _convolution_cost,
    "aten::cudnn_convolution": partial(_forward_cost, positions=(3, 2, 4)),
    "aten::miopen_convolution": partial(_forward_cost, positions=(4, 3, 5)),
    "aten::mkldnn_convolution": partial(_forward_cost, positions=(4, 3, 5)),
    "aten::convolution_backward": _gradient_cost,
    **{
        f"aten::{library}_convolution_backward": partial(_gradient_cost, by_library=True)
        for library in ("cudnn", "miopen", "mkldnn")
    },
    **{f"aten::_scaled_dot_product_{kind}": _attention_cost for kind in _FUSED},
    **{f"aten::_scaled_dot_product_{kind}_backward": _BACKWARD for kind in _FUSED},
    **{
        f"aten::_{kind}_attention_{'backward' if backward else 'forward'}": partial(
            _attention_cost, backward=backward, heads_third=True
        )
        for kind in ("flash", "efficient")
        for backward in (False, True)
    },
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
    input_bytes: int = sum(number * size for number, size in sized)
    return input_bytes + (output or largest) * size
