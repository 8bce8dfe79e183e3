"""Operations queued on a stream of the job's GPU, where they run in order with kernels and copies that are queued there.

    box, came = weft.zeros(1024), weft.zeros(1, "int64")       # on weft.device()
    weft.on_stream.put(box, activations, right, signal=came, value=step)
    weft.on_stream.wait(came, ">=", step)
    layer(box.torch())

A call returns when it is queued: on `stream`, which is one of torch or CuPy or the number that CUDA knows it by, else on
torch's current stream (without torch, on the legacy default stream). It may be captured in a CUDA graph, whose replays
move what the memory holds then. A later failure is printed, and raised by weft.current().health(). Arrays lie on
weft.device(); those that are no torch tensors of that stream stay alive until the call has run. Streams of one PE that
run collectives at once have a team each.

In a job on host threads each call has run when it returns, so a program for GPUs runs there as well.

Names, arguments and promises are those of the module weft.
"""

from __future__ import annotations

from typing import Any

from weft._current import current
from weft._types import Comparison, ReduceOp, SignalOp
from weft._weft import Team, Tensor

__all__ = [
    "alltoall", "barrier", "broadcast", "fcollect", "get", "put", "quiet", "reduce", "reducescatter", "signal", "sync",
    "wait",
]  # fmt: skip


def _on(stream: Any) -> Any:
    """As the extension has it: None would be the calling thread."""
    return ... if stream is None else stream


def put(
    dst: Any,
    src: Any,
    pe: int,
    *,
    signal: Any = None,
    value: int = 1,
    op: SignalOp = "set",
    stream: Any = None,
) -> None:
    """Complete, at the target too, before what is queued behind begins."""
    current().put(dst, src, pe, signal, value, op, _on(stream))


def get(dst: Any, src: Any, pe: int, *, stream: Any = None) -> None:
    """dst has it when what is queued behind begins."""
    current().get(dst, src, pe, _on(stream))


def signal(word: Any, value: int, pe: int, *, op: SignalOp = "set", stream: Any = None) -> None:
    """All that was queued before is visible there when the signal is."""
    current().signal(word, value, pe, op, _on(stream))


def wait(word: Any, cmp: Comparison, value: int, *, stream: Any = None) -> None:
    """Work queued behind begins when the condition holds, and sees all that came before the signal."""
    current().wait(word, cmp, value, _on(stream))


def quiet(*, stream: Any = None) -> None:
    """All that was queued before is complete everywhere before work queued behind begins."""
    current().quiet(_on(stream))


def barrier(team: Team | None = None, *, stream: Any = None) -> None:
    """Work queued behind begins when every member's stream has come here, and all that was queued before it there,
    kernels too, is complete everywhere."""
    current().barrier(team, _on(stream))


def sync(team: Team | None = None, *, stream: Any = None) -> None:
    """Work queued behind begins when every member's stream has come here."""
    current().sync(team, _on(stream))


def broadcast(dst: Tensor, src: Tensor, root: int, team: Team | None = None, *, stream: Any = None) -> None:
    current().broadcast(dst, src, root, team, _on(stream))


def fcollect(dst: Tensor, src: Tensor, team: Team | None = None, *, stream: Any = None) -> None:
    current().fcollect(dst, src, team, _on(stream))


def alltoall(dst: Tensor, src: Tensor, team: Team | None = None, *, stream: Any = None) -> None:
    current().alltoall(dst, src, team, _on(stream))


def reduce(dst: Tensor, src: Tensor, op: ReduceOp = "sum", team: Team | None = None, *, stream: Any = None) -> None:
    """Takes integers and floats of up to 8 bytes."""
    current().reduce(dst, src, op, team, _on(stream))


def reducescatter(
    dst: Tensor, src: Tensor, op: ReduceOp = "sum", team: Team | None = None, *, stream: Any = None
) -> None:
    """Takes integers and floats of up to 8 bytes."""
    current().reducescatter(dst, src, op, team, _on(stream))
