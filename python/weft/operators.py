"""Operators: made once for the largest call that is to come, then called on arrays of any memory.

    total = weft.AllReduce(1 << 20, "bfloat16")
    total(out, inp)                            # out[i] = inp[i] of all PEs, added in the order of ranks
    layer = weft.GemmRs(m, n, k)
    layer(c, a, b)                             # this PE's rows of the sum of all a @ b.T

Making one is collective over the job: all PEs make the same ones in the same order, also where a `team` is given, of
which all members then make the same calls. An operator holds symmetric memory (workspace_bytes) until all PEs have
dropped it. Arrays are contiguous, lie on weft.device(), and need not be symmetric. describe() says how calls are
carried out.

On a GPU a call is queued on `stream`, else on torch's current one, and may be captured in a CUDA graph; the calls of one
operator are on one stream at a time. On host threads a call is complete when it returns.

Sums are formed in the order of ranks, of two-byte floats as float32 and rounded once: the same bits on all PEs and in
every run.
"""

from __future__ import annotations

from typing import Any

from weft import _weft
from weft._current import current
from weft._types import FoldOp
from weft._weft import Team


class _Operator:
    """The properties that all of them have."""

    _made: Any

    @property
    def dtype(self) -> str:
        """The type of the elements that calls take."""
        return str(self._made.dtype)

    @property
    def workspace_bytes(self) -> int:
        """Symmetric memory that it holds on each PE."""
        return int(self._made.workspace_bytes)

    def describe(self) -> str:
        """A text for people: what it is, and how its calls are carried out."""
        return str(self._made.describe())


class AllReduce(_Operator):
    """out[i] = inp[i] of all members, folded: up to `max_count` elements of float32, float16, bfloat16 or int32."""

    def __init__(self, max_count: int, dtype: Any = "float32", op: FoldOp = "sum", *, team: Team | None = None) -> None:
        self._made = _weft.all_reduce(current(), max_count, dtype, op, team)

    def __call__(self, out: Any, inp: Any, *, stream: Any = None) -> None:
        """out may be inp."""
        self._made(out, inp, stream)


class ReduceScatter(_Operator):
    """inp has a block for each member, of up to `max_count` elements; rank r gets the r-th of all, folded."""

    def __init__(self, max_count: int, dtype: Any = "float32", op: FoldOp = "sum", *, team: Team | None = None) -> None:
        self._made = _weft.reduce_scatter(current(), max_count, dtype, op, team)

    def __call__(self, out: Any, inp: Any, *, stream: Any = None) -> None:
        """out may be my block of inp."""
        self._made(out, inp, stream)


class AllGather(_Operator):
    """Up to `max_count` elements of any type of each member, in the order of ranks, to all."""

    def __init__(self, max_count: int, dtype: Any = "float32", *, team: Team | None = None) -> None:
        self._made = _weft.all_gather(current(), max_count, dtype, team)

    def __call__(self, out: Any, inp: Any, *, stream: Any = None) -> None:
        """inp may be my block of out."""
        self._made(out, inp, stream)


class AllToAll(_Operator):
    """Block r of inp to rank r, where it is the block of my rank; of up to `max_count` elements each."""

    def __init__(self, max_count: int, dtype: Any = "float32", *, team: Team | None = None) -> None:
        self._made = _weft.all_to_all(current(), max_count, dtype, team)

    def __call__(self, out: Any, inp: Any, *, stream: Any = None) -> None:
        """out may be inp."""
        self._made(out, inp, stream)


class Broadcast(_Operator):
    """Up to `max_count` elements of any type of one member to all."""

    def __init__(self, max_count: int, dtype: Any = "float32", *, team: Team | None = None) -> None:
        self._made = _weft.broadcast(current(), max_count, dtype, team)

    def __call__(self, out: Any, inp: Any, root: int, *, stream: Any = None) -> None:
        """inp is read on rank `root` alone. out may be inp."""
        self._made(out, inp, root, stream)


class AllReduceNorm(_Operator):
    """AllReduce, then what a transformer has behind it: the residual is added, and each row of `hidden` elements is
    normed by its root mean square. float32, float16 or bfloat16."""

    def __init__(
        self, max_rows: int, hidden: int, dtype: Any = "bfloat16", *, epsilon: float = 1e-6, team: Team | None = None
    ) -> None:
        self._made = _weft.all_reduce_norm(current(), max_rows, hidden, dtype, epsilon, team)

    def __call__(
        self, out: Any, residual_out: Any, inp: Any, residual: Any, weight: Any, *, stream: Any = None
    ) -> None:
        """residual_out = inp of all members + residual; out = residual_out / rms(residual_out) * weight. All but the
        weight, which has `hidden` elements, have as many rows; residual and weight are the same on all members. out may
        be inp, residual_out may be residual or inp."""
        self._made(out, residual_out, inp, residual, weight, stream)


class Gemm(_Operator):
    """c = a @ b.T, of bfloat16, float16 or float8_e4m3fn: b is a weight as nn.Linear has it. a [m, k] of up to `m`
    rows, b [n, k], c [m, n]; n and k are multiples of 8, of e4m3 k of 16. It needs no other PE."""

    def __init__(self, m: int, n: int, k: int, dtype: Any = "bfloat16") -> None:
        self._made = _weft.gemm(current(), m, n, k, dtype)

    def __call__(
        self, c: Any, a: Any, b: Any, scale_a: Any = None, scale_b: Any = None, *, stream: Any = None
    ) -> None:
        """With e4m3 there are float32 scales: one for each 128 of a row of a [m, k / 128] and for each 128 x 128 of b
        [n / 128, k / 128], rounded up; c is bfloat16 then."""
        self._made(c, a, b, scale_a, scale_b, stream)


class AgGemm(_Operator):
    """AllGather-GEMM: c = rows @ b.T of the rows of all members, in the order of ranks. a [m, k], c [size * m, n]."""

    def __init__(self, m: int, n: int, k: int, dtype: Any = "bfloat16", *, team: Team | None = None) -> None:
        self._made = _weft.ag_gemm(current(), m, n, k, dtype, team)

    def __call__(self, c: Any, a: Any, b: Any, gathered: Any = None, *, stream: Any = None) -> None:
        """gathered [size * m, k] gets everybody's rows, where it is given."""
        self._made(c, a, b, gathered, stream)


class GemmRs(_Operator):
    """GEMM-ReduceScatter: of the sum of all members' a @ b.T each gets its rows, as many as rows() says."""

    def __init__(self, m: int, n: int, k: int, dtype: Any = "bfloat16", *, team: Team | None = None) -> None:
        self._made = _weft.gemm_rs(current(), m, n, k, dtype, team)

    def __call__(self, c: Any, a: Any, b: Any, *, stream: Any = None) -> None:
        self._made(c, a, b, stream)

    def rows(self, m: int) -> int:
        """The number of my rows of m: m / size, rounded up; the last ranks may get fewer."""
        return int(self._made.rows(m))


class GemmAr(_Operator):
    """GEMM-AllReduce: the sum of all members' a @ b.T to all."""

    def __init__(self, m: int, n: int, k: int, dtype: Any = "bfloat16", *, team: Team | None = None) -> None:
        self._made = _weft.gemm_ar(current(), m, n, k, dtype, team)

    def __call__(self, c: Any, a: Any, b: Any, *, stream: Any = None) -> None:
        self._made(c, a, b, stream)
