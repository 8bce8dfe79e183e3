"""Types of arguments."""

from __future__ import annotations

from typing import Literal

AtomicOp = Literal[
    "set", "add", "and", "or", "xor", "fetch", "swap", "compare_swap", "fetch_add", "fetch_and", "fetch_or", "fetch_xor"
]
Comparison = Literal["==", "!=", ">", ">=", "<", "<="]
Device = Literal["cuda", "cpu"]
FoldOp = Literal["sum", "min", "max"]
ReduceOp = Literal["sum", "prod", "min", "max", "and", "or", "xor"]
SignalOp = Literal["set", "add"]
