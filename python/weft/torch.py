"""Weft's operators as those of PyTorch: torch.ops.weft.*, which torch.compile traces and autograd knows.

    import weft, weft.torch
    c = torch.ops.weft.ag_gemm(a, [weight], 0, "")[1][0]     # AllGather-GEMM over all PEs

    all_reduce(inp, op, group)                               all_reduce.out(inp, op, group, *, out)
    all_gather(inp, group)         all_gather.out            one behind the other in the order of ranks, along dimension 0
    reduce_scatter(inp, op, group) reduce_scatter.out        of the blocks along dimension 0
    all_to_all(inp, group)         all_to_all.out
    broadcast(inp, root, group)    broadcast.out             root: a rank
    all_reduce_norm(inp, residual, weight, epsilon, group) -> (normed, residual)    and .out
    gemm(a, b, scale_a, scale_b)                             gemm.out
    ag_gemm(a, bs, gather_dim, group, *, return_a) -> (rows of all, or nothing; products)
    gemm_rs(a, b, reduce_op, scatter_dim, group)             gemm_rs.out
    gemm_ar(a, b, group)                                     gemm_ar.out

A `group` is "" for all PEs, or the name of a group of torch.distributed; team() has its team. Weights are (n, k), as
nn.Linear has them. Operators are made at the first call of a type and size class, and kept: that is collective over the
job, so members call in the same order, and a call that a CUDA graph captures was made before.

Gradients: of all_gather by reduce_scatter and the other way round, of all_to_all by itself, of all_reduce by itself, as
torch.distributed.nn has it. ag_gemm: of a by gemm_rs with the transposed weight, which is copied for the call; of each
weight by torch.mm with the gathered rows, which are saved (size times the bytes of a) where return_a is true,
else gathered again (then a is saved). gemm_rs: of a by ag_gemm, of b with the gathered gradient. gemm_ar takes
its gradient as that of all members alike, as behind a row-parallel layer: none of its gradients communicates. Nothing is
saved where no gradient is wanted.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, distributed

import weft
from weft import _weft
from weft._current import current
from weft._errors import ArgumentError, UnsupportedError
from weft._made import LEAST_COUNT, made, room_for
from weft._types import FoldOp
from weft.functional import all_reduce_operator
from weft.operators import AgGemm, AllGather, AllReduceNorm, AllToAll, Broadcast, Gemm, GemmAr, GemmRs, ReduceScatter

__all__ = ["MemPool", "all_reduce", "team"]

_LEAST_ROWS = 64

# --- groups -------------------------------------------------------------------------------------------------------


def team(group: Any) -> _weft.Team | None:
    """The team of a group of torch.distributed, of its name, or of a DeviceMesh of one dimension; None for all PEs.
    Collective over the members at the first use of each."""
    if group is None or group == "":
        return None
    if hasattr(group, "get_group"):  # a DeviceMesh
        if group.ndim != 1:
            raise ArgumentError(f"weft.torch.team: the mesh has {group.ndim} dimensions; mesh[name] has one")
        group = group.get_group()
    if isinstance(group, str):
        group = distributed.distributed_c10d._resolve_process_group(group)
    return made(("team", id(group)), lambda: _Group(group)).team


class _Group:
    """A group's team in a job. It keeps the group, so that no other has its identity: names are used again."""

    def __init__(self, group: Any) -> None:
        self.group = group
        pes: list[int] = [0] * distributed.get_world_size(group)
        distributed.all_gather_object(pes, weft.my_pe(), group=group)  # all members are here then
        self.team = None if pes == list(range(weft.n_pes())) else current().team_of_members(pes)


def _size(group: str) -> int:
    """Also while torch traces, when nothing is collective."""
    if group == "":
        return weft.n_pes()
    return int(distributed.get_world_size(distributed.distributed_c10d._resolve_process_group(group)))


def _pes(of: _weft.Team | None) -> tuple[int, ...] | None:
    return None if of is None else of.pes


