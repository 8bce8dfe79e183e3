"""Distributed code on a laptop, as part of a test: PEs that are threads of one process.

    def test_ring():
        def body():
            box = weft.zeros(1, "int64")
            weft.put(box, numpy.array([weft.my_pe()]), (weft.my_pe() + 1) % weft.n_pes())
            weft.barrier()
            return int(box.numpy()[0])

        assert weft.testing.run(3, body) == [2, 0, 1]
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from weft import _current, _start

Result = TypeVar("Result")

__all__ = ["run"]


def run(npes: int, body: Callable[[], Result], *, settings: Mapping[str, object] | None = None) -> list[Result]:
    """Calls `body` on `npes` threads, each of which is a PE of a new job, and gives their results by PE. A PE that
    raises ends the job; what it has raised is raised here. `settings` as in weft.init()."""
    meeting = _start.unique_id(settings)
    results: list[list[Result]] = [[] for _ in range(npes)]
    failures: list[BaseException] = []  # in the order in which they came: the first is the cause

    def play(pe: int) -> None:
        try:
            job = _start.start(unique_id=meeting, rank=pe, size=npes, settings=settings)
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
