"""The current job, to which calls belong: that of the thread, else that of the process."""

from __future__ import annotations

import atexit
import os
import sys
import threading

from weft import _weft
from weft._errors import ArgumentError

_lock = threading.Lock()
_jobs: list[_weft.Job] = []  # those that have not ended, oldest first
_of_process: _weft.Job | None = None


class _OfThread(threading.local):
    stack: list[_weft.Job] | None = None


_of_thread = _OfThread()
_process = os.getpid()


def add(job: _weft.Job) -> None:
    with _lock:
        _jobs.append(job)


def set_for_process(job: _weft.Job) -> None:
    global _of_process
    _of_process = job


def has_one() -> bool:
    return _of_process is not None and not _of_process.has_ended


def current() -> _weft.Job:
    """The job of this thread's innermost `with weft.use(job)`, else that of weft.init()."""
    stack = _of_thread.stack
    job = stack[-1] if stack else _of_process
    if job is None:
        raise ArgumentError("there is no job yet: call weft.init() first")
    return job


class use:
    """`with weft.use(job):` makes it the job of this thread's calls."""

    def __init__(self, job: _weft.Job) -> None:
        self._job = job

    def __enter__(self) -> _weft.Job:
        if _of_thread.stack is None:
            _of_thread.stack = []
        _of_thread.stack.append(self._job)
        return self._job

    def __exit__(self, *exception: object) -> None:
        assert _of_thread.stack is not None
        _of_thread.stack.pop()


def end(job: _weft.Job) -> None:
    """Collective: the end of a job, which calls know from then on."""
    with _lock:
        if job in _jobs:
            _jobs.remove(job)
    job.finalize()


@atexit.register
def _end_all() -> None:
    """A program that ends has no calls left: its jobs end in order. One that an exception ended takes the
    other PEs along, which would wait for it. A forked child's end concerns nobody."""
    if os.getpid() != _process:
        return
    failure = getattr(sys, "last_value", None)
    for job in list(reversed(_jobs)):
        try:
            if failure is not None:
                job.abort(1, f"PE {job.pe} ended with {type(failure).__name__}: {failure}")
            end(job)
        except Exception as problem:  # there is nobody left to handle it
            if failure is None:
                print(f"weft: the job did not end in order: {problem}", file=sys.stderr)
