"""The functions of weft/device/bitcode.h for kernels, by their names without weft_: put_block(context, dst, src, bytes, pe)
and so on. Pointers and numbers are converted to what each takes."""

from __future__ import annotations

from typing import Any

from weft._bitcode import FUNCTIONS
from weft.triton._externs import call, define

__all__ = list(FUNCTIONS)

for _name, (_, _parameters) in FUNCTIONS.items():
    _list = ", ".join(_parameters)
    globals()[_name] = define(f"{_name}({_list})", f'call("{_name}", [{_list}], handle)', {"call": call})


def __getattr__(name: str) -> Any:
    raise AttributeError(f"weft.triton.device has no {name}; weft/device/bitcode.h lists its functions")
