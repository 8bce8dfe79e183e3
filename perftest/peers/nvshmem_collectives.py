#!/usr/bin/env python3
"""Collectives in kernels and on streams by NVSHMEM's names: one program (nvshmem_collectives.cu) built with Weft and with NVSHMEM, and
run in turns; medians, and a ratio for each row: above 1 Weft is ahead. Weft runs twice in each turn, so that the ratio
of its own two runs says what is noise.

  perftest/peers/nvshmem_collectives.py --gpus 4 [--build build/cuda-sm90] [--nvshmem DIR] [--turns 5] [--out FILE]

By default NVSHMEM is what python3 has (pip install nvidia-nvshmem-cu13). NVLink's multicast stays off.
"""
import argparse
import importlib.util
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[2]
SOURCE = HERE / "perftest/peers/nvshmem_collectives.cu"
NVCC = ["nvcc", "-std=c++17", "-O3", "-gencode=arch=compute_90,code=sm_90", f"-I{HERE}", str(SOURCE)]


def fail(text):
    print(f"nvshmem_collectives.py: {text}", file=sys.stderr)
    sys.exit(1)


def nvshmem_folder(given):
    if given:
        return given
    try:
        spec = importlib.util.find_spec("nvidia.nvshmem")
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        fail("no NVSHMEM: pip install nvidia-nvshmem-cu13, or give its folder by --nvshmem")
    return pathlib.Path(next(iter(spec.submodule_search_locations)))


def build(arguments, folder):
    """The two programs, compiled at once."""
    weft, nvshmem = folder / "weft_collectives", folder / "nvshmem_collectives"
    lib = arguments.build / "lib"
    ways = [[*NVCC, f"-I{HERE}/include/compat", f"-I{HERE}/include", f"-I{HERE}/device", "-o", weft, f"-L{lib}",
             "-lweft_nvshmem", "-lweft", "-Xlinker", f"-rpath={lib}"],
            [*NVCC, "-rdc=true", f"-I{arguments.nvshmem}/include", "-o", nvshmem, f"-L{arguments.nvshmem}/lib",
             "-L/usr/local/cuda/lib64/stubs", "-l:libnvshmem_host.so.3", "-lnvshmem_device", "-lcuda", "-Xlinker",
             f"-rpath={arguments.nvshmem}/lib"]]
    for process, way in [(subprocess.Popen(way), way) for way in ways]:
        if process.wait() != 0:
            fail(f"does not compile: {' '.join(map(str, way))}")
    return weft, nvshmem


def run(arguments, program, folder):
    """us of (scope, operation, type, bytes)."""
    environment = {**os.environ, "NVSHMEM_DISABLE_NVLS": "1", "NVSHMEM_REMOTE_TRANSPORT": "none",
                   "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "lo", "NVSHMEM_SYMMETRIC_SIZE": "512M",
                   "NVSHMEM_REDUCE_SCRATCH_SIZE": str(64 << 20)}  # or its reductions by blocks stop
    with tempfile.NamedTemporaryFile(dir=folder) as rendezvous:
        pass
    command = [arguments.build / "bin/weft-run", "-n", str(arguments.gpus), "--timeout", "100", program, "--meet", rendezvous.name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    rows = (line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 4)
    return {tuple(row[:4]): float(row[4]) for row in rows}


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=HERE / "build/cuda-sm90")
    parser.add_argument("--nvshmem", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=argparse.FileType("w"), default=sys.stdout)
    arguments = parser.parse_args()
    arguments.nvshmem = nvshmem_folder(arguments.nvshmem)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        weft, nvshmem = build(arguments, folder)
        every = [[run(arguments, program, folder) for program in (weft, nvshmem, weft)] for _ in range(arguments.turns)]
    ratios, noise = {}, {}
    print("scope\toperation\ttype\tbytes\tWeft us\tNVSHMEM us\tratio\tnoise", file=arguments.out)
    for row in every[0][0]:
        ours, theirs, again = (statistics.median(turn[i][row] for turn in every) for i in range(3))
        both = statistics.median(turn[i][row] for turn in every for i in (0, 2))
        ratios[row], noise[row] = theirs / both, ours / again
        print("\t".join(row), f"{both:.2f}\t{theirs:.2f}\t{ratios[row]:.3f}\t{noise[row]:.3f}", sep="\t",
              file=arguments.out)
    worst = min(ratios, key=ratios.get)
    print(f"# {arguments.gpus} GPUs: {len(ratios)} rows, geometric mean {mean(ratios.values()):.3f}, "
          f"{sum(ratio < 0.97 for ratio in ratios.values())} below 0.97, the least {ratios[worst]:.3f} "
          f"({' '.join(worst)}); Weft beside itself {min(noise.values()):.3f} to {max(noise.values()):.3f}",
          file=arguments.out)


if __name__ == "__main__":
    main()
