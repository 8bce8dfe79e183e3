"""nvshmem.core as Triton-distributed's programs use it: `import weft.compat.nvshmem as nvshmem`."""

from weft.compat.nvshmem import core

__all__ = ["core"]
