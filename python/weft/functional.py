"""weft.all_reduce: the operator without an object, for tensors of any size."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from weft._arrays import empty_like
from weft._current import current
from weft._made import LEAST_COUNT, made, room_for
from weft._types import FoldOp
from weft._weft import Team
from weft.operators import AllReduce


def all_reduce_operator(count: int, dtype: Any, op: FoldOp, team: Team | None) -> AllReduce:
    """The one that serves a call of `count` elements."""
    room = room_for(count, LEAST_COUNT)
    key = ("all_reduce", room, dtype, op, None if team is None else team.pes)
    return made(key, lambda: AllReduce(room, dtype, op, team=team))


# The operators' calls in the extension, found by few steps: the host's time is what small calls take.
_MOST_CALLS = 256
_calls: dict[Any, tuple[Any, Callable[[Any, Any, Any], None]]] = {}


def all_reduce(
    tensor: Any, op: FoldOp = "sum", *, team: Team | None = None, out: Any = None, stream: Any = None
) -> Any:
    """`tensor` of all members, folded, as a new array of its kind or in `out`, which may be `tensor`. float32, float16,
    bfloat16 or int32; sums are formed in the order of ranks, so all get the same bits.

    The first call of a size (of all up to 64 Ki elements, then of each doubling), type and team makes an operator, which
    is collective over the job; later ones go straight to it. So members call in the same order, and calls of a size that
    a CUDA graph captures were made before. A tensor that requires a gradient, or is traced by torch.compile, goes by
    torch.ops.weft.all_reduce."""
    if out is None:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(tensor, torch.Tensor) and _is_traced(torch, tensor):
            from weft import torch as weft_torch

            return weft_torch.all_reduce(tensor, op, team)
        out = empty_like(tensor)
    try:
        count = tensor.numel()
    except AttributeError:
        count = math.prod(tensor.shape)
    job, key = current(), ((count - 1).bit_length(), tensor.dtype, op, team)
    found = _calls.get(key)
    if found is None or found[0] is not job:
        if len(_calls) > _MOST_CALLS:  # of jobs that have ended, and teams that nobody has any more
            _calls.clear()
        found = _calls[key] = (job, all_reduce_operator(count, tensor.dtype, op, team)._made)
    found[1](out, tensor, stream)
    return out


def _is_traced(torch: Any, tensor: Any) -> bool:
    """Whether somebody has to see the call as one of torch's operators."""
    return bool(
        (tensor.requires_grad and torch.is_grad_enabled())
        or torch.compiler.is_compiling()
        or type(tensor) not in (torch.Tensor, torch.nn.Parameter)
        or torch._C._len_torch_dispatch_stack() > 0
    )
