"""Weft: one-sided communication between processes, from Python.

    import weft

    weft.init()                                  # weft-run, mpirun, srun and torchrun are found
    right = (weft.my_pe() + 1) % weft.n_pes()
    box = weft.zeros(4, "float64")               # the same on every PE, and each reaches all of them
    came = weft.zeros(1, "uint64")
    weft.put(box, numpy.full(4, weft.my_pe() + 1.0), right, signal=came, value=1)
    weft.wait(came, ">=", 1)
    print(box.numpy())

Symmetric tensors are made by all PEs together. Where a call wants one of another PE, it takes this PE's own
tensor, or a part of it, and the number of the other. Arrays of numpy, torch and others are taken wherever a
call wants private memory, and made of tensors without a copy: tensor.numpy(), tensor.torch(), numpy.from_dlpack.

A job has a GPU on each PE, or runs on host threads: weft.device() tells. Calls here are carried out by the calling
thread on host memory; weft.on_stream has those that a stream of the GPU carries out, on its memory.

Calls that wait for other PEs let other threads of the interpreter run meanwhile, and give up with WaitTimeoutError
when WEFT_WAIT_TIMEOUT has passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft import _current, _start, _weft, on_stream
from weft._current import current, use
from weft._errors import (
    AbortedError,
    ArgumentError,
    OutOfMemoryError,
    PeerLostError,
    UnsupportedError,
    WaitTimeoutError,
    WeftError,
)
from weft._start import unique_id
from weft._types import AtomicOp, Comparison, Device, ReduceOp, SignalOp
from weft._weft import Job, Team, Tensor, UniqueId
from weft.functional import all_reduce
from weft.operators import (
    AgGemm,
    AllGather,
    AllReduce,
    AllReduceNorm,
    AllToAll,
    Broadcast,
    Gemm,
    GemmAr,
    GemmRs,
    ReduceScatter,
)

__version__: str = _weft.version

# --- jobs ---------------------------------------------------------------------------------------------------------


def init(
    *,
    group: Any = None,
    comm: Any = None,
    unique_id: UniqueId | str | None = None,
    store: Any = None,
    rank: int | None = None,
    size: int | None = None,
    device: Device | None = None,
    settings: Mapping[str, object] | None = None,
) -> Job:
    """Joins the job of this process, which is the current one from then on. Collective over its PEs.

    Without arguments it finds its launcher: weft-run, mpirun, srun, torchrun; none: a job of one PE. Else one of
      group      a group of torch.distributed, whose ranks become PEs
      comm       a communicator of mpi4py, likewise
      unique_id  what weft.unique_id() of one process gave, or its text; with rank and size
      store      a store as torch.distributed has them; with rank and size
    `device` "cuda" takes a GPU: the current one (torch.cuda.set_device), else one after the other on each host, which is
    made current; "cpu" takes none. Without it a GPU is taken where the programs of all PEs have used one before, as by
    torch.cuda.set_device. `settings` are options by the names of their variables: {"WEFT_HEAP_SIZE": "1G"}.
    """
    if _current.has_one():
        raise ArgumentError("weft.init: this process has a job; weft.finalize() ends it, weft.join() starts one more")
    job = join(
        group=group,
        comm=comm,
        unique_id=unique_id,
        store=store,
        rank=rank,
        size=size,
        device=device,
        settings=settings,
    )
    _current.set_for_process(job)
    return job


def join(
    *,
    group: Any = None,
    comm: Any = None,
    unique_id: UniqueId | str | None = None,
    store: Any = None,
    rank: int | None = None,
    size: int | None = None,
    device: Device | None = None,
    settings: Mapping[str, object] | None = None,
) -> Job:
    """As init(), for a further job: calls in a `with weft.use(job):` are of it."""
    job = _start.start(
        group=group,
        comm=comm,
        unique_id=unique_id,
        store=store,
        rank=rank,
        size=size,
        device=device,
        settings=settings,
    )
    _current.add(job)
    return job


def finalize(job: Job | None = None) -> None:
    """Ends the current job, or `job`. Collective: waits until all PEs are here. Arrays made of its tensors stay
    valid; calls raise. A second one does nothing, and what still runs when the interpreter ends is ended there."""
    _current.end(current() if job is None else job)


def my_pe() -> int:
    """The number of this PE, from 0 on."""
    return current().pe


def n_pes() -> int:
    """How many PEs the job has."""
    return current().npes


def device() -> str:
    """Where the job runs its kernels: "cuda:0", or "cpu" for host threads."""
    gpu = current().gpu
    return "cpu" if gpu < 0 else f"cuda:{gpu}"


def abort(code: int, why: str) -> None:
    """Ends the whole job: all PEs' calls raise AbortedError, and weft-run exits with `code`."""
    current().abort(code, why)


