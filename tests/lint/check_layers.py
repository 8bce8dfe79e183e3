#!/usr/bin/env python3
"""Fails when an #include points against the arrows of the tree (docs/design/layers.md).

    include <- device <- src <- bootstrap <- host      the library; include/weft is meant
    include/weft <- include/compat                     the names of OpenSHMEM and NVSHMEM, for host/api and programs
    include, device <- kernels                         the second library: the public API only
    include, device <- perftest, docs/tutorials        programs that may use the public API only
    include <- python                                  the Python package, likewise
    everything <- tests

Also: no cycle between files, every quoted include exists and starts at the repository's root, and
vendor headers stay in the folders that need them.
"""
import argparse
import os
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}

# The files that a file in a folder may include, by the first folder of the included file. "public" is
# <weft/...> from include/, "bodies" is <weft/dev/...> from device/, "compat" is <...> from include/compat.
LAYERS = {
    "include/weft": {"public"},
    "include/compat": {"public", "compat"},
    "device": {"public", "bodies"},
    "src": {"public", "bodies", "src"},
    "bootstrap": {"public", "bodies", "src", "bootstrap"},
    "host/api": {"public", "bodies", "src", "bootstrap", "host", "compat"},
    "host": {"public", "bodies", "src", "bootstrap", "host"},
    "kernels": {"public", "kernels"},
    "perftest": {"public", "compat", "perftest"},
    "docs": {"public", "compat"},
    "python": {"public", "python"},
    "tests": {"public", "bodies", "src", "bootstrap", "host", "kernels", "perftest", "compat", "tests"},
}

# Inside host/: a folder may include its own level's folders and those of lower levels.
HOST_LEVELS = {
    "memory": 0,
    "transport": 0,
    "topology": 0,
    "kernel": 0,
    "team": 0,
    "proxy": 1,
    "context": 1,
    "collective": 2,
    "stream": 2,
    "runtime": 3,
    "info": 4,
    "api": 4,
}

# The same inside kernels/.
KERNELS_LEVELS = {
    "core": 0,
    "protocol": 1,
    "collectives": 2,
    "gemm": 2,
    "fused": 3,
    "c_api": 4,
}

LEVELS = {"host": HOST_LEVELS, "kernels": KERNELS_LEVELS}

# The one exception: the umbrella headers pull the bodies in behind the contract.
EXCEPTIONS = {("include/weft/device.hpp", "bodies"), ("include/weft/device/kernel.hpp", "bodies")}

# The include root of other libraries' names.
COMPAT = "include/compat/"

VENDOR = {
    re.compile(r"^(cuda|cublas|nv|cooperative_groups)"): ["src/platform/cuda/", "device/weft/dev/platform/cuda.hpp",
                                                    "include/compat/nvshmem/", "perftest/peers/"],
    re.compile(r"^hip/"): ["src/platform/hip/", "device/weft/dev/platform/hip.hpp"],
    re.compile(r"^infiniband/"): ["host/transport/ib/"],
    re.compile(r"^rdma/"): ["host/transport/ib/", "host/transport/ofi/"],
    re.compile(r"^(mpi\.h|pmi|pmix)"): ["bootstrap/mpi/", "bootstrap/pmi/", "include/weft/mpi.hpp"],
    re.compile(r"^hwloc"): ["bootstrap/run/", "host/topology/", "host/info/"],
}

# Operators keep what is for one vendor's GPUs in files that say so.
OF_A_VENDOR = {"cuda": re.compile(r"^kernels/.*_(cuda|sm\d+)\.(hpp|cu)$"), "hip": re.compile(r"^kernels/.*_gfx\w+\.hpp$")}


def names_its_vendor(path, header):
    vendor = "hip" if header.startswith("hip/") else "cuda"
    return bool(OF_A_VENDOR[vendor].match(path)) and re.match(r"^(cuda|cublas|hip/)", header) is not None


def layer_of(path):
    return next(layer for layer in LAYERS if path.startswith(layer + "/"))


def sources(root):
    for folder in sorted({layer.split("/")[0] for layer in LAYERS}):
        for path in sorted((root / folder).rglob("*")):
            within = path.relative_to(root)  # the clone itself may lie below a folder of that name
            if path.suffix in SUFFIXES and "build" not in within.parts:
                yield within.as_posix()


def resolve(root, path, bracket, name):
    """(kind, path of the included file or None) of one include."""
    if path.startswith(COMPAT) and bracket == '"':  # found beside the file
        target = os.path.normpath(os.path.join(os.path.dirname(path), name))
        return ("compat", target) if target.startswith(COMPAT) and (root / target).exists() else ("missing", None)
    if name.startswith("weft/"):
        if name == "weft/version.hpp":
            return "public", None
        if (root / "include" / name).exists():
            return "public", f"include/{name}"
        if (root / "device" / name).exists():
            return "bodies", f"device/{name}"
        return "missing", None
    if bracket == "<" and (root / COMPAT / name).exists():
        return "compat", COMPAT + name
    if bracket == '"':
        if (root / name).exists():
            if name.startswith(COMPAT):
                return "compat", name
            return name.split("/")[0], name
        return "missing", None
    return "system", None


def check_file(root, path, errors):
    layer = layer_of(path)
    folder = path.split("/")[0]
    text = (root / path).read_text(encoding="utf-8")
    edges = []
    for match in INCLUDE.finditer(text):
        bracket, name = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        kind, target = resolve(root, path, bracket, name)
        where = f"{path}:{line}: #include {name}"
        if kind == "missing":
            errors.append(f"{where}: no such file from the repository's root")
            continue
        if kind == "system":
            for pattern, homes in VENDOR.items():
                if pattern.match(name) and not (any(path.startswith(home) for home in homes) or
                                                names_its_vendor(path, name)):
                    if folder != "tests":
                        errors.append(f"{where}: a vendor header outside {', '.join(homes)}")
            continue
        if kind not in LAYERS[layer] and (path, kind) not in EXCEPTIONS:
            errors.append(f"{where}: {layer}/ may not include {kind}")
        if folder in LEVELS and kind == folder:
            from_here, to_there = path.split("/")[1], target.split("/")[1]
            mine, theirs = LEVELS[folder].get(from_here), LEVELS[folder].get(to_there)
            if mine is None or theirs is None:
                errors.append(f"{where}: a folder of {folder}/ without a level in this script")
            elif theirs > mine:
                errors.append(f"{where}: {folder}/{from_here} lies below {folder}/{to_there}")
        if target is not None:
            edges.append(target)
    return edges


def find_cycle(graph):
    state = {}
    stack = []

    def visit(node):
        state[node] = 1
        stack.append(node)
        for target in graph.get(node, []):
            if state.get(target) == 1:
                return stack[stack.index(target):] + [target]
            if target not in state:
                cycle = visit(target)
                if cycle:
                    return cycle
        stack.pop()
        state[node] = 2
        return None

    for node in graph:
        if node not in state:
            cycle = visit(node)
            if cycle:
                return cycle
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).parents[2], type=pathlib.Path)
    root = parser.parse_args().root
    sys.setrecursionlimit(10000)
    errors = []
    graph = {path: check_file(root, path, errors) for path in sources(root)}
    cycle = find_cycle(graph)
    if cycle:
        errors.append("include cycle: " + " -> ".join(cycle))
    for error in errors:
        print(error)
    print(f"{len(graph)} files, {len(errors)} errors")
    return 1 if errors or not graph else 0


if __name__ == "__main__":
    sys.exit(main())
