"""Distributed code on a laptop, as part of a test: PEs that are threads of one process, or processes.

    def test_ring():
        def body():
            box = weft.zeros(1, "int64")
            weft.put(box, numpy.array([weft.my_pe()]), (weft.my_pe() + 1) % weft.n_pes())
            weft.barrier()
            return int(box.numpy()[0])

        assert weft.testing.run(3, body) == [2, 0, 1]
"""

from __future__ import annotations

import multiprocessing
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from weft import _current, _start
from weft._errors import AbortedError, PeerLostError
from weft._types import Device

Result = TypeVar("Result")

__all__ = ["run", "run_processes"]


def run(
    npes: int,
    body: Callable[[], Result],
    *,
    device: Device | None = "cpu",
    settings: Mapping[str, object] | None = None,
) -> list[Result]:
    """Calls `body` on `npes` threads, each of which is a PE of a new job, and gives their results by PE. A PE that
    raises ends the job; what it has raised is raised here. `device` and `settings` as in weft.init(); PEs that share a GPU
    have a stream each (torch.cuda.stream), since kernels on the legacy default stream wait for one another."""
    rendezvous = _start.unique_id(settings)
    results: list[list[Result]] = [[] for _ in range(npes)]
    failures: list[BaseException] = []  # in the order in which they came: the first is the cause

    def play(pe: int) -> None:
        try:
            job = _start.start(unique_id=rendezvous, rank=pe, size=npes, device=device, settings=settings)
        except BaseException as failure:
            failures.append(failure)
            return
        with _current.use(job):
            try:
                results[pe].append(body())
            except BaseException as failure:
                failures.append(failure)
                job.abort(1, f"PE {pe} raised {type(failure).__name__}: {failure}")
            try:
                job.finalize()
            except BaseException as failure:
                failures.append(failure)

    threads = [threading.Thread(target=play, args=(pe,), name=f"weft-pe-{pe}") for pe in range(npes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [result[0] for result in results]


def run_processes(
    npes: int,
    body: Callable[[], Result],
    *,
    device: Device | None = "cpu",
    settings: Mapping[str, object] | None = None,
) -> list[Result]:
    """The same on processes, which multiprocessing spawns: `body` is a function of a module, and what it gives or raises
    can be pickled. A process that dies ends the job."""
    rendezvous = _start.unique_id(settings)
    spawn = multiprocessing.get_context("spawn")
    answers: Any = spawn.Queue()
    arguments = (rendezvous.text, npes, body, device, dict(settings or {}), answers)
    processes = [spawn.Process(target=_play, args=(pe, *arguments), name=f"weft-pe-{pe}") for pe in range(npes)]
    for process in processes:
        process.start()
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    while len(results) + len(failures) < npes:
        try:
            pe, result, failure = answers.get(timeout=0.2)
        except queue.Empty:
            if all(process.exitcode is not None for process in processes):
                break
            continue
        if failure is None:
            results[pe] = result
        else:
            failures.append(failure)
    for process in processes:
        process.join()
    # The cause, rather than how it ended the others.
    failures.sort(key=lambda failure: isinstance(failure, (AbortedError, PeerLostError)))
    if failures:
        raise failures[0]
    if len(results) < npes:
        dead = next(pe for pe in range(npes) if pe not in results)
        raise RuntimeError(f"PE {dead} ended with exit code {processes[dead].exitcode} and gave no result")
    return [results[pe] for pe in range(npes)]


def _play(
    pe: int,
    rendezvous: str,
    npes: int,
    body: Callable[[], Any],
    device: Device | None,
    settings: Mapping[str, object],
    answers: Any,
) -> None:
    try:
        job = _start.start(unique_id=rendezvous, rank=pe, size=npes, device=device, settings=settings)
    except BaseException as failure:
        answers.put((pe, None, failure))
        return
    _current.set_for_process(job)
    result, cause = None, None
    try:
        result = body()
    except BaseException as failure:
        cause = failure
        job.abort(1, f"PE {pe} raised {type(failure).__name__}: {failure}")
    try:
        job.finalize()
    except BaseException as failure:
        cause = cause or failure
    answers.put((pe, result, cause))
