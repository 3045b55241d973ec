"""What kind of work is an operator or a kernel, by its name? The one home of that rule.

The first pattern that is found decides. A kernel whose own name says nothing is of the kind of the
operator that launched it.
"""

from __future__ import annotations

import re
from functools import lru_cache

CONVOLUTION = "convolution"
MATRIX_PRODUCT = "matrix product"
ATTENTION = "attention"
BATCH_NORM = "batch norm"
NORM = "norm"
ACTIVATION = "activation"
POOLING = "pooling"
EMBEDDING = "embedding"
LOSS = "loss"
OPTIMIZER = "optimizer"
COMMUNICATION = "communication"
COPY = "copy"
RANDOM = "random"
REDUCTION = "reduction"
ELEMENTWISE = "elementwise"
INPUT = "input"
COMPILED = "compiled"
OTHER = "other"

#: Kinds of work whose time grows with arithmetic rather than with bytes, as a rule.
COMPUTE_BOUND = (CONVOLUTION, MATRIX_PRODUCT, ATTENTION)

_RULES: tuple[tuple[str, str], ...] = (
    (COMMUNICATION, r"nccl|rccl|gloo|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|c10d::"),
    (INPUT, r"dataloader|pin_memory"),
    (COMPILED, r"^Torch-Compiled Region|^CompiledFunction"),
    (
        OPTIMIZER,
        r"optimizer|multi_tensor_apply|_fused_(adam|sgd|adagrad)|_foreach_|\blamb\b|FusedAdam",
    ),
    (
        ATTENTION,
        r"attention|flash_(fwd|bwd)|fmha|pytorch_flash|mem_eff|\bsdpa\b|"
        r"AttentionKernel|AttentionBackwardKernel|scaled_dot_product",
    ),
    (
        BATCH_NORM,
        r"batch_?norm|BatchNorm|\bbn_(fw|bw)|bn_(fw|bw|inf|train)|nhwc_batch_norm|miopenbn|"
        r"MIOpenBatchNorm",
    ),
    (NORM, r"layer_?norm|group_?norm|rms_?norm|instance_?norm|LayerNorm|GroupNorm|RowwiseMoments"),
    (POOLING, r"_pool|pool(ing)?_(fw|bw)|[mM]ax_?[pP]ool|avg_?pool|Pooling|pooling"),
    (
        CONVOLUTION,
        r"conv(?!ert)|Conv(?!ert)|wgrad|dgrad|fprop|implicit_gemm|im2col|col2im|vol2col|"
        r"winograd|Winograd|xmma_new|cudnn::cnn|scudnn|cudnn_infer_|bwd_data|bwd_weight|"
        r"nchwToNhwc|nhwcToNchw|miopenSp3Asm|igemm|Im2Col",
    ),
    (LOSS, r"nll_loss|cross_entropy|mse_loss|bce|binary_cross|cunn_SoftMax|kl_div|_loss"),
    (
        MATRIX_PRODUCT,
        r"(?<!fb)gemm|Gemm|GEMM|\bmm\b|::(mm|addmm|bmm|baddbmm|addbmm|matmul|linear|addmv|mv|dot|einsum|"
        r"_addmm_activation|_scaled_mm)\b|\bgemv|gemv|gemv2|cutlass|Cijk_|cublas|splitKreduce|"
        r"AddmmBackward|MmBackward|BmmBackward|dot_kernel|xmma|ampere_.*_tn|volta_sgemm|nvjet",
    ),
    (EMBEDDING, r"[eE]mbedding|fbgemm|index_select|gather|scatter|indexSelect"),
    (
        ACTIVATION,
        r"relu|Relu|ReLU|gelu|GeluCUDA|silu|sigmoid|tanh|threshold|softmax|SoftMax|Softmax|swish|"
        r"hardtanh|leaky|elu\b|clamp",
    ),
    (RANDOM, r"dropout|bernoulli|randn|\brand|uniform|normal_|distribution_|philox|masked_scale"),
    (
        COPY,
        r"memcpy|Memcpy|memset|Memset|copy_|::copy|_to_copy|::to\b|::clone|::contiguous|"
        r"direct_copy|CatArray|::cat\b|transpose_kernel|::fill_|::zero_|FillFunctor|::zeros|"
        r"::stack\b|copy_device_to_device|tensorTransform|transpose_readWrite",
    ),
    (
        REDUCTION,
        r"reduce_kernel|::(sum|mean|amax|amin|norm|max|min|argmax|var|std|topk|sort)\b|"
        r"reduce|Reduce|cumsum|argmax",
    ),
    (
        ELEMENTWISE,
        r"elementwise|Elementwise|pointwise|triton_poi|::(add|sub|mul|div|neg|exp|log|sqrt|pow|abs|"
        r"rsqrt|where|masked_fill|addcmul|addcdiv|eq|ne|lt|gt|ge|le|sin|cos|erf|lerp|"
        r"reciprocal|sign|maximum|minimum|bitwise_\w+|logical_\w+|rsub|square)_?\b|"
        r"OpTensor|op_tensor|op_generic_tensor|lambda",
    ),
)
_COMPILED = tuple((category, re.compile(pattern)) for category, pattern in _RULES)


@lru_cache(maxsize=65536)
def categorize(name: str) -> str:
    """Return the category of an operator or kernel by its name."""
    for category, pattern in _COMPILED:
        if pattern.search(name):
            return category
    return OTHER


#: Kernels of these kinds are known better by what launched them than by their own names.
_VAGUE = (OTHER, ELEMENTWISE, REDUCTION, COPY, MATRIX_PRODUCT, EMBEDDING)


@lru_cache(maxsize=65536)
def categorize_kernel(name: str, operator: str | None) -> str:
    """Return the category of a kernel by its name and the operator that launched it."""
    category = categorize(name)
    if operator is None or category not in _VAGUE:
        return category
    launched = categorize(operator)
    return category if launched in {OTHER, COPY, ELEMENTWISE, REDUCTION, INPUT} else launched


_TENSOR_CORE = re.compile(
    r"tensorop|_s?[0-9]*(?:16816|1688|8816|884|161616|16864|168256)|[hs]884|[hsif]1688|[hsi]16816|"
    r"hmma|imma|wgmma|gmma|wmma|mfma|_MI[0-9]+x|xmma_(?:gemm|fprop|dgrad|wgrad).*tf32|tf32|"
    r"flash_(?:fwd|bwd)|fmha_(?:cutlass[FB]|v2)?.*(?:f16|bf16).*|nvjet|sm[89]0_xmma.*(?:f16|bf16)|"
    r"cutlass_.*tensorop"
)


@lru_cache(maxsize=65536)
def is_tensor_core(name: str) -> bool:
    """Return whether a kernel's name is of one that runs on tensor cores (or matrix cores).

    A name is a sign, not a measurement: no trace says how busy the tensor cores were.
    """
    return _TENSOR_CORE.search(name) is not None
