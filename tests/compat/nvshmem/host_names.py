#!/usr/bin/env python3
"""The routines of NVSHMEM 3.8 that hosts call, written down from NVIDIA's documentation. Knows nothing of Weft's
headers, so that it can judge them.

  host_names.py                   one line per routine: there, or why it is not
  host_names.py --program FILE    a C++ program that takes the address of each that is there
  host_names.py --check LIBRARY   what the shared library exports, compared both ways
"""
import argparse
import pathlib
import subprocess
import sys

SIGNED = ["schar", "short", "int", "long", "longlong", "int8", "int16", "int32", "int64", "ptrdiff"]
UNSIGNED = ["uchar", "ushort", "uint", "ulong", "ulonglong", "uint8", "uint16", "uint32", "uint64", "size"]
RMA = ["bfloat16", "half", "float", "double", "char", *SIGNED, *UNSIGNED]
AMO = ["int", "long", "longlong", "size", "ptrdiff", "uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64"]
EXTENDED = ["float", "double", *AMO]
BITWISE_AMO = ["uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64"]
WAIT = ["short", "ushort", *AMO]
BITWISE = [*UNSIGNED, "int8", "int16", "int32", "int64"]
REDUCE = [*(name for name in RMA if name != "ptrdiff")]
SIZES = ["8", "16", "32", "64", "128"]

# Names of NVSHMEM that Weft does not have, and why; a * stands for any of what is in its place.
OMITTED = {
    "nvshmemx_*_atomic_add": "newer than NVSHMEM 3.4.5, whose names these are",
    "nvshmemx_*_atomic_fetch_add": "newer than NVSHMEM 3.4.5, whose names these are",
    "nvshmemx_buffer_register_symmetric_at_preferred_address": "memory becomes symmetric where it is",
    "nvshmemx_team_init": "members of a team have no way to find each other by a number",
    "nvshmemx_team_get_uniqueid": "as nvshmemx_team_init",
    "nvshmemx_qp_create": "there is no network transport with queue pairs yet",
    "nvshmemx_collective_launch_attr": "newer than NVSHMEM 3.4.5, whose names these are",
    "nvshmemx_flush*": "newer than NVSHMEM 3.4.5, whose names these are",
    "nvshmemx_region_*": "newer than NVSHMEM 3.4.5, whose names these are",
    "nvshmemx_signal_counted_reset": "newer than NVSHMEM 3.4.5, whose names these are",
}

# Inline in a header, since they call CUDA's runtime.
INLINE = ["nvshmemx_collective_launch", "nvshmemx_collective_launch_query_gridsize"]


def typed(prefix, operations, types, suffix=""):
    for operation in operations:
        for name in types:
            yield f"{prefix}_{name}_{operation}{suffix}"


def puts_and_gets(prefix, suffix=""):
    """The calls that move memory, for the host and, with other names, on a stream."""
    for operation in ["put", "get"]:
        for later in ["", "_nbi"]:
            yield from typed(prefix, [operation + later], RMA, suffix)
            yield from (f"{prefix}_{operation}{size}{later}{suffix}" for size in [*SIZES, "mem"])
        yield from typed(prefix, ["i" + operation], RMA, suffix)
        yield from (f"{prefix}_i{operation}{size}{suffix}" for size in SIZES)
    yield from typed(prefix, ["p", "g"], RMA, suffix)


def collectives(prefix, suffix=""):
    for operation in ["alltoall", "broadcast", "fcollect"]:
        yield from typed(prefix, [operation], RMA, suffix)
        yield f"{prefix}_{operation}mem{suffix}"
    for form in ["reduce", "reducescatter"]:
        yield from typed(prefix, [f"{op}_{form}" for op in ["and", "or", "xor"]], BITWISE, suffix)
        yield from typed(prefix, [f"{op}_{form}" for op in ["min", "max", "sum", "prod"]], REDUCE, suffix)


def on_stream():
    yield from puts_and_gets("nvshmemx", "_on_stream")
    yield from collectives("nvshmemx", "_on_stream")
    for later in ["", "_nbi"]:
        yield from typed("nvshmemx", [f"put_signal{later}"], RMA, "_on_stream")
        yield from (f"nvshmemx_put{size}_signal{later}_on_stream" for size in [*SIZES, "mem"])
    yield from typed("nvshmemx", ["wait_until", "wait_until_all", "wait_until_all_vector"], WAIT, "_on_stream")
    for name in ["quiet", "flush", "signal_op", "signal_wait_until", "barrier", "barrier_all", "team_sync", "sync_all"]:
        yield f"nvshmemx_{name}_on_stream"


