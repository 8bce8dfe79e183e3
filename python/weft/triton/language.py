"""Functions for kernels: PEs, addresses, signals and order. Each acts once for the program that calls it, and belongs to
the process's current job.

Names and arguments are those of Triton-distributed, whose kernels so run here.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from weft.triton import device as weft_device
from weft.triton._externs import HANDLE, builder_of, call, define, to_tensor

__all__ = [
    "__syncthreads", "atomic_add", "atomic_cas", "consume_token", "ld", "ld_acquire", "notify", "num_ranks", "rank", "st",
    "symm_at", "tid", "wait",
]  # fmt: skip


@triton.jit
def rank(axis: tl.constexpr = -1):
    """The number of this PE in the job. There is one axis."""
    return weft_device.my_pe(weft_device.current_context(0))


@triton.jit
def num_ranks(axis: tl.constexpr = -1):
    """How many PEs the job has."""
    return weft_device.n_pes(weft_device.current_context(0))


@triton.jit
def wait(barrierPtrs, numBarriers, scope: tl.constexpr, semantic: tl.constexpr, waitValue=1):
    """Until the words barrierPtrs[0] to [numBarriers - 1], of 4 or 8 bytes, are all waitValue; a deadline is the
    runtime's. Whatever scope and semantic ask for: what came before the words is visible to all threads. The token is
    for consume_token()."""
    BITS: tl.constexpr = barrierPtrs.dtype.element_ty.primitive_bitwidth
    tl.static_assert(scope == "gpu" or scope == "sys", "scope: gpu or sys")
    tl.static_assert(semantic == "acquire" or semantic == "relaxed", "semantic: acquire or relaxed")
    tl.static_assert(BITS == 32 or BITS == 64, "words of 4 or 8 bytes")
    context = weft_device.current_context(0)
    token = 0
    # Always so, and Triton does not know: it predicates branches of loops that it pipelines, but no calls.
    if context != 0:
        if BITS == 64:
            token = weft_device.wait_until_all_u64_block(context, barrierPtrs, numBarriers, 0, waitValue)
        else:
            token = weft_device.wait_until_all_u32_block(context, barrierPtrs, numBarriers, 0, waitValue)
        _proxy_fence()
    return token


@triton.jit
def notify(
    ptr,
    rank,
    signal=1,
    sig_op: tl.constexpr = tl.constexpr("set"),
    comm_scope: tl.constexpr = tl.constexpr("inter_node"),
):
    """Sets the word at `ptr`, symmetric, of 4 or 8 bytes, on that rank to `signal`, or adds to it, behind all that the
    program's threads have stored and put."""
    tl.static_assert(sig_op == "set" or sig_op == "add", "sig_op: set or add")
    BITS: tl.constexpr = ptr.dtype.element_ty.primitive_bitwidth
    tl.static_assert(BITS == 32 or BITS == 64, "a word of 4 or 8 bytes")
    context = weft_device.current_context(0)
    if context != 0:  # as in wait()
        if BITS == 64:
            if sig_op == "set":
                weft_device.signal_set_block(context, ptr, signal, rank)
            else:
                weft_device.signal_add_block(context, ptr, signal, rank)
        else:
            weft_device.fence_block(context)
            if sig_op == "set":
                weft_device.atomic_set_u32_block(context, ptr, signal, rank)
            else:
                weft_device.atomic_add_u32_block(context, ptr, signal, rank)


@triton.jit
def __syncthreads():
    """All threads of the program are here."""
    tl.debug_barrier()


def _is_hip(handle: Any) -> bool:
    return str(getattr(builder_of(handle).options, "backend_name", "cuda")) == "hip"


def _assembly(text: str, constraints: str, arguments: list[Any], dtype: Any, handle: Any, is_pure: bool = False) -> Any:
    return core.inline_asm_elementwise(text, constraints, arguments, dtype, is_pure, 1, **{HANDLE: handle})


