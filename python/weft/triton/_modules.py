"""The context that functions of the bitcode library take from the module in which they are loaded."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from weft._errors import WeftError

KEY = "weft"  # of extern_libs; AMD's back end links a library if its key is part of a function's name
_VARIABLE = b"weft_current_device_context"


class _Driver:
    """The functions of the GPU's driver that store a context in a module."""

    def __init__(self, backend: str) -> None:
        cuda = backend == "cuda"
        self._library = ctypes.CDLL("libcuda.so.1" if cuda else "libamdhip64.so")
        self._get_global = self._library["cuModuleGetGlobal_v2" if cuda else "hipModuleGetGlobal"]
        self._copy = self._library["cuMemcpyHtoD_v2" if cuda else "hipMemcpyHtoD"]
        self._copy_async = self._library["cuMemcpyHtoDAsync_v2" if cuda else "hipMemcpyHtoDAsync"]

    def variable(self, module: int) -> int | None:
        """The address of the module's variable; None if it has none."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        found = self._get_global(ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module), _VARIABLE)
        return address.value if found == 0 else None

    def store(self, variable: int, context: bytes, stream: int | None) -> None:
        """At once, or in the order of a stream."""
        where = (ctypes.c_uint64(variable), ctypes.c_char_p(context), ctypes.c_size_t(len(context)))
        error = self._copy(*where) if stream is None else self._copy_async(*where, ctypes.c_void_p(stream))
        if error != 0:
            raise WeftError(f"weft.triton: the context cannot be stored in a kernel's module: error {error} of the driver")


class Modules:
    """The loaded modules of this process that take a context, on each GPU, and which one they have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._driver: _Driver | None = None
        self._variables: dict[int, list[int]] = {}  # by the GPU's number
        self._stored: dict[int, bytes] = {}

    def provide(self, gpu: int, context: bytes, stream: int) -> None:
        """Before a launch on that stream."""
        if self._stored.get(gpu) == context:
            return
        with self._lock:
            for variable in self._variables.get(gpu, []):
                self._the_driver().store(variable, context, stream)
            self._stored[gpu] = context

    def add(self, gpu: int, module: int) -> None:
        """One that was loaded, before its first kernel is launched."""
        with self._lock:
            variable = self._the_driver().variable(module)
            if variable is None:
                return
            self._variables.setdefault(gpu, []).append(variable)
            if gpu in self._stored:
                self._the_driver().store(variable, self._stored[gpu], None)

    def _the_driver(self) -> _Driver:
        if self._driver is None:
            from triton.runtime import driver

            self._driver = _Driver(driver.active.get_current_target().backend)
        return self._driver


modules = Modules()
