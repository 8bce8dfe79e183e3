"""Operators by what they serve, each made at the first call that wants it, and kept as long as the job goes on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from weft import _weft
from weft._current import current

Operator = TypeVar("Operator")

LEAST_COUNT = 1 << 16  # elements; below it the workspace of a collective hardly shrinks

_of_jobs: dict[_weft.Job, dict[Hashable, object]] = {}


def made(key: Hashable, make: Callable[[], Operator]) -> Operator:
    """The current job's operator of that key, which all PEs make in the same order: make() is collective."""
    job = current()
    mine = _of_jobs.get(job)
    if mine is None:
        for other in [each for each in _of_jobs if each.has_ended]:
            del _of_jobs[other]
        mine = _of_jobs[job] = {}
    found = mine.get(key)
    if found is None:
        found = mine[key] = make()
    return found  # type: ignore[return-value]  # of what make() gives


def room_for(count: int, least: int) -> int:
    """How large an operator is made for a call of that size: few sizes serve all calls."""
    return max(least, 1 << (count - 1).bit_length()) if count > 0 else least