# --- memory -------------------------------------------------------------------------------------------------------


class MemPool:
    """Symmetric memory for what PyTorch allocates itself:

        pool = weft.torch.MemPool(1 << 30)
        with pool.use():
            activations = torch.empty(4096, 8192, device="cuda")     # or what a module makes
        box = pool.symmetric(activations)                            # a weft.Tensor of the same memory

    Making one is collective, and takes `nbytes` of the symmetric heap on each PE; what is allocated in it is not. Where all
    PEs allocate alike, a tensor lies at the same place on each, which symmetric() compares. The memory is the heap's again
    when the pool and its tensors are gone on all PEs. It takes torch 2.5."""

    def __init__(self, nbytes: int) -> None:
        if not hasattr(torch.cuda, "MemPool"):
            raise UnsupportedError(f"weft.torch.MemPool: torch {torch.__version__} has no torch.cuda.MemPool; 2.5 has")
        self._arena = weft.empty(nbytes, "uint8", device="cuda")
        self._memory = self._arena.torch()  # an export: the arena is not freed while it is here
        self._number = _weft.open_pool(self._arena.data_ptr, nbytes)
        names = f"weft_pool_alloc_{self._number}", f"weft_pool_free_{self._number}"
        self._allocator = torch.cuda.memory.CUDAPluggableAllocator(_weft.__file__, *names)
        self.pool = torch.cuda.MemPool(self._allocator.allocator())

    def use(self) -> Any:
        """A context in which this thread's allocations on the GPU come from the pool."""
        return torch.cuda.use_mem_pool(self.pool)

    def symmetric(self, tensor: Tensor) -> weft.Tensor:
        """The tensor, which was allocated in the pool, as a weft.Tensor. Collective: raises on all PEs if it lies or is
        otherwise on some."""
        return current().part_of(self._arena, tensor)

    def __del__(self) -> None:
        if hasattr(self, "pool"):
            del self.pool  # torch gives its segments back
            _weft.close_pool(self._number)


# --- definitions --------------------------------------------------------------------------------------------------

_library = torch.library.Library("weft", "DEF")


def _define(schema: str, run: Any, fake: Any) -> None:
    """An operator that runs eagerly by `run`, and under torch.compile has the shapes that `fake` gives."""
    _library.define(schema)
    name = schema[: schema.index("(")]
    _library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"weft::{name}", fake, lib=_library)


def _allocating(fake: Any, run_out: Any) -> Any:
    """The form that gives its result, of that which fills `out`; fake() has its shape."""

    def run(*args: Any) -> Tensor:
        out: Tensor = fake(*args)
        run_out(*args, out=out)
        return out

    return run