def routines():
    for name in ["init", "init_thread", "query_thread", "finalize", "global_exit", "my_pe", "n_pes",
                 "info_get_version", "info_get_name", "malloc", "calloc", "align", "free", "ptr", "team_my_pe",
                 "team_n_pes", "team_get_config", "team_translate_pe", "team_split_strided", "team_split_2d",
                 "team_destroy", "team_sync", "sync_all", "barrier", "barrier_all", "fence", "quiet", "signal_fetch"]:
        yield f"nvshmem_{name}"
    for name in ["init_attr", "hostlib_init_attr", "hostlib_finalize", "init_status", "get_uniqueid",
                 "set_attr_uniqueid_args", "set_attr_mpi_comm_args", "vendor_get_version_info", "cumodule_init",
                 "cumodule_finalize", "culibrary_init", "culibrary_finalize", "mc_ptr", "buffer_register",
                 "buffer_unregister", "buffer_unregister_all", "buffer_register_symmetric",
                 "buffer_register_symmetric_at_preferred_address", "buffer_unregister_symmetric", "team_init",
                 "team_get_uniqueid", "qp_create", "flush", "region_start", "region_stop", "region_is_active",
                 "signal_op", "signal_counted_reset", "collective_launch", "collective_launch_attr",
                 "collective_launch_query_gridsize"]:
        yield f"nvshmemx_{name}"
    for name in ["hostlib_init_attr", "hostlib_finalize", "init_status"]:
        yield f"nvshmemid_{name}"
    yield from puts_and_gets("nvshmem")
    yield from collectives("nvshmem")
    yield from typed("nvshmem", ["atomic_inc", "atomic_fetch_inc", "atomic_add", "atomic_fetch_add",
                                 "atomic_compare_swap"], AMO)
    yield from typed("nvshmem", ["atomic_fetch", "atomic_set", "atomic_swap"], EXTENDED)
    for op in ["and", "or", "xor"]:
        yield from typed("nvshmem", [f"atomic_{op}", f"atomic_fetch_{op}"], BITWISE_AMO)
    yield from typed("nvshmemx", ["atomic_add", "atomic_fetch_add"], ["half", "float", "double"])
    yield from on_stream()


def beyond():
    """The calls that Weft has on hosts and NVSHMEM in kernels only, and reductions of ptrdiff_t, which OpenSHMEM has."""
    for later in ["", "_nbi"]:
        yield from typed("nvshmem", [f"put_signal{later}"], RMA)
        yield from (f"nvshmem_put{size}_signal{later}" for size in [*SIZES, "mem"])
    for wait in ["wait_until", "test"]:
        yield from typed("nvshmem", [wait], WAIT)
        for many in ["all", "any", "some"]:
            yield from typed("nvshmem", [f"{wait}_{many}", f"{wait}_{many}_vector"], WAIT)
    yield "nvshmem_signal_wait_until"
    yield "nvshmemx_signal_op"
    for op in ["min", "max", "sum", "prod"]:
        for form in ["reduce", "reducescatter"]:
            yield f"nvshmem_ptrdiff_{op}_{form}"
            yield f"nvshmemx_ptrdiff_{op}_{form}_on_stream"


def why_omitted(name):
    matches = (why for pattern, why in OMITTED.items() if pathlib.PurePath(name).match(pattern))
    return next(matches, "")


def program(names):
    """Declared, as well as exported: each name is overloaded by nothing, so its address is what it is."""
    lines = ["#include <nvshmem.h>", "#include <nvshmemx.h>", "#include <cstdio>", "static const void* const all[] = {"]
    lines += [f"    reinterpret_cast<const void*>(&{name})," for name in names]
    return "\n".join([*lines, "};", "int main() {", "  for (const void* one : all)", "    if (one == nullptr) return 1;",
                      "}", ""])


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in text.splitlines()} - {""}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    args = parser.parse_args()
    wanted = sorted({name for name in routines() if not why_omitted(name)})
    if args.program:
        args.program.write_text(program([name for name in wanted if name not in INLINE]), encoding="utf-8")
    elif args.check:
        there = {name for name in exported(args.check) if name.startswith("nvshmem")}
        missing = sorted(set(wanted) - set(INLINE) - there)
        unknown = sorted(there - set(wanted) - set(beyond()))
        unused = [pattern for pattern in OMITTED if not any(why_omitted(name) for name in routines()
                                                            if pathlib.PurePath(name).match(pattern))]
        for title, names in [("missing", missing), ("not of NVSHMEM", unknown), ("omitted, but nothing is", unused)]:
            for name in names:
                print(f"{title}: {name}")
        print(f"{len(wanted)} routines, {len(missing)} missing, {len(unknown)} unknown")
        return 1 if missing or unknown or unused else 0
    else:
        for name in sorted(set(routines())):
            print(name, why_omitted(name) or "there", sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