# --- symmetric memory ---------------------------------------------------------------------------------------------


def empty(shape: int | Sequence[int], dtype: Any = "float32", *, device: Any = None) -> Tensor:
    """A symmetric tensor of `shape`, not initialised. Collective, with the same arguments on all PEs; it is there on
    all when it returns on any. `dtype`: a name ("float32", "bfloat16", ...), or that of numpy or torch. `device`: "cpu"
    or "cuda", the job's GPU; without it weft.device().

    Its memory is given back by free(), or, once all PEs have merely dropped it and all that was made of it, at the
    next empty(), zeros() or finalize(), which waits for what this process has queued on its GPU."""
    return _tensor(shape, dtype, device, False)


def zeros(shape: int | Sequence[int], dtype: Any = "float32", *, device: Any = None) -> Tensor:
    """The same, zeroed."""
    return _tensor(shape, dtype, device, True)


def _place(given: Any) -> str:
    return device() if given is None else str(given)


def _tensor(shape: int | Sequence[int], dtype: Any, device: Any, zeroed: bool) -> Tensor:
    lengths = [shape] if isinstance(shape, int) else list(shape)
    return current().tensor(lengths, dtype, zeroed, _place(device))


def like(tensor: Any) -> Tensor:
    """empty() of the shape, dtype and device of a tensor or array."""
    return empty(tuple(tensor.shape), tensor.dtype, device=getattr(tensor, "device", "cpu"))


def register(tensor: Any) -> Tensor:
    """An array that exists becomes symmetric where it is: a torch.Tensor of the job's GPU, or whole pages of host memory.
    Collective, with arrays of as many bytes everywhere, whose contents stay. The result keeps the array alive, and its
    memory is symmetric until free(), or until all PEs have dropped the result, as with empty(); memory of hosts until the
    job ends, which keeps it.

    On a GPU, peers map whole allocations: torch's allocator without expandable segments has such that can be mapped."""
    return current().adopt(tensor)


def free(tensor: Tensor) -> None:
    """Gives back the memory of a tensor, whole. Collective, for the same tensors in the same order; operations on it
    are complete first. Refused on all PEs while an array made of it is alive on any."""
    current().free(tensor)


def peer(tensor: Tensor, pe: int) -> Any:
    """The memory of `pe` where `tensor` is here, to be loaded and stored directly: an array that numpy.from_dlpack and
    torch.from_dlpack take. UnsupportedError where that memory is not mapped, as between hosts."""
    return tensor.peer(pe)


# --- put, get, signals --------------------------------------------------------------------------------------------


def put(dst: Any, src: Any, pe: int, *, signal: Any = None, value: int = 1, op: SignalOp = "set") -> None:
    """Copies `src`, any array, to `dst`, symmetric, on `pe`. With a `signal` (one int64 or uint64, symmetric) that is
    set to `value` there, or added to, once all bytes are visible. On return `src` may change. quiet() completes what
    puts have begun, fence() orders it."""
    current().put(dst, src, pe, signal, value, op, None)


def get(dst: Any, src: Any, pe: int) -> None:
    """Copies `src`, symmetric, of `pe` to `dst`, any array, which has it on return."""
    current().get(dst, src, pe, None)


