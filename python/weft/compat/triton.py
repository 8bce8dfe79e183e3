"""triton, whose jit links Weft's library: `import weft.compat.triton as triton`."""

from __future__ import annotations

from typing import Any

import triton as _triton

from weft.triton import jit

__all__ = ["jit"]


def __getattr__(name: str) -> Any:
    return getattr(_triton, name)
