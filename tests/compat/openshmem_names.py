#!/usr/bin/env python3
"""The routines of OpenSHMEM 1.5 (C, with the deprecated ones) and what 1.6 adds, written down from the
specification's own tables and synopses. Knows nothing of Weft's header, so that it can judge it.

  openshmem_names.py                 one line per routine: name, specification, section, what it belongs to
  openshmem_names.py --rows FOLDER   the same as rows for C++ tests, a file for each family of families:
                                     SHMEM_ROUTINE(family, type, bytes, context, name), SHMEM_PLAIN(name)
  openshmem_names.py --addresses FILE  a C program that takes the address of each, and of its pshmem_ counterpart
  openshmem_names.py --check LIBRARY   what the shared library exports, compared both ways
"""
import argparse
import pathlib
import subprocess
import sys
from typing import NamedTuple

# Table 5 (standard RMA types): TYPENAME and TYPE.
RMA = {
    "float": "float", "double": "double", "longdouble": "long double", "char": "char", "schar": "signed char",
    "short": "short", "int": "int", "long": "long", "longlong": "long long", "uchar": "unsigned char",
    "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long", "ulonglong": "unsigned long long",
    "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "size": "size_t", "ptrdiff": "ptrdiff_t",
}
# Standard, extended and bitwise AMO types.
AMO = ["int", "long", "longlong", "uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64", "size", "ptrdiff"]
EXTENDED = ["float", "double"] + AMO
BITWISE = ["uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64"]
# Reductions over teams, and over active sets (deprecated).
COMPLEX = {"complexd": "double _Complex", "complexf": "float _Complex"}
REDUCE_BITS = ["uchar", "ushort", "uint", "ulong", "ulonglong", "int8", "int16", "int32", "int64", "uint8", "uint16",
               "uint32", "uint64", "size"]
REDUCE_ORDER = ["char", "schar", "short", "int", "long", "longlong", "ptrdiff", *REDUCE_BITS,
                "float", "double", "longdouble"]
REDUCE_ARITHMETIC = [*REDUCE_ORDER, *COMPLEX]
TO_ALL_BITS = ["short", "int", "long", "longlong"]
TO_ALL_ORDER = [*TO_ALL_BITS, "float", "double", "longdouble"]
TO_ALL_ARITHMETIC = [*TO_ALL_ORDER, *COMPLEX]

SIZES = ["8", "16", "32", "64", "128"]
TYPES = {**RMA, **COMPLEX}


class Routine(NamedTuple):
    family: str   # routines of one family differ in type, size and context only; "" for one that has none
    type: str     # the C type; void where it has none
    bytes: str    # of an element, where the type does not say it
    context: bool  # the first argument is one
    name: str
    version: str  # of the specification that has it
    section: str
    deprecated: bool = False


def typed(section, operation, types, ctx=False, version="1.5", deprecated=False):
    """shmem_TYPENAME_operation and, where there is one, shmem_ctx_TYPENAME_operation."""
    for prefix in ["", "ctx_"] if ctx else [""]:
        for name in types:
            yield Routine(operation, TYPES[name], "", prefix != "", f"shmem_{prefix}{name}_{operation}", version,
                          section, deprecated)