def signal(word: Any, value: int, pe: int, *, op: SignalOp = "set") -> None:
    """Sets one symmetric int64 or uint64 of `pe`, or adds to it."""
    current().signal(word, value, pe, op, None)


def wait(word: Any, cmp: Comparison, value: int) -> None:
    """Waits until `word <cmp> value` holds for one integer of mine that others set. All that its setter had put
    before is visible then."""
    current().wait(word, cmp, value, None)


def test(word: Any, cmp: Comparison, value: int) -> bool:
    """Whether it holds now."""
    return current().test(word, cmp, value)


def atomic(op: AtomicOp, word: Any, value: int | None, pe: int, *, compare: int | None = None) -> int | None:
    """One atomic on a symmetric integer of 4 or 8 bytes of `pe`; the fetching ones, swap and compare_swap return what
    was there before."""
    return current().atomic(op, word, value, pe, compare)


def fence() -> None:
    """Operations before it to a PE are delivered there before those after it."""
    current().fence()


def quiet() -> None:
    """Operations before it are complete, and visible to everybody."""
    current().quiet(None)


# --- teams and collectives ----------------------------------------------------------------------------------------


def world() -> Team:
    """All PEs."""
    return current().world()


def node() -> Team:
    """The PEs of this host."""
    return current().node()


def team(ranks: Sequence[int], parent: Team | None = None) -> Team:
    """A team of these ranks of `parent` (all PEs), in this order. Collective over the parent; whoever is not in it
    gets one whose rank is -1."""
    return current().team(list(ranks), parent)


def barrier(team: Team | None = None) -> None:
    """All members are here, and what they had put before is complete everywhere."""
    current().barrier(team, None)


def sync(team: Team | None = None) -> None:
    """All members are here."""
    current().sync(team, None)


def broadcast(dst: Tensor, src: Tensor, root: int, team: Team | None = None) -> None:
    """`src` of the member of rank `root` to `dst` of all. Here and below: dst and src are symmetric, all members of
    the team call, in the same order; on return dst is complete here, and src may change."""
    current().broadcast(dst, src, root, team, None)


def fcollect(dst: Tensor, src: Tensor, team: Team | None = None) -> None:
    """The members' src, one behind the other in the order of ranks, to all. dst has size times as many elements."""
    current().fcollect(dst, src, team, None)


def alltoall(dst: Tensor, src: Tensor, team: Team | None = None) -> None:
    """Block r of src to rank r, where it is the block of my rank. As many blocks as members."""
    current().alltoall(dst, src, team, None)


def reduce(dst: Tensor, src: Tensor, op: ReduceOp = "sum", team: Team | None = None) -> None:
    """dst[i] = src[i] of rank 0 op src[i] of rank 1 op ..., on all members, in that order: the same bits on all, in
    every run. dst may be src."""
    current().reduce(dst, src, op, team, None)


def reducescatter(dst: Tensor, src: Tensor, op: ReduceOp = "sum", team: Team | None = None) -> None:
    """The same of block r of src, to rank r. src has size times as many elements."""
    current().reducescatter(dst, src, op, team, None)


__all__ = [
    "AbortedError", "AgGemm", "AllGather", "AllReduce", "AllReduceNorm", "AllToAll", "ArgumentError", "AtomicOp",
    "Broadcast", "Comparison", "Gemm", "GemmAr", "GemmRs", "Job", "OutOfMemoryError", "PeerLostError", "ReduceOp",
    "ReduceScatter", "SignalOp", "Team", "Tensor", "UniqueId", "UnsupportedError", "WaitTimeoutError", "WeftError",
    "abort", "all_reduce", "alltoall", "atomic", "barrier", "broadcast", "current", "device", "empty", "fcollect", "fence", "finalize",
    "free", "get", "init", "join", "like", "my_pe", "n_pes", "node", "on_stream", "peer", "put", "quiet", "reduce", "reducescatter", "register", "signal",
    "sync", "team", "test", "unique_id", "use", "wait", "world", "zeros",
]  # fmt: skip
