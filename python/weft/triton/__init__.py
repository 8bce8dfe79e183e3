"""Weft's device API in kernels of stock Triton (3.2 and later).

    import triton.language as tl
    import weft, weft.triton as wt
    from weft.triton import device

    @wt.jit                                    # triton.jit, and Weft's library is linked
    def pass_on(ctx, box, came, data, BYTES: tl.constexpr):
        right = (device.my_pe(ctx) + 1) % device.n_pes(ctx)
        device.put_signal_set_block(ctx, box, data, BYTES, came, 1, right)
        device.wait_until_u64_block(ctx, came, 3, 1)              # >=

    pass_on[(1,)](wt.context(), box.torch(), came.torch(), data, 4096)

`device` has the functions of weft/device/bitcode.h by their names: PUT_SCOPE and so on, with the context as the first
argument; what ends in _block is called by the whole program, and is what a program on scalars wants. `language` and
`libshmem_device` have the names that Triton-distributed's kernels use, which take the process's current job
(weft.init(), weft.use()): it is stored in each kernel's module, and changed in the order of the launching stream. Jobs
that run at once on one GPU pass their contexts.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import triton

from weft import _weft
from weft._current import current
from weft._errors import UnsupportedError
from weft.device_code import bitcode, context
from weft.triton import device, language, libshmem_device
from weft.triton._modules import KEY, modules

__all__ = ["bitcode", "context", "device", "jit", "language", "libshmem_device", "team_address"]


def team_address(team: _weft.Team | None) -> int:
    """A team as kernels take it; 0 for all PEs. It is good as long as the team is."""
    return 0 if team is None else team.device_address


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """triton.jit, whose arguments it takes, for a kernel that calls Weft; autotune and heuristics go around it. A launch
    without a job raises."""
    if function is None:
        return lambda given: jit(given, **options)
    made = triton.jit(function, **options)
    launch = made.run

    def run(*args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        active = triton.runtime.driver.active
        gpu = active.get_current_device()
        kwargs["extern_libs"] = {**(kwargs.get("extern_libs") or {}), KEY: _library_for(gpu, kwargs.get("ptx_version"))}
        if not warmup:
            _watch_loading()
            modules.provide(gpu, current().device_context, active.get_current_stream(gpu))
        return launch(*args, grid=grid, warmup=warmup, **kwargs)

    made.run = run
    return made


@functools.lru_cache
def _library_for(gpu: int, ptx_version: int | None) -> str:
    target = triton.runtime.driver.active.get_current_target()
    return bitcode(target.backend, target.arch, ptx=_ptx_version(target, ptx_version))


def _ptx_version(target: Any, wanted: int | None) -> int:
    """The version of the PTX that Triton hands to its assembler: `wanted` by a launch, else the newest that the
    assembler takes."""
    if target.backend != "cuda":
        return 0
    from triton.backends.nvidia.compiler import get_ptx_version_from_options as version

    arguments = (types.SimpleNamespace(ptx_version=wanted), target.arch)
    return int(version(*arguments[: len(inspect.signature(version).parameters)]))


_is_watching = False


def _watch_loading() -> None:
    """Modules get the context when they are loaded."""
    global _is_watching
    if _is_watching:
        return
    _is_watching = True

    def loaded(module: int) -> None:
        modules.add(triton.runtime.driver.active.get_current_device(), module)

    knobs = getattr(triton, "knobs", None)
    if knobs is not None and hasattr(knobs.runtime, "kernel_load_end_hook"):
        _add_hook(knobs.runtime, lambda module, *_, **__: loaded(module))
        return
    # Releases before 3.4 have no hook there.
    kernel = triton.compiler.CompiledKernel
    initialise = getattr(kernel, "_init_handles", None)
    if initialise is None:
        raise UnsupportedError(f"weft.triton: Triton {triton.__version__} does not tell when a kernel is loaded")

    def init_handles(self: Any) -> None:
        was_loaded = self.module is not None
        initialise(self)
        if not was_loaded:
            loaded(self.module)

    kernel._init_handles = init_handles


def _add_hook(runtime: Any, hook: Callable[..., None]) -> None:
    """Beside one that is there."""
    present = runtime.kernel_load_end_hook
    if hasattr(present, "add"):
        present.add(hook)
        return

    def both(*args: Any, **kwargs: Any) -> None:
        hook(*args, **kwargs)
        if present is not None:
            present(*args, **kwargs)

    runtime.kernel_load_end_hook = both
