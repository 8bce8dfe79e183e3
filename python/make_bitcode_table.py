"""Writes weft/_bitcode.py, the table of the bitcode library's functions, from weft/device/bitcode.h after the
preprocessor, which comes by standard input."""

import re
import sys

TYPES = {"weft_address": "i64", "uint64_t": "i64", "int64_t": "i64", "uint32_t": "i32", "int32_t": "i32"}


def functions(text):
    """name: (type of the result, {argument: type}) of each, without weft_."""
    table = {}
    for result, name, parameters in re.findall(r"\b(\w+) weft_(\w+) *\(([^)]*)\);", text):
        pairs = [parameter.split() for parameter in parameters.split(",")]
        table[name] = TYPES[result], {parameter: TYPES[kind] for kind, parameter in pairs}
    return table


if __name__ == "__main__":
    print('"""The functions of the bitcode library: what each gives, and its arguments. Made from weft/device/bitcode.h."""\n')
    print("FUNCTIONS: dict[str, tuple[str, dict[str, str]]] = {")
    for name, row in functions(sys.stdin.read()).items():
        print(f"    {name!r}: {row!r},")
    print("}")
