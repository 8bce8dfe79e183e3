"""How a process joins a job: by its launcher, or by a unique id that travels some other way."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from weft import _weft
from weft._errors import ArgumentError, UnsupportedError

_starts = itertools.count()  # of this process, so that each has keys of its own in a store


def unique_id(settings: Mapping[str, object] | None = None) -> _weft.UniqueId:
    """A new place where PEs meet. Keep it until the job has started: who made it serves the rendezvous."""
    return _weft.unique_id(_pairs(settings))


def start(
    *,
    group: Any = None,
    comm: Any = None,
    unique_id: _weft.UniqueId | str | None = None,
    store: Any = None,
    rank: int | None = None,
    size: int | None = None,
    device: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> _weft.Job:
    """A job by one of the ways that weft.init() lists."""
    pairs = _settings_of(device) + _pairs(settings)  # WEFT_GPU, if it is among them, goes last
    job = _meet_somehow(group, comm, unique_id, store, rank, size, pairs)
    if device == "cuda" and job.gpu < 0:
        why = job.describe()
        job.finalize()
        raise UnsupportedError(f'weft.init: device="cuda", and the job has no GPU on each PE:\n{why}')
    return job


def _settings_of(device: str | None) -> list[tuple[str, str]]:
    """A runtime looks for GPUs where a driver is loaded, as it is wherever torch is imported: so it is told."""
    if device not in ("cuda", "cpu", None):
        raise ArgumentError(f'weft.init: argument device is "{device}"; it is "cuda", "cpu" or None')
    if device is None and os.environ.get("WEFT_GPU", "auto") != "auto":
        return []
    if device == "cpu" or device is None and not _uses_gpu():
        return [("WEFT_GPU", "off")]
    _weft.load_gpu_driver()
    return []


def _uses_gpu() -> bool:
    """Whether the program has used a GPU so far."""
    torch = sys.modules.get("torch")
    return (torch is not None and torch.cuda.is_initialized()) or _weft.is_gpu_in_use()


def _meet_somehow(
    group: Any,
    comm: Any,
    unique_id: _weft.UniqueId | str | None,
    store: Any,
    rank: int | None,
    size: int | None,
    pairs: list[tuple[str, str]],
) -> _weft.Job:
    given = {"group": group, "comm": comm, "unique_id": unique_id, "store": store}
    ways = [name for name, way in given.items() if way is not None]
    if len(ways) > 1:
        raise ArgumentError(f"weft.init: {' and '.join(ways)} are given; one of them says how PEs meet")
    if group is not None:
        return _by_group(group, pairs)
    if comm is not None:
        return _by_comm(comm, pairs)
    if unique_id is not None or store is not None:
        if rank is None or size is None:
            raise ArgumentError(f"weft.init: {ways[0]} takes rank and size beside it")
        if unique_id is None:
            return _by_store(store, f"weft/{next(_starts)}", rank, size, pairs)
        identity = _weft.UniqueId.parse(unique_id) if isinstance(unique_id, str) else unique_id
        return _weft.met(identity, rank, size, pairs)
    if rank is not None or size is not None:
        raise ArgumentError("weft.init: rank and size say which PE this is of those that meet at unique_id or in store")
    if _is_under_torchrun(os.environ):
        return _by_agent(pairs)
    return _weft.launched(pairs)


def _pairs(settings: Mapping[str, object] | None) -> list[tuple[str, str]]:
    def text(value: object) -> str:
        return str(int(value)) if isinstance(value, bool) else str(value)

    return [(name, text(value)) for name, value in (settings or {}).items()]


def _meet(rank: int, size: int, pairs: list[tuple[str, str]], share: Callable[[str | None], Any]) -> _weft.Job:
    """Rank 0 makes the unique id; share() takes its text there, None elsewhere, and gives it to all."""
    mine = _weft.unique_id(pairs) if rank == 0 else None
    text = share(mine.text if mine is not None else None)
    return _weft.met(mine or _weft.UniqueId.parse(text), rank, size, pairs)


def _by_group(group: Any, pairs: list[tuple[str, str]]) -> _weft.Job:
    """By a group of torch.distributed."""
    from torch import distributed

    rank, size = distributed.get_rank(group), distributed.get_world_size(group)
    if rank < 0:
        raise ArgumentError("weft.init: this process is no member of the group")

    def share(text: str | None) -> Any:
        box = [text]
        distributed.broadcast_object_list(box, src=distributed.get_global_rank(group, 0), group=group)
        return box[0]

    return _meet(rank, size, pairs, share)


def _by_comm(comm: Any, pairs: list[tuple[str, str]]) -> _weft.Job:
    """By a communicator of mpi4py."""
    return _meet(comm.Get_rank(), comm.Get_size(), pairs, lambda text: comm.bcast(text, root=0))


def _by_store(store: Any, key: str, rank: int, size: int, pairs: list[tuple[str, str]]) -> _weft.Job:
    """By a store as torch.distributed has them: set(key, value), and get(key), which waits."""

    def share(text: str | None) -> str:
        if text is not None:
            store.set(key, text)
            return text
        got = store.get(key)
        return got.decode() if isinstance(got, bytes) else str(got)

    return _meet(rank, size, pairs, share)


def _is_under_torchrun(environment: Mapping[str, str]) -> bool:
    """torchrun alone: a launcher of Weft's own that started it, or was started by it, goes first."""
    names = ("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return all(name in environment for name in names)


def _by_agent(pairs: list[tuple[str, str]]) -> _weft.Job:
    """torchrun: its agent serves a store. A restarted job, and another init, have keys of their own."""
    from torch.distributed import TCPStore

    environment = os.environ
    store = TCPStore(environment["MASTER_ADDR"], int(environment["MASTER_PORT"]), is_master=False)
    restarts = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    key = f"weft/{environment['TORCHELASTIC_RUN_ID']}/{restarts}/{next(_starts)}"
    return _by_store(store, key, int(environment["RANK"]), int(environment["WORLD_SIZE"]), pairs)
