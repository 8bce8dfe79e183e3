"""The end of a job."""

from __future__ import annotations

import weft

__all__ = ["finalize"]


def finalize() -> None:
    """weft.finalize(): collective."""
    weft.finalize()
