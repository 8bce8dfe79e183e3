#!/usr/bin/env python3
"""What a put with a signal costs a kernel before it runs: registers, stack, bytes of code, compile time.

  perftest/gpu/code_size.py                      # in a tree where preset cuda-sm90 is configured
  perftest/gpu/code_size.py --build DIR --runs 9

Needs nvcc, and no GPU. Each kernel is compiled alone for sm_90a, with Weft and bare (plain stores, then
a release of the word). Compile time is CPU seconds of nvcc for an object, medians of runs in turns: other
work on the machine changes them less than wall time.
"""

import argparse
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_TIMES = 1.3  # the target for compile time, with Weft against without
SCOPES = {"thread": ("Thread", "0", "1", ""),
          "warp": ("Warp", "threadIdx.x % 32", "32", "__syncwarp();"),
          "block": ("Block", "threadIdx.x", "blockDim.x", "__syncthreads();")}

BARE = """
#include <cstdint>
{also}
__global__ void kernel(float* dst, const float* src, std::size_t count, std::uint64_t* word) {{
  for (std::size_t i = {rank}; i < count; i += {size}) dst[i] = src[i];
  {sync}
  if ({rank} == 0)
    asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(std::uint64_t{{1}}) : "memory");
}}
void launch(float* dst, const float* src, std::size_t count, std::uint64_t* word) {{
  kernel<<<1, 256>>>(dst, src, count, word);
}}
"""
WEFT = """
#include <cstdint>
#include <weft/device.hpp>
struct Kernel {{
  weft::DeviceContext handle;
  float* dst;
  const float* src;
  std::size_t count;
  std::uint64_t* word;
  int peer;
  WEFT_DEVICE void operator()() const {{
    const weft::dev::Context ctx(handle);
    ctx.put(weft::dev::{scope}{{}}, dst, src, count, peer, weft::set(word, 1));
  }}
}};
weft::Status launch(const Kernel& kernel) {{ return weft::dev::launch({{1, 256}}, kernel); }}
"""


def fail(text):
    sys.exit(f"code_size.py: {text}")


def source_of(library, scope):
    name, rank, size, sync = SCOPES[scope]
    if library == "Weft":
        return WEFT.format(scope=name)
    also = "#include <weft/device.hpp>" if library == "header" else ""
    return BARE.format(rank=rank, size=size, sync=sync, also=also)


class Compiler:
    def __init__(self, nvcc, build, folder):
        generated = build / "include"
        if not generated.is_dir():
            fail(f"{generated} is not there: cmake --preset cuda-sm90, or give --build")
        self.folder = Path(folder)
        self.command = [nvcc, "-std=c++17", "-O3", "-arch=sm_90a",
                        *(f"-I{path}" for path in (ROOT / "include", ROOT / "device", generated))]

    def run(self, library, scope, *options):
        """What nvcc says of it, the file it makes, and its CPU seconds."""
        source, result = self.folder / "kernel.cu", self.folder / "kernel.out"
        source.write_text(source_of(library, scope), encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*self.command, *options, source, "-o", result], capture_output=True,
                              text=True, timeout=300, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            fail(f"nvcc does not compile the kernel of {library}, {scope}:\n{done.stderr}")
        return done.stderr, result, (after.ru_utime + after.ru_stime -
                                     before.ru_utime - before.ru_stime)


def found(pattern, text, what):
    match = re.search(pattern, text)
    return int(match[1]) if match else fail(f"no {what} in what nvcc printed:\n{text}")


def code_bytes(cubin):
    """Of all sections with code: the kernel and what it calls."""
    text = subprocess.run(["readelf", "-SW", cubin], capture_output=True, text=True, check=True).stdout
    sizes = re.findall(r" \.text\.\S+ +PROGBITS +\S+ +\S+ +([0-9a-f]+)", text)
    return sum(int(size, 16) for size in sizes) or fail(f"no code in the compiled kernel:\n{text}")


def print_sizes(compiler):
    print(f"{'put_signal':<10} {'with':<6} {'registers':>9} {'stack':>6} {'code bytes':>10}")
    for scope in SCOPES:
        for library in ("Weft", "bare"):
            said, cubin, _ = compiler.run(library, scope, "-cubin", "-Xptxas", "-v")
            entry = said[said.index("Compiling entry function"):]  # not what it calls
            registers = found(r"Used (\d+) registers", entry, "registers")
            stack = found(r"(\d+) bytes stack frame", entry, "stack frame")
            print(f"{scope:<10} {library:<6} {registers:>9} {stack:>6} {code_bytes(cubin):>10}")


def print_times(compiler, runs):
    kinds = ("Weft", "header", "bare")
    seconds = {kind: [] for kind in kinds}
    for run in range(runs + 1):  # the first reads the files
        for kind in kinds if run % 2 == 0 else reversed(kinds):
            taken = compiler.run(kind, "block", "-c")[2]
            if run > 0:
                seconds[kind].append(taken)
    print("\ncompile time, block, CPU s")
    texts = {"Weft": "with Weft", "header": "bare, and weft/device.hpp included", "bare": "bare"}
    ratios = {}
    for kind in kinds:
        ratios[kind] = statistics.median(a / b for a, b in zip(seconds[kind], seconds["bare"]))
        print(f"  {texts[kind]:<34} {statistics.median(seconds[kind]):>6.2f}  {ratios[kind]:.2f} x")
    holds = "holds" if ratios["Weft"] <= MOST_TIMES else "does not hold"
    print(f"  target: <= {MOST_TIMES} x of bare: {holds}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/cuda-sm90", help="Weft's build folder")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--runs", type=int, default=5, help="timed compilations of each")
    arguments = parser.parse_args()
    for tool in (arguments.nvcc, "readelf"):
        if shutil.which(tool) is None:
            fail(f"{tool} is not there")
    if arguments.runs < 1:
        fail("--runs: at least one")
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(arguments.nvcc, arguments.build, folder)
        print_sizes(compiler)
        print_times(compiler, arguments.runs)


if __name__ == "__main__":
    main()