def _blocks(inp: Tensor, size: int, what: str) -> list[int]:
    """The shape of one of `size` blocks along dimension 0."""
    if inp.dim() == 0 or inp.shape[0] % size != 0:
        raise ArgumentError(f"weft.{what}: {tuple(inp.shape)} along dimension 0 is no {size} blocks")
    return [inp.shape[0] // size, *inp.shape[1:]]


# --- collectives --------------------------------------------------------------------------------------------------


def all_reduce(inp: Tensor, op: FoldOp = "sum", of: _weft.Team | None = None) -> Tensor:
    """torch.ops.weft.all_reduce, for a team that weft made."""
    if of is None:
        return torch.ops.weft.all_reduce(inp, op, "")
    if inp.requires_grad and torch.is_grad_enabled() or torch.compiler.is_compiling():
        raise ArgumentError("weft.all_reduce: a team has no name that torch knows; torch.ops.weft.all_reduce takes a group")
    return weft.all_reduce(inp.detach(), op, team=of, out=torch.empty_like(inp))


def _all_reduce_out(inp: Tensor, op: FoldOp = "sum", group: str = "", *, out: Tensor) -> None:
    all_reduce_operator(inp.numel(), inp.dtype, op, team(group))(out, inp)


def _all_gather_out(inp: Tensor, group: str = "", *, out: Tensor) -> None:
    of, room = team(group), room_for(inp.numel(), LEAST_COUNT)
    made(("all_gather", room, inp.dtype, _pes(of)), lambda: AllGather(room, inp.dtype, team=of))(out, inp)


def _gathered_shape(inp: Tensor, group: str) -> list[int]:
    return [_size(group) * inp.shape[0], *inp.shape[1:]]


def _all_gather_fake(inp: Tensor, group: str = "") -> Tensor:
    if inp.dim() == 0:
        raise ArgumentError("weft.all_gather: a tensor without dimensions has no rows to gather")
    return inp.new_empty(_gathered_shape(inp, group))


def _reduce_scatter_out(inp: Tensor, op: FoldOp = "sum", group: str = "", *, out: Tensor) -> None:
    of, room = team(group), room_for(out.numel(), LEAST_COUNT)
    key = ("reduce_scatter", room, inp.dtype, op, _pes(of))
    made(key, lambda: ReduceScatter(room, inp.dtype, op, team=of))(out, inp)


def _reduce_scatter_fake(inp: Tensor, op: FoldOp = "sum", group: str = "") -> Tensor:
    return inp.new_empty(_blocks(inp, _size(group), "reduce_scatter"))


def _all_to_all_out(inp: Tensor, group: str = "", *, out: Tensor) -> None:
    of = team(group)
    room = room_for(math.prod(_blocks(inp, _size(group), "all_to_all")), LEAST_COUNT)
    made(("all_to_all", room, inp.dtype, _pes(of)), lambda: AllToAll(room, inp.dtype, team=of))(out, inp)


def _broadcast_out(inp: Tensor, root: int, group: str = "", *, out: Tensor) -> None:
    of, room = team(group), room_for(inp.numel(), LEAST_COUNT)
    made(("broadcast", room, inp.dtype, _pes(of)), lambda: Broadcast(room, inp.dtype, team=of))(out, inp, root)


def _like(inp: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(inp, memory_format=torch.contiguous_format)


def _nothing(*_: Any, **__: Any) -> None:
    pass


def _norm_out(
    inp: Tensor, residual: Tensor, weight: Tensor, epsilon: float, group: str, *, out: Tensor, residual_out: Tensor
) -> None:
    of, hidden = team(group), weight.numel()
    room = room_for(inp.numel() // max(hidden, 1), _LEAST_ROWS)
    key = ("all_reduce_norm", room, hidden, inp.dtype, epsilon, _pes(of))
    norm = made(key, lambda: AllReduceNorm(room, hidden, inp.dtype, epsilon=epsilon, team=of))
    norm(out, residual_out, inp, residual, weight)


def _norm(
    inp: Tensor, residual: Tensor, weight: Tensor, epsilon: float = 1e-6, group: str = ""
) -> tuple[Tensor, Tensor]:
    out, residual_out = _norm_fake(inp)
    _norm_out(inp, residual, weight, epsilon, group, out=out, residual_out=residual_out)
    return out, residual_out


def _norm_fake(inp: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return _like(inp), _like(inp)


_define("all_reduce(Tensor inp, str op='sum', str group='') -> Tensor", _allocating(_like, _all_reduce_out), _like)
_define("all_reduce.out(Tensor inp, str op, str group, *, Tensor(a!) out) -> ()", _all_reduce_out, _nothing)
_define("all_gather(Tensor inp, str group='') -> Tensor", _allocating(_all_gather_fake, _all_gather_out), _all_gather_fake)
_define("all_gather.out(Tensor inp, str group, *, Tensor(a!) out) -> ()", _all_gather_out, _nothing)
_define("reduce_scatter(Tensor inp, str op='sum', str group='') -> Tensor", _allocating(_reduce_scatter_fake, _reduce_scatter_out), _reduce_scatter_fake)
_define("reduce_scatter.out(Tensor inp, str op, str group, *, Tensor(a!) out) -> ()", _reduce_scatter_out, _nothing)
_define("all_to_all(Tensor inp, str group='') -> Tensor", _allocating(_like, _all_to_all_out), _like)
_define("all_to_all.out(Tensor inp, str group, *, Tensor(a!) out) -> ()", _all_to_all_out, _nothing)
_define("broadcast(Tensor inp, int root, str group='') -> Tensor", _allocating(_like, _broadcast_out), _like)
_define("broadcast.out(Tensor inp, int root, str group, *, Tensor(a!) out) -> ()", _broadcast_out, _nothing)
_define(
    "all_reduce_norm(Tensor inp, Tensor residual, Tensor weight, float epsilon=1e-06, str group='') -> (Tensor, Tensor)",
    _norm,
    _norm_fake,
)
_define(
    "all_reduce_norm.out(Tensor inp, Tensor residual, Tensor weight, float epsilon, str group, *, Tensor(a!) out, "
    "Tensor(b!) residual_out) -> ()",
    _norm_out,
    _nothing,
)

# --- matrix products ----------------------------------------------------------------------------------------------


def _rows(a: Tensor) -> Tensor:
    """As a matrix: leading dimensions are rows."""
    return a if a.dim() == 2 else a.reshape(-1, a.shape[-1])


def _product_dtype(a: Tensor) -> torch.dtype:
    return torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype


def _gemm_out(
    a: Tensor, b: Tensor, scale_a: Tensor | None = None, scale_b: Tensor | None = None, *, out: Tensor
) -> None:
    rows = _rows(a)
    room, n, k = room_for(rows.shape[0], _LEAST_ROWS), b.shape[0], b.shape[1]
    gemm = made(("gemm", room, n, k, a.dtype), lambda: Gemm(room, n, k, a.dtype))
    gemm(_rows(out), rows, b, scale_a, scale_b)


def _gemm_fake(a: Tensor, b: Tensor, scale_a: Tensor | None = None, scale_b: Tensor | None = None) -> Tensor:
    return a.new_empty([*a.shape[:-1], b.shape[0]], dtype=_product_dtype(a))


def _only_first(name: str, value: int) -> None:
    if value != 0:
        raise ArgumentError(f"weft: {name} is {value}; rows are those of dimension 0")


def _ag_gemm(
    a: Tensor, bs: list[Tensor], gather_dim: int, group: str, *, return_a: bool = True
) -> tuple[Tensor, list[Tensor]]:
    gathered, products = _ag_gemm_fake(a, bs, gather_dim, group, return_a=return_a)
    rows, of = _rows(a), team(group)
    room = room_for(rows.shape[0], _LEAST_ROWS)
    # The first product gathers; what follows has the rows then.
    all_rows = gathered if return_a else a.new_empty([0])
    if len(bs) > 1 and not return_a:
        all_rows = a.new_empty(_gathered_shape(a, group))
    for place, b in enumerate(bs):
        n, k = b.shape
        if place == 0:
            key = ("ag_gemm", room, n, k, a.dtype, _pes(of))
            first = made(key, lambda n=n, k=k: AgGemm(room, n, k, a.dtype, team=of))  # type: ignore[misc]
            first(_rows(products[0]), rows, b, _rows(all_rows) if all_rows.numel() else None)
        else:
            _gemm_out(all_rows, b, out=products[place])
    return gathered, products


def _ag_gemm_fake(
    a: Tensor, bs: list[Tensor], gather_dim: int, group: str, *, return_a: bool = True
) -> tuple[Tensor, list[Tensor]]:
    _only_first("gather_dim", gather_dim)
    if not bs:
        raise ArgumentError("weft.ag_gemm: there is no weight; torch.ops.weft.all_gather gathers alone")
    shape = _gathered_shape(a, group)
    products = [a.new_empty([*shape[:-1], b.shape[0]], dtype=_product_dtype(a)) for b in bs]
    return a.new_empty(shape if return_a else [0]), products


def _summed_out(name: str, kind: Any, a: Tensor, b: Tensor, group: str, out: Tensor) -> None:
    """By a GemmRs or GemmAr."""
    rows, of = _rows(a), team(group)
    room, n, k = room_for(rows.shape[0], _LEAST_ROWS), b.shape[0], b.shape[1]
    layer = made((name, room, n, k, a.dtype, _pes(of)), lambda: kind(room, n, k, a.dtype, team=of))
    layer(_rows(out), rows, b)


def _gemm_rs_out(a: Tensor, b: Tensor, reduce_op: str, scatter_dim: int, group: str, *, out: Tensor) -> None:
    _gemm_rs_check(a, reduce_op, scatter_dim, group)
    _summed_out("gemm_rs", GemmRs, a, b, group, out)


def _gemm_rs_check(a: Tensor, reduce_op: str, scatter_dim: int, group: str) -> list[int]:
    _only_first("scatter_dim", scatter_dim)
    if reduce_op != "sum":
        raise ArgumentError(f'weft.gemm_rs: reduce_op is "{reduce_op}"; it is "sum"')
    return _blocks(a, _size(group), "gemm_rs")


def _gemm_rs_fake(a: Tensor, b: Tensor, reduce_op: str, scatter_dim: int, group: str) -> Tensor:
    return a.new_empty([*_gemm_rs_check(a, reduce_op, scatter_dim, group)[:-1], b.shape[0]])


def _gemm_ar_out(a: Tensor, b: Tensor, group: str = "", *, out: Tensor) -> None:
    _summed_out("gemm_ar", GemmAr, a, b, group, out)


def _gemm_ar_fake(a: Tensor, b: Tensor, group: str = "") -> Tensor:
    return a.new_empty([*a.shape[:-1], b.shape[0]])


_define("gemm(Tensor a, Tensor b, Tensor? scale_a=None, Tensor? scale_b=None) -> Tensor", _allocating(_gemm_fake, _gemm_out), _gemm_fake)
_define("gemm.out(Tensor a, Tensor b, Tensor? scale_a, Tensor? scale_b, *, Tensor(a!) out) -> ()", _gemm_out, _nothing)
_define(
    "ag_gemm(Tensor a, Tensor[] bs, int gather_dim, str group, *, bool return_a=True) -> (Tensor, Tensor[])",
    _ag_gemm,
    _ag_gemm_fake,
)
_define("gemm_rs(Tensor a, Tensor b, str reduce_op, int scatter_dim, str group) -> Tensor", _allocating(_gemm_rs_fake, _gemm_rs_out), _gemm_rs_fake)
_define(
    "gemm_rs.out(Tensor a, Tensor b, str reduce_op, int scatter_dim, str group, *, Tensor(a!) out) -> ()",
    _gemm_rs_out,
    _nothing,
)
_define("gemm_ar(Tensor a, Tensor b, str group='') -> Tensor", _allocating(_gemm_ar_fake, _gemm_ar_out), _gemm_ar_fake)
_define("gemm_ar.out(Tensor a, Tensor b, str group, *, Tensor(a!) out) -> ()", _gemm_ar_out, _nothing)

# --- gradients ----------------------------------------------------------------------------------------------------


def _differentiate(name: str, backward: Any, setup: Any) -> None:
    torch.library.register_autograd(f"weft::{name}", backward, setup_context=setup, lib=_library)


def _keep_group(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.group = inputs[-1]


def _keep_folded(ctx: Any, inputs: Any, output: Any) -> None:
    _, ctx.op, ctx.group = inputs
    if ctx.op != "sum":
        raise ArgumentError(f'weft: op "{ctx.op}" has no gradient; "sum" has')


def _save_factors(ctx: Any, a: Tensor, b: Tensor) -> None:
    """Each if the other's gradient is wanted."""
    ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b if ctx.needs_input_grad[0] else None)


def _keep_factors(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, ctx.group = inputs[0], inputs[1], inputs[-1]
    _save_factors(ctx, a, b)


def _weight_gradient(grad: Tensor, rows: Tensor) -> Tensor:
    return torch.mm(_rows(grad).t(), _rows(rows))


def _gemm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, scale_a, scale_b = inputs
    if any(ctx.needs_input_grad) and (scale_a is not None or scale_b is not None):
        raise ArgumentError("weft.gemm: of scaled e4m3 there is no gradient")
    _save_factors(ctx, a, b)


def _product_gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a and b where nothing communicates."""
    a, b = ctx.saved_tensors
    grad = grad.contiguous()
    of_a = torch.ops.weft.gemm(grad, b.t().contiguous()) if ctx.needs_input_grad[0] else None
    return of_a, _weight_gradient(grad, a) if ctx.needs_input_grad[1] else None


def _ag_gemm_setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    a, bs, _, ctx.group = inputs
    ctx.set_materialize_grads(False)
    ctx.wanted = [b.requires_grad for b in bs]
    ctx.returned_a = keyword_only_inputs["return_a"]
    rows = output[0] if ctx.returned_a else a
    ctx.save_for_backward(rows if any(ctx.wanted) else None, *bs)


def _ag_gemm_backward(ctx: Any, of_gathered: Tensor | None, of_products: list[Tensor | None]) -> Any:
    rows, *bs = ctx.saved_tensors
    of_bs: list[Tensor | None] = [None] * len(bs)
    parts = []  # of the gradient of a
    if any(ctx.wanted) and not ctx.returned_a:
        rows = torch.ops.weft.all_gather(rows, ctx.group)
    for place, (b, grad) in enumerate(zip(bs, of_products)):
        if grad is None:
            continue
        grad = grad.contiguous()
        if ctx.wanted[place]:
            of_bs[place] = _weight_gradient(grad, rows)
        if ctx.needs_input_grad[0]:
            parts.append(torch.ops.weft.gemm_rs(grad, b.t().contiguous(), "sum", 0, ctx.group))
    if of_gathered is not None and ctx.returned_a and ctx.needs_input_grad[0]:
        parts.append(torch.ops.weft.reduce_scatter(of_gathered.contiguous(), "sum", ctx.group))
    return sum(parts[1:], parts[0]) if parts else None, of_bs, None, None


def _gemm_rs_backward(ctx: Any, grad: Tensor) -> Any:
    a, b = ctx.saved_tensors
    grad = grad.contiguous()
    of_a = of_b = None
    if ctx.needs_input_grad[0]:
        gathered, products = torch.ops.weft.ag_gemm(
            grad, [b.t().contiguous()], 0, ctx.group, return_a=ctx.needs_input_grad[1]
        )
        of_a = products[0]
    else:
        gathered = torch.ops.weft.all_gather(grad, ctx.group)
    if ctx.needs_input_grad[1]:
        of_b = _weight_gradient(gathered, a)
    return of_a, of_b, None, None, None


_differentiate(
    "all_reduce",
    lambda ctx, grad: (torch.ops.weft.all_reduce(grad.contiguous(), "sum", ctx.group), None, None),
    _keep_folded,
)
_differentiate(
    "all_gather",
    lambda ctx, grad: (torch.ops.weft.reduce_scatter(grad.contiguous(), "sum", ctx.group), None),
    _keep_group,
)
_differentiate(
    "reduce_scatter", lambda ctx, grad: (torch.ops.weft.all_gather(grad.contiguous(), ctx.group), None, None), _keep_folded
)
_differentiate(
    "all_to_all", lambda ctx, grad: (torch.ops.weft.all_to_all(grad.contiguous(), ctx.group), None), _keep_group
)
_differentiate("gemm", lambda ctx, grad: (*_product_gradients(ctx, grad), None, None), _gemm_setup)
_differentiate("ag_gemm", _ag_gemm_backward, _ag_gemm_setup)
_differentiate("gemm_rs", _gemm_rs_backward, _keep_factors)
_differentiate("gemm_ar", lambda ctx, grad: (*_product_gradients(ctx, grad), None), _keep_factors)
