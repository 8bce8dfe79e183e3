#!/usr/bin/env python3
"""The routines of NVSHMEM 3.8 that kernels call, written down from NVIDIA's documentation. Knows nothing of Weft's
headers, so that it can judge them.

  kernel_names.py                    one line per routine: there, or why it is not
  kernel_names.py --program FILE     a C++ file that names each that is there, for nvcc or a host compiler
  kernel_names.py --check COMPILER ARGUMENT...
                                     what the headers stamp for host threads, compared both ways, and at which scope;
                                     the arguments are the compiler's, where its headers are
"""
import argparse
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from host_names import AMO, BITWISE, BITWISE_AMO, EXTENDED, REDUCE, RMA, SIZES, WAIT, typed  # noqa: E402

# Names of NVSHMEM that Weft does not have in kernels, and why; a * stands for any of what is in its place.
OMITTED = {
    "nvshmem_half_atomic_*": "atomics take words of 4 and 8 bytes",
    "nvshmemx_half_atomic_*": "atomics take words of 4 and 8 bytes",
    "nvshmemx_qp_*": "there is no network transport with queue pairs yet",
    "nvshmemx_region_*": "hints for a transport that batches",
    "nvshmemx_*_smem": "copies do not go through shared memory",
    "nvshmemx_*signal_counted*": "there is no transport that counts",
}


def scoped(names):
    """nvshmem_NAME for one thread, nvshmemx_NAME_warp and nvshmemx_NAME_block."""
    for name in names:
        yield f"nvshmem_{name}"
        yield f"nvshmemx_{name}_warp"
        yield f"nvshmemx_{name}_block"


def of_types(operations, types):
    return [f"{name}_{operation}" for operation in operations for name in types]


def puts_and_gets():
    later = ["", "_nbi"]
    moves = [*(f"put{l}" for l in later), *(f"get{l}" for l in later), *(f"put_signal{l}" for l in later)]
    yield from scoped(of_types([*moves, "iput", "iget"], RMA))
    for size in [*SIZES, "mem"]:
        yield from scoped(re.sub("put|get", rf"\g<0>{size}", move, count=1) for move in moves)
    yield from scoped(f"{move}{size}" for move in ["iput", "iget"] for size in SIZES)
    yield from typed("nvshmem", ["p", "g"], RMA)


def atomics():
    yield from typed("nvshmem", ["atomic_inc", "atomic_fetch_inc", "atomic_add", "atomic_fetch_add",
                                 "atomic_compare_swap"], AMO)
    yield from typed("nvshmem", ["atomic_fetch", "atomic_set", "atomic_swap"], ["half", *EXTENDED])
    for op in ["and", "or", "xor"]:
        yield from typed("nvshmem", [f"atomic_{op}", f"atomic_fetch_{op}"], BITWISE_AMO)
    yield from typed("nvshmemx", ["atomic_add", "atomic_fetch_add"], ["half", "float", "double"])


def waits():
    for wait in ["wait_until", "test"]:
        yield from typed("nvshmem", [wait], WAIT)
        for many in ["all", "any", "some"]:
            yield from typed("nvshmem", [f"{wait}_{many}", f"{wait}_{many}_vector"], WAIT)
    yield from ["nvshmem_signal_fetch", "nvshmem_signal_wait_until", "nvshmemx_signal_op"]


def collectives():
    moves = ["alltoall", "broadcast", "fcollect"]
    yield from scoped([*of_types(moves, RMA), *(f"{move}mem" for move in moves)])
    for form in ["reduce", "reducescatter"]:
        yield from scoped(of_types([f"{op}_{form}" for op in ["and", "or", "xor"]], BITWISE))
        yield from scoped(of_types([f"{op}_{form}" for op in ["min", "max", "sum", "prod"]], REDUCE))
    yield from scoped(["barrier", "barrier_all", "team_sync", "sync_all"])
    yield from ["nvshmemx_barrier_warpgroup", "nvshmemx_double2_maxloc_reduce_block"]


def at_each_scope(names):
    """nvshmemx::NAME for one thread, and with _warp, _warpgroup and _block behind it."""
    for name in names:
        yield from (f"nvshmemx::{name}{scope}" for scope in ["", "_warp", "_warpgroup", "_block"])