def sized(section, operation, sizes, ctx=False, version="1.5", deprecated=False, suffix=""):
    """shmem_operationSIZEsuffix, and with ctx."""
    for prefix in ["", "ctx_"] if ctx else [""]:
        for size in sizes:
            width = "1" if size == "mem" else str(int(size) // 8)
            yield Routine(operation + suffix, "void", width, prefix != "", f"shmem_{prefix}{operation}{size}{suffix}",
                          version, section, deprecated)


def plain(section, *names, version="1.5", deprecated=False):
    for name in names:
        yield Routine("", "void", "", False, name, version, section, deprecated)


def routines():
    # 9.1 Library setup, exit and query
    yield from plain("9.1", "shmem_init", "shmem_my_pe", "shmem_n_pes", "shmem_finalize", "shmem_global_exit",
                     "shmem_pe_accessible", "shmem_addr_accessible", "shmem_ptr", "shmem_info_get_version",
                     "shmem_info_get_name")
    yield from plain("9.1", "start_pes", "_my_pe", "_num_pes", deprecated=True)
    yield from plain("9.1", "shmem_query_initialized", "shmem_team_ptr", version="1.6")
    # 9.2 Threads
    yield from plain("9.2", "shmem_init_thread", "shmem_query_thread")
    # 9.3 Memory management
    yield from plain("9.3", "shmem_malloc", "shmem_free", "shmem_realloc", "shmem_align",
                     "shmem_malloc_with_hints", "shmem_calloc")
    yield from plain("9.3", "shmalloc", "shfree", "shrealloc", "shmemalign", deprecated=True)
    # 9.4 Teams
    yield from plain("9.4", "shmem_team_my_pe", "shmem_team_n_pes", "shmem_team_get_config",
                     "shmem_team_translate_pe", "shmem_team_split_strided", "shmem_team_split_2d",
                     "shmem_team_destroy")
    # 9.5 Contexts
    yield from plain("9.5", "shmem_ctx_create", "shmem_team_create_ctx", "shmem_ctx_destroy", "shmem_ctx_get_team")
    yield from plain("9.5", "shmem_ctx_session_start", "shmem_ctx_session_stop", version="1.6")
    # 9.6 Remote memory access
    for operation in ["put", "get"]:
        for suffix in ["", "_nbi"]:
            yield from typed("9.6", operation + suffix, RMA, ctx=True)
            yield from sized("9.6", operation, [*SIZES, "mem"], ctx=True, suffix=suffix)
        yield from typed("9.6", "i" + operation, RMA, ctx=True)
        yield from sized("9.6", "i" + operation, SIZES, ctx=True)
        yield from typed("9.6", "ib" + operation, RMA, ctx=True, version="1.6")
        yield from sized("9.6", "ib" + operation, SIZES, ctx=True, version="1.6")
    yield from typed("9.6", "p", RMA, ctx=True)
    yield from typed("9.6", "g", RMA, ctx=True)
    # 9.7 Atomics
    for operations, types in [(["fetch", "set", "swap"], EXTENDED),
                              (["compare_swap", "fetch_inc", "inc", "fetch_add", "add"], AMO),
                              (["fetch_and", "and", "fetch_or", "or", "fetch_xor", "xor"], BITWISE)]:
        for operation in operations:
            yield from typed("9.7", "atomic_" + operation, types, ctx=True)
            if operation.startswith("fetch") or operation.endswith("swap"):
                yield from typed("9.7", f"atomic_{operation}_nbi", types, ctx=True)
    # The standard: of int, long and longlong, fetch, set and swap of float and double, too. Others: of all.
    for operation in ["cswap", "finc", "inc", "fadd", "add"]:
        yield from typed("9.7", operation, AMO, deprecated=True)
    for operation in ["fetch", "set", "swap"]:
        yield from typed("9.7", operation, EXTENDED, deprecated=True)
    # 9.8 Signals
    for suffix in ["_signal", "_signal_nbi"]:
        yield from typed("9.8", "put" + suffix, RMA, ctx=True)
        yield from sized("9.8", "put", [*SIZES, "mem"], ctx=True, suffix=suffix)
    yield from plain("9.8", "shmem_signal_fetch")
    yield from plain("9.8", "shmem_signal_set", "shmem_ctx_signal_set", "shmem_signal_add", "shmem_ctx_signal_add",
                     version="1.6")
    # 9.9 Collectives
    yield from plain("9.9", "shmem_barrier_all", "shmem_sync_all", "shmem_team_sync")
    yield from plain("9.9", "shmem_barrier", "shmem_sync", deprecated=True)
    for operation in ["alltoall", "alltoalls", "broadcast", "collect", "fcollect"]:
        yield from typed("9.9", operation, RMA)
        yield from sized("9.9", operation, ["mem"])
        for routine in sized("9.9", operation, ["32", "64"], deprecated=True):
            yield routine._replace(family=f"set_{operation}")
    for operations, over_team, over_set in [(["and", "or", "xor"], REDUCE_BITS, TO_ALL_BITS),
                                            (["max", "min"], REDUCE_ORDER, TO_ALL_ORDER),
                                            (["sum", "prod"], REDUCE_ARITHMETIC, TO_ALL_ARITHMETIC)]:
        for operation in operations:
            yield from typed("9.9", operation + "_reduce", over_team)
            yield from typed("9.9", operation + "_to_all", over_set, deprecated=True)
    yield from typed("9.9", "sum_inscan", REDUCE_ARITHMETIC, version="1.6")
    yield from typed("9.9", "sum_exscan", REDUCE_ARITHMETIC, version="1.6")
    # 9.10 Point-to-point synchronisation: the standard AMO types; of short and unsigned short the standard has the two
    # oldest only, others all.
    for wait in ["wait_until", "test"]:
        yield from typed("9.10", wait, AMO)
        yield from typed("9.10", wait, ["short", "ushort"], deprecated=True)
        for many in ["_all", "_any", "_some"]:
            for vector in ["", "_vector"]:
                yield from typed("9.10", wait + many + vector, AMO)
                yield from typed("9.10", wait + many + vector, ["short", "ushort"], deprecated=True)
    yield from typed("9.10", "wait", ["short", "int", "long", "longlong"], deprecated=True)
    yield from plain("9.10", "shmem_wait", "shmem_wait_until", deprecated=True)
    yield from plain("9.10", "shmem_signal_wait_until")
    # 9.11 Ordering, 9.12 locks, 9.13 cache, 10 profiling
    yield from plain("9.11", "shmem_fence", "shmem_ctx_fence", "shmem_quiet", "shmem_ctx_quiet")
    yield from plain("9.12", "shmem_clear_lock", "shmem_set_lock", "shmem_test_lock")
    yield from plain("9.13", "shmem_set_cache_inv", "shmem_set_cache_line_inv", "shmem_clear_cache_inv",
                     "shmem_clear_cache_line_inv", "shmem_udcflush", "shmem_udcflush_line", deprecated=True)
    yield from plain("10", "shmem_pcontrol")


def counterpart(name):
    """The name-shifted one (section 10). The standard shifts shmem_ names; the older ones follow the same rule."""
    return "p" + name


# The files of rows; routines without a family are plain.
FILES = {"9.6": "rma", "9.7": "atomics", "9.8": "signals", "9.9": "collectives", "9.10": "waits"}


def rows():
    """The text of each file of rows."""
    files = {name: "" for name in [*FILES.values(), "plain"]}
    for each in routines():
        if each.family:
            context = "on_context" if each.context else "plain"
            c_type = each.type.replace("float _Complex", "std::complex<float>").replace(
                "double _Complex", "std::complex<double>")
            files[FILES[each.section]] += (f"SHMEM_ROUTINE({each.family}, {c_type}, {each.bytes or 0}, {context}, "
                                           f"{each.name})\n")
        else:
            files["plain"] += f"SHMEM_PLAIN({each.name})\n"
    return files


def addresses():
    yield "/* Takes the address of every routine and of its counterpart: each is declared and defined. */"
    yield "#include <pshmem.h>"
    yield "#include <shmem.h>"
    yield "#include <stdio.h>"
    yield "typedef void (*routine)(void);"
    yield "static const struct { const char* name; routine mine, counterpart; } table[] = {"
    for each in routines():
        yield f'  {{"{each.name}", (routine)({each.name}), (routine)({counterpart(each.name)})}},'
    yield "};"
    yield "int main(void) {"
    yield "  const size_t count = sizeof(table) / sizeof(table[0]);"
    yield "  size_t missing = 0;"
    yield "  for (size_t i = 0; i < count; ++i) {"
    yield "    if (table[i].mine != 0 && table[i].counterpart != 0) continue;"
    yield '    printf("%s has no address\\n", table[i].name);'
    yield "    ++missing;"
    yield "  }"
    yield '  printf("%zu routines, %zu without an address\\n", count, missing);'
    yield "  return missing != 0;"
    yield "}"


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.split()[-2] in "TtWw"}


