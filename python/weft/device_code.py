"""Where the device API is for compilers of kernels: the bitcode library, the same as PTX, and the headers for NVRTC.
docs/guide/run-time-compilation.md says what they hold."""

from __future__ import annotations

import pathlib
from typing import Any

from weft import _weft
from weft._current import current
from weft._errors import UnsupportedError

__all__ = ["bitcode", "context", "nvrtc_options", "ptx"]

_PACKAGE = pathlib.Path(_weft.__file__).parent


def context(job: _weft.Job | None = None) -> int:
    """The `context` that the functions take, of the current job or of `job`: the address of a weft::DeviceContext in
    memory that kernels read."""
    return (current() if job is None else job).context_pointer


def bitcode(backend: str = "cuda", arch: Any = None, *, ptx: int = 70) -> str:
    """The path of the library for "cuda", or for "hip" and "gfx942" or "gfx90a": LLVM bitcode, as Triton links it. `ptx`
    is the version of PTX that the compiler writes, 86 for 8.6: from that on waits end sooner."""
    if backend == "cuda":
        return _file("weft_device_ptx86.bc" if ptx >= 86 else "weft_device.bc")
    return _file(f"weft_device_{arch}.bc")


def ptx() -> str:
    """The path of the same for NVIDIA's GPUs as PTX, as Numba links it."""
    return _file("weft_device.ptx")


def nvrtc_options() -> tuple[str, ...]:
    """The options by which NVRTC, and so CuPy's RawModule, finds Weft's headers and compiles them."""
    include = _PACKAGE / "include"
    return "-std=c++17", f"-I{include}", f"-I{include / 'weft' / 'rtc'}"


def _file(name: str) -> str:
    folder = _PACKAGE / "bitcode"
    if (folder / name).exists():
        return str(folder / name)
    there = sorted(each.name for each in folder.glob("*"))
    if there:
        raise UnsupportedError(f"there is no {name}; there are {', '.join(there)}")
    raise UnsupportedError(
        "this package was built without the bitcode library: install clang-19 and llvm-19 (scripts/install-deps.sh hip), "
        "and build it anew"
    )
