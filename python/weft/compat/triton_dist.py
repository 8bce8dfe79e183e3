"""Set-up as Triton-distributed's programs have it, on Weft: the imports change, the rest stays.

    import triton                                            -> import weft.compat.triton as triton
    import nvshmem.core                                      -> import weft.compat.nvshmem as nvshmem
    import triton_dist.language as dl                        -> import weft.triton.language as dl
    from triton_dist.language.extra import libshmem_device   -> from weft.triton import libshmem_device
    from triton.language.extra.cuda.language_extra import    -> from weft.triton.language import
    from triton_dist.utils import                            -> from weft.compat.triton_dist import
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import distributed

import weft
from weft.triton import jit

__all__ = [
    "NVSHMEM_SIGNAL_DTYPE", "dist_print", "initialize_distributed", "jit", "nvshmem_barrier_all_on_stream",
    "nvshmem_create_tensor", "nvshmem_create_tensors", "nvshmem_free_tensor_sync",
]  # fmt: skip

NVSHMEM_SIGNAL_DTYPE = torch.uint64

_tensors: dict[int, weft.Tensor] = {}  # by address: torch's tensors do not know whose memory they are


def initialize_distributed(seed: int | None = None) -> Any:
    """Under torchrun: a GPU, torch's process group and Weft's job for this process; gives the group of all ranks. Where
    processes share a GPU, which NCCL refuses, the group is gloo's."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    gpus = torch.cuda.device_count()
    torch.cuda.set_device(local % gpus)
    if not distributed.is_initialized():
        shared = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > gpus
        distributed.init_process_group("gloo" if shared else "cpu:gloo,cuda:nccl")
    weft.init(group=distributed.group.WORLD, device="cuda")
    torch.manual_seed(distributed.get_rank() if seed is None else seed)
    return distributed.group.WORLD


def nvshmem_create_tensor(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A symmetric tensor, not initialised. Collective."""
    tensor = weft.empty(tuple(shape), dtype)
    array = tensor.torch()
    _tensors[tensor.data_ptr] = tensor
    return array


def nvshmem_create_tensors(shape: Sequence[int], dtype: torch.dtype, rank: int, local_world_size: int) -> list[torch.Tensor]:
    """The same, as each rank of the host has it, in their order; the one of `rank` is mine. Collective."""
    mine = nvshmem_create_tensor(shape, dtype)
    first = rank - rank % local_world_size
    return [
        mine if pe == weft.my_pe() else torch.from_dlpack(weft.peer(_tensors[mine.data_ptr()], pe))
        for pe in range(first, first + local_world_size)
    ]


def nvshmem_free_tensor_sync(tensor: torch.Tensor) -> None:
    """Collective: what uses it on the GPU has run on all PEs. Its memory is used again once the program has dropped it
    and what it made of it."""
    torch.cuda.synchronize()
    weft.barrier()
    _tensors.pop(tensor.data_ptr(), None)


def nvshmem_barrier_all_on_stream(stream: Any = None) -> None:
    """weft.on_stream.barrier()."""
    weft.on_stream.barrier(stream=stream)


def dist_print(
    *values: Any,
    prefix: bool = False,
    need_sync: bool = False,
    allowed_ranks: Sequence[int] | str = (0,),
    **how: Any,
) -> None:
    """print() by these ranks ("all": by all), one after the other if `need_sync`."""
    mine = distributed.get_rank()
    ranks = range(distributed.get_world_size()) if allowed_ranks == "all" else allowed_ranks
    for turn in range(distributed.get_world_size()):
        if turn == mine and mine in ranks:
            print(*([f"[rank:{mine}]"] if prefix else []), *values, **how)
            sys.stdout.flush()
        if need_sync:
            distributed.barrier()
