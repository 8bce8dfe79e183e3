"""NVSHMEM's device functions for kernels, by the names that Triton-distributed's users know: all but remote_mc_ptr.

A function in _block or _warp is called by all threads of the program or of a warp, begins and ends with their barrier,
and acts once. One without a suffix acts for each thread that calls it: a call by the whole program is one by each of its
threads. A `team` is 0 for all PEs, or what weft.triton.team_address() gives. Numbers of comparisons and signal operators
are NVSHMEM's.
"""

from __future__ import annotations

import sys
from typing import Any

import triton.language as tl
from triton.language import core

from weft.triton._externs import HANDLE, builder_of, call, define, to_tensor

NVSHMEM_CMP_EQ = tl.constexpr(0)
NVSHMEM_CMP_NE = tl.constexpr(1)
NVSHMEM_CMP_GT = tl.constexpr(2)
NVSHMEM_CMP_LE = tl.constexpr(3)
NVSHMEM_CMP_LT = tl.constexpr(4)
NVSHMEM_CMP_GE = tl.constexpr(5)
NVSHMEM_CMP_SENTINEL = tl.constexpr(sys.maxsize)
NVSHMEM_SIGNAL_SET = tl.constexpr(9)
NVSHMEM_SIGNAL_ADD = tl.constexpr(10)
NVSHMEM_TEAM_INVALID = tl.constexpr(-1)
NVSHMEM_TEAM_WORLD = tl.constexpr(0)

_WEFTS_CMP = {0: 0, 1: 1, 2: 2, 3: 5, 4: 4, 5: 3}  # Weft: eq, ne, gt, ge, lt, le


def _constant(value: Any, what: str, known: dict[int, Any]) -> Any:
    value = core._unwrap_if_constexpr(value)
    if value not in known:
        raise ValueError(f"libshmem_device: {what} is {value}; it is a constant, one of {', '.join(map(str, known))}")
    return known[value]


def _context(handle: Any) -> Any:
    return call("current_context", [0], handle)


def _meet(scope: str, handle: Any) -> None:
    """All threads of the scope are here."""
    if scope == "_block":
        core.debug_barrier(**{HANDLE: handle})
    elif scope == "_warp" and str(getattr(builder_of(handle).options, "backend_name", "cuda")) != "hip":
        text = "bar.warp.sync 0xffffffff; mov.u32 $0, 0;"
        core.inline_asm_elementwise(text, "=r", [], core.int32, False, 1, **{HANDLE: handle})


def _scoped(name: str, scope: str, handle: Any, arguments: list[Any]) -> Any:
    _meet(scope, handle)
    result = call(name + (scope or "_thread"), [_context(handle), *arguments], handle)
    _meet(scope, handle)
    return result


def _put_signal(scope: str, handle: Any, op: Any, arguments: list[Any]) -> Any:
    name = _constant(op, "sig_op", {9: "put_signal_set", 10: "put_signal_add"})
    return _scoped(name, scope, handle, arguments)


def _signal(handle: Any, address: Any, value: Any, op: Any, pe: Any) -> Any:
    name = _constant(op, "sig_op", {9: "signal_set", 10: "signal_add"})
    return _scoped(name, "", handle, [address, value, pe])


def _wait(handle: Any, address: Any, comparison: Any, value: Any) -> Any:
    comparison = _constant(comparison, "cmp_", _WEFTS_CMP)
    return _scoped("wait_until_u64", "", handle, [address, comparison, value])


def _bytes(pointer: Any, count: Any, handle: Any) -> Any:
    """The bytes of `count` elements as the pointer has them."""
    size = (pointer.dtype.element_ty.primitive_bitwidth + 7) // 8
    wide = core.cast(to_tensor(count, handle), core.int64, **{HANDLE: handle})
    return wide.__mul__(to_tensor(size, handle), **{HANDLE: handle})


def _remote(handle: Any, pointer: Any, pe: Any) -> Any:
    address = call("ptr", [_context(handle), pointer, pe], handle)
    return core.cast(address, pointer.dtype, **{HANDLE: handle})


_NAMES = {
    "bytes_": _bytes, "call": call, "context": _context, "put_signal": _put_signal, "remote": _remote, "scoped": _scoped,
    "signal_": _signal, "wait_": _wait,
}  # fmt: skip


def _define(signature: str, body: str) -> None:
    globals()[signature.partition("(")[0]] = define(signature, body, _NAMES)


_define("my_pe()", 'call("my_pe", [context(handle)], handle)')
_define("n_pes()", 'call("n_pes", [context(handle)], handle)')
_define("team_my_pe(team)", 'call("team_my_pe", [context(handle), team], handle)')
_define("team_n_pes(team)", 'call("team_n_pes", [context(handle), team], handle)')
_define(
    "team_translate_pe(src_team, pe_in_src_team, dest_team)",
    'call("team_translate_pe", [context(handle), src_team, pe_in_src_team, dest_team], handle)',
)
_define("remote_ptr(local_ptr, pe)", "remote(handle, local_ptr, pe)")
_define("int_p(dest, value, pe, qp_id=0)", 'scoped("atomic_set_u32", "", handle, [dest, value, pe])')
_define("fence()", 'scoped("fence", "", handle, [])')
_define("quiet()", 'scoped("quiet", "", handle, [])')
_define("signal_op(sig_addr, signal, sig_op, pe)", "signal_(handle, sig_addr, signal, sig_op, pe)")
_define("signal_wait_until(sig_addr, cmp_, cmp_val)", "wait_(handle, sig_addr, cmp_, cmp_val)")
_define(
    "ulong_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe)",
    'put_signal("", handle, sig_op, [dest, source, bytes_(dest, nelems, handle), sig_addr, signal, pe])',
)
for _scope in ("", "_warp", "_block"):
    _define(f"barrier_all{_scope}()", f'scoped("barrier", "{_scope}", handle, [0])')
    _define(f"barrier{_scope}(team)", f'scoped("barrier", "{_scope}", handle, [team])')
    _define(f"sync_all{_scope}()", f'scoped("sync", "{_scope}", handle, [0])')
    _define(f"team_sync{_scope}(team)", f'scoped("sync", "{_scope}", handle, [team])')
    for _nbi in ("", "_nbi"):
        _moves = f'"{_scope}", handle, [dest, source, bytes, pe])'
        _define(f"getmem{_nbi}{_scope}(dest, source, bytes, pe, qp_id=0)", f'scoped("get{_nbi}", {_moves}')
        _signals = f'put_signal("{_scope}", handle, sig_op, [dest, source, bytes, sig_addr, signal, pe])'
        for _rma in ("", "_rma"):
            _define(f"putmem{_rma}{_nbi}{_scope}(dest, source, bytes, pe, qp_id=0)", f'scoped("put{_nbi}", {_moves}')
            _define(
                f"putmem_signal{_rma}{_nbi}{_scope}(dest, source, bytes, sig_addr, signal, sig_op, pe, qp_id=0)", _signals
            )
    for _mem, _size in (("mem", "nelems"), ("", "bytes_(dest, nelems, handle)")):
        _define(
            f"broadcast{_mem}{_scope}(team, dest, source, nelems, pe_root)",
            f'scoped("broadcast", "{_scope}", handle, [team, dest, source, {_size}, pe_root])',
        )
        _define(
            f"fcollect{_mem}{_scope}(team, dest, source, nelems)",
            f'scoped("fcollect", "{_scope}", handle, [team, dest, source, {_size}])',
        )


def __getattr__(name: str) -> Any:
    raise AttributeError(f"weft.triton.libshmem_device has no {name}")