# A library may export other names beside the routines: C++ internals, and names of its own prefix.
def is_shmem(name):
    known = {"start_pes", "_my_pe", "_num_pes", "shmalloc", "shfree", "shrealloc", "shmemalign"}
    return name.startswith(("shmem_", "pshmem_")) or name in known or name[1:] in known


def check(library):
    wanted = {each.name: each for each in routines()}
    found = {name for name in exported(library) if is_shmem(name)}
    faults = 0
    for name, each in wanted.items():
        for one in (name, counterpart(name)):
            if one not in found:
                print(f"missing: {one} (OpenSHMEM {each.version}, {each.section})")
                faults += 1
    for name in sorted(found - set(wanted) - {counterpart(name) for name in wanted}):
        print(f"not in the standard: {name}")
        faults += 1
    print(f"{len(wanted)} routines, {len(found)} exported names, {faults} differences")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--addresses", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--check", metavar="LIBRARY")
    arguments = parser.parse_args()
    names = [each.name for each in routines()]
    assert len(names) == len(set(names)), "a routine is listed twice"
    if arguments.rows:
        arguments.rows.mkdir(parents=True, exist_ok=True)
        for name, text in rows().items():
            (arguments.rows / f"{name}.inc").write_text(text, encoding="utf-8")
    if arguments.addresses:
        arguments.addresses.write_text("\n".join(addresses()) + "\n", encoding="utf-8")
    if arguments.check:
        return 1 if check(arguments.check) else 0
    if not arguments.rows and not arguments.addresses:
        for each in routines():
            print(each.name, each.version, each.section, "deprecated" if each.deprecated else "", sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
