"""Tensors as arrays of numpy and torch, which are loaded at the first use."""

from __future__ import annotations

import sys
from typing import Any

from weft import _weft
from weft._errors import ArgumentError, UnsupportedError

_OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def to_numpy(tensor: _weft.Tensor) -> Any:
    """A numpy array of the same memory. bfloat16 and float8 take the package ml_dtypes."""
    import numpy

    if tensor.device != "cpu":
        raise ArgumentError(f"numpy has no memory of {tensor.device}: tensor.torch().cpu() copies it")
    if tensor.dtype not in _OF_ML_DTYPES:
        return numpy.from_dlpack(tensor)
    try:
        import ml_dtypes
    except ImportError as missing:
        raise UnsupportedError(
            f"numpy has no {tensor.dtype}: install ml_dtypes, or take tensor.torch()"
        ) from missing
    return numpy.from_dlpack(tensor.bits()).view(getattr(ml_dtypes, tensor.dtype))


def to_torch(tensor: _weft.Tensor) -> Any:
    """A torch.Tensor of the same memory."""
    import torch

    if tensor.dtype.startswith("float8"):  # which torch's DLPack does not know before 2.9
        return torch.from_dlpack(tensor.bits()).view(getattr(torch, tensor.dtype))
    return torch.from_dlpack(tensor)


def empty_like(array: Any) -> Any:
    """A private array of the kind, shape, type and place of `array`; of a weft.Tensor one of torch or numpy."""
    if isinstance(array, _weft.Tensor):
        array = array.torch() if "torch" in sys.modules else array.numpy()
    return sys.modules[type(array).__module__.partition(".")[0]].empty_like(array)  # torch, numpy, cupy


def order_behind(stream: int, gpu: int) -> None:
    """Work on `stream` (DLPack's number) is behind what torch's current stream has queued so far: whoever fills a tensor
    does so there."""
    torch = sys.modules.get("torch")
    if torch is None or stream == -1 or not torch.cuda.is_initialized():
        return
    mine = torch.cuda.current_stream(gpu)
    theirs = 0 if stream == 1 else stream
    if theirs != mine.cuda_stream:
        consumer = torch.cuda.ExternalStream(theirs, gpu) if theirs else torch.cuda.default_stream(gpu)
        consumer.wait_stream(mine)