def _fence_proxy(handle: Any) -> Any:
    """Loads by the tensor memory accelerator are behind the wait as well: they go by another path to memory, which other
    PEs' stores reach by the generic one."""
    options = builder_of(handle).options
    arch = str(getattr(options, "arch", None) or "")
    if arch.startswith("sm"):
        has_it = int("".join(filter(str.isdigit, arch))) >= 90
    else:  # Triton 3.2 tells it by this alone
        has_it = not _is_hip(handle) and bool(getattr(options, "deprecated_fp8_dtypes", ()))
    if not has_it:
        return to_tensor(0, handle)
    return _assembly("fence.proxy.async.global; mov.u32 $0, 0;", "=r", [], core.int32, handle)


def _symm_at(ptr: Any, pe: Any, handle: Any) -> Any:
    """PEs' memory lies a multiple of 16 bytes apart, so accesses keep their width."""
    size = (ptr.dtype.element_ty.primitive_bitwidth + 7) // 8
    here = core.cast(ptr, core.int64, **{HANDLE: handle})
    there = call("ptr", [call("current_context", [0], handle), ptr, pe], handle)
    apart = there.__sub__(here, **{HANDLE: handle}).__floordiv__(to_tensor(size, handle), **{HANDLE: handle})
    apart = core.multiple_of(apart, core.constexpr(max(1, 16 // size)), **{HANDLE: handle})
    return ptr.__add__(apart, **{HANDLE: handle})


def _consume(value: Any, token: Any, handle: Any) -> Any:
    if not isinstance(value, core.tensor) or not (value.dtype.is_ptr() or value.dtype.is_int()):
        return value
    # A zero of which the compiler knows only that it comes behind the token, and that it is a multiple of 16, so that
    # what it is added to keeps its alignment.
    move, register = ("v_mov_b32 $0, 0", "v") if _is_hip(handle) else ("mov.u32 $0, 0;", "r")
    zero = _assembly(move, f"={register},{register}", [to_tensor(token, handle)], core.int32, handle, is_pure=True)
    zero = core.multiple_of(zero, core.constexpr(16), **{HANDLE: handle})
    if value.dtype.is_int():
        zero = core.cast(zero, value.dtype, **{HANDLE: handle})
    return value.__add__(zero, **{HANDLE: handle})


def _tid(axis: Any, handle: Any) -> Any:
    axis = core._unwrap_if_constexpr(axis)
    if axis not in (0, 1, 2):
        raise ValueError(f"tid: axis is {axis}; it is 0, 1 or 2")
    return call("thread_rank", [0], handle) if axis == 0 else to_tensor(0, handle)


_LETTERS = {8: "r", 16: "h", 32: "r", 64: "l"}
_SCOPES = {"cta": "cta", "gpu": "gpu", "sys": "sys"}


def _words(scope: Any, semantic: Any, semantics: tuple[str, ...], ptr: Any, handle: Any) -> tuple[str, str, int]:
    """scope, semantic and bits of an access to integers by assembly, which is NVIDIA's."""
    scope, semantic = core._unwrap_if_constexpr(scope), core._unwrap_if_constexpr(semantic)
    if scope not in _SCOPES or semantic not in semantics:
        raise ValueError(f"scope: one of {', '.join(_SCOPES)}; semantic: one of {', '.join(semantics)}")
    if _is_hip(handle):
        raise NotImplementedError("ld, st and atomics with an order are there for NVIDIA's GPUs; tl.atomic_* for all")
    bits = ptr.dtype.scalar.element_ty.primitive_bitwidth
    if bits not in _LETTERS:
        raise TypeError(f"values of {bits} bits: 8, 16, 32 and 64 are possible")
    return scope, semantic, bits


def _ld(ptr: Any, scope: Any, semantic: Any, handle: Any) -> Any:
    scope, semantic, bits = _words(scope, semantic, ("relaxed", "acquire"), ptr, handle)
    kind = ptr.dtype.scalar.element_ty
    return _assembly(f"ld.{semantic}.{scope}.global.b{bits} $0, [$1];", f"={_LETTERS[bits]},l", [ptr], kind, handle)


def _st(ptr: Any, val: Any, scope: Any, semantic: Any, handle: Any) -> Any:
    scope, semantic, bits = _words(scope, semantic, ("relaxed", "release"), ptr, handle)
    value = core.cast(to_tensor(val, handle), ptr.dtype.scalar.element_ty, **{HANDLE: handle})
    text = f"st.{semantic}.{scope}.global.b{bits} [$1], $2; mov.u32 $0, 0;"
    return _assembly(text, f"=r,l,{_LETTERS[bits]}", [ptr, value], core.int32, handle)


_ORDERS = ("relaxed", "acquire", "release", "acq_rel")


def _atomic_add(ptr: Any, value: Any, scope: Any, semantic: Any, handle: Any) -> Any:
    scope, semantic, bits = _words(scope, semantic, _ORDERS, ptr, handle)
    kind = ptr.dtype.scalar.element_ty
    value = core.cast(to_tensor(value, handle), kind, **{HANDLE: handle})
    suffix = f"{'s' if bits == 32 and kind.is_int_signed() else 'u'}{bits}"
    letter = _LETTERS[bits]
    return _assembly(
        f"atom.{semantic}.{scope}.global.add.{suffix} $0, [$1], $2;", f"={letter},l,{letter}", [ptr, value], kind, handle
    )


def _atomic_cas(ptr: Any, value: Any, target: Any, scope: Any, semantic: Any, handle: Any) -> Any:
    scope, semantic, bits = _words(scope, semantic, _ORDERS, ptr, handle)
    kind, letter = ptr.dtype.scalar.element_ty, _LETTERS[bits]
    values = [core.cast(to_tensor(each, handle), kind, **{HANDLE: handle}) for each in (value, target)]
    text = f"atom.{semantic}.{scope}.global.cas.b{bits} $0, [$1], $2, $3;"
    return _assembly(text, f"={letter},l,{letter},{letter}", [ptr, *values], kind, handle)


_NAMES = {
    "atomic_add_": _atomic_add, "atomic_cas_": _atomic_cas, "consume_": _consume, "ld_": _ld, "st_": _st,
    "fence_proxy_": _fence_proxy, "symm_at_": _symm_at, "tid_": _tid,
}  # fmt: skip

_proxy_fence = define("_proxy_fence()", "fence_proxy_(handle)", _NAMES)
# `ptr`, symmetric, as that rank's memory is mapped here, to be loaded and stored; a null pointer where it is not.
symm_at = define("symm_at(ptr, rank)", "symm_at_(ptr, rank, handle)", _NAMES)
# `value` (a pointer, integers, or a descriptor, which stays as it is) of which no access comes before the wait() that
# gave the token.
consume_token = define("consume_token(value, token)", "consume_(value, token, handle)", _NAMES)
# The number of the calling thread in the program, along axis 0.
tid = define("tid(axis=0)", "tid_(axis, handle)", _NAMES)
# Accesses by each thread, of an order ("relaxed", "acquire", "release", "acq_rel") and a scope ("gpu", "sys").
ld = define('ld(ptr, scope="gpu", semantic="relaxed")', "ld_(ptr, scope, semantic, handle)", _NAMES)
ld_acquire = define('ld_acquire(ptr, scope="gpu")', 'ld_(ptr, scope, "acquire", handle)', _NAMES)
st = define('st(ptr, val, scope="gpu", semantic="relaxed")', "st_(ptr, val, scope, semantic, handle)", _NAMES)
atomic_add = define(
    'atomic_add(ptr, value, scope="gpu", semantic="relaxed")', "atomic_add_(ptr, value, scope, semantic, handle)", _NAMES
)
atomic_cas = define(
    'atomic_cas(ptr, value, target_value, scope="gpu", semantic="relaxed")',
    "atomic_cas_(ptr, value, target_value, scope, semantic, handle)",
    _NAMES,
)