def tiles():
    yield from at_each_scope(f"tile_{move}" for move in ["put", "get", "allgather", "broadcast", "collective_wait"])
    for form in ["reduce", "rooted_reduce"]:
        yield from at_each_scope(f"tile_{op}_{form}" for op in ["sum", "min", "max"])


def queue_pairs():
    for move in ["put", "get", "put_nbi", "get_nbi", "put_signal", "put_signal_nbi"]:
        for scope in ["", "_warp", "_block"]:
            yield from typed("nvshmemx_qp", [move + scope], RMA)
    yield from typed("nvshmemx_qp", ["p", "g"], RMA)
    yield "nvshmemx_qp_signal_op"
    for name in ["quiet", "fence"]:
        yield from (f"nvshmemx_qp_{name}{scope}" for scope in ["", "_warp", "_block"])


def routines():
    for name in ["my_pe", "n_pes", "info_get_version", "info_get_name", "global_exit", "ptr", "team_my_pe",
                 "team_n_pes", "team_translate_pe", "fence", "quiet"]:
        yield f"nvshmem_{name}"
    for name in ["vendor_get_version_info", "mc_ptr", "flush", "flush_warp", "flush_block", "region_is_active",
                 "region_start_block", "region_stop_block", "ask_smem", "give_smem", "release_smem",
                 "signal_counted_reset", "signal_counted_load", "signal_counted_wait_until",
                 "putmem_signal_counted_nbi_block"]:
        yield f"nvshmemx_{name}"
    yield from puts_and_gets()
    yield from atomics()
    yield from waits()
    yield from collectives()
    yield from tiles()
    yield from queue_pairs()


def beyond():
    """The calls that Weft has besides: reductions of ptrdiff_t, which OpenSHMEM has, and names of NVSHMEM 3.4."""
    yield from at_each_scope(f"tile_{op}_allreduce" for op in ["sum", "min", "max"])
    for form in ["reduce", "reducescatter"]:
        yield from scoped(of_types([f"{op}_{form}" for op in ["min", "max", "sum", "prod"]], ["ptrdiff"]))


def why_omitted(name):
    matches = (why for pattern, why in OMITTED.items() if pathlib.PurePath(name).match(pattern))
    return next(matches, "")


def program(names):
    """Each name is declared, in both readings of nvcc. (A host compiler has those of host threads.)"""
    lines = ["#ifdef __CUDACC__", "#include <nvshmem.h>", "#include <nvshmemx.h>", "#define HERE", "#else",
             "#include <nvshmem/tile.hpp>", "#define HERE weft::nvshmem::kernels", "#endif",
             "namespace each {"]
    lines += [f"using HERE::{name};" for name in names]
    return "\n".join([*lines, "}", ""])


def stamped(compiler):
    """{name: scope} of what the headers define for kernels on host threads."""
    source = "#include <nvshmem/tile.hpp>\n"
    text = subprocess.run([*compiler, "-E", "-P", "-x", "c++", "-"], input=source, capture_output=True, text=True,
                          check=True).stdout
    pattern = r"\b(nvshmemx?_\w+|tile_\w+)\s*\([^()]*\)\s*\{\s*return\s+weft::nvshmem::(\w+?)(?:Tile)?Calls::"
    return {re.sub("^tile_", "nvshmemx::tile_", name): scope for name, scope in re.findall(pattern, text)}


def scope_of(name):
    return {"_warp": "Warp", "_warpgroup": "Warpgroup", "_block": "Block"}.get(name[name.rfind("_"):], "Thread")


def check(wanted, compiler):
    found = stamped(compiler)
    faults = [f"missing: {name}" for name in sorted(wanted - set(found))]
    faults += [f"not in NVSHMEM: {name}" for name in sorted(set(found) - wanted - set(beyond()))]
    faults += [f"{name} calls for a {scope}" for name, scope in sorted(found.items()) if scope != scope_of(name)]
    print("\n".join([*faults, f"{len(wanted)} routines, {len(found)} in the headers, {len(faults)} differences"]))
    return 1 if faults or not found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--check", nargs=argparse.REMAINDER, metavar="COMPILER")
    args = parser.parse_args()
    names = list(routines())
    assert len(names) == len(set(names)), "a routine is listed twice"
    wanted = {name for name in names if not why_omitted(name)}
    if args.program:
        args.program.write_text(program(sorted(wanted)), encoding="utf-8")
    elif args.check:
        return check(wanted, args.check)
    else:
        for name in sorted(names):
            print(name, why_omitted(name) or "there", sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
