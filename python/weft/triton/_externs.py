"""How kernels call the functions of the bitcode library, in all releases of Triton."""

from __future__ import annotations

from typing import Any

from triton.language import core

from weft._bitcode import FUNCTIONS
from weft.triton._modules import KEY

# Triton 3.2 and 3.3 hand a builder to functions like these, later releases a semantic, by these names.
try:
    from triton.language.semantic import TritonSemantic  # noqa: F401

    HANDLE = "_semantic"
except ImportError:
    HANDLE = "_builder"

# The same in the whole of a kernel, whatever that does.
_PURE = {"current_context", "my_pe", "n_pes", "ptr", "team_my_pe", "team_n_pes", "team_translate_pe"}
_TYPES = {"i32": core.int32, "i64": core.int64}


def builder_of(handle: Any) -> Any:
    return handle if HANDLE == "_builder" else handle.builder


def to_tensor(value: Any, handle: Any) -> Any:
    if HANDLE == "_semantic":
        return handle.to_tensor(value)
    return core._to_tensor(value, handle) if hasattr(core, "_to_tensor") else core.semantic.to_tensor(value, handle)


def _check_linked(name: str, handle: Any) -> None:
    libraries = dict(getattr(builder_of(handle).options, "extern_libs", None) or ())
    if KEY not in libraries:
        raise RuntimeError(
            f"weft.triton: {name} is called in a kernel that Weft's library is not linked with: decorate the kernel with "
            f'weft.triton.jit, or compile it with extern_libs={{"{KEY}": weft.triton.bitcode()}}'
        )


def call(name: str, arguments: list[Any], handle: Any) -> Any:
    """A call of weft_NAME. Pointers and numbers become what the table says."""
    result, parameters = FUNCTIONS[name]
    _check_linked(name, handle)
    types = [_TYPES[kind] for kind in parameters.values()]
    if len(arguments) != len(types):
        raise TypeError(f"weft.triton: {name} takes {len(types)} arguments ({', '.join(parameters)}), not {len(arguments)}")
    cast = []
    for argument, kind, parameter in zip(arguments, types, parameters):
        value = to_tensor(argument, handle)
        if value.type.is_block():
            raise TypeError(f"weft.triton: {name}: {parameter} is a block of values; it is one")
        cast.append(core.cast(value, kind, **{HANDLE: handle}))
    symbols = {tuple(types): (f"weft_{name}", _TYPES[result])}
    return core.extern_elementwise(KEY, "", cast, symbols, is_pure=name in _PURE, **{HANDLE: handle})


def define(signature: str, body: str, names: dict[str, Any]) -> Any:
    """A function that kernels call: `body` has its arguments, and `handle`."""
    name = signature.partition("(")[0]
    head, tail = signature[:-1], "" if signature.endswith("()") else ", "
    source = f"def {head}{tail}{HANDLE}=None):\n    handle = {HANDLE}\n    return {body}\n"
    scope = {"__name__": __name__, **names}
    exec(compile(source, f"<weft.triton: {name}>", "exec"), scope)  # Triton wants the handle's name in the signature
    return core.extern(scope[name])
