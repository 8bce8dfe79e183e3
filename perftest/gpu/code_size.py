#!/usr/bin/env python3
"""What a put with a signal costs a kernel before it runs: registers, stack, bytes of code, compile time.

  perftest/gpu/code_size.py                      # in a tree where preset cuda-sm90 is configured
  perftest/gpu/code_size.py --build DIR --runs 9
  perftest/gpu/code_size.py --runs 0             # all but compile times
  perftest/gpu/code_size.py --architectures 90a  # what takes longest for one of two architectures

Needs nvcc, and no GPU. Each kernel is compiled alone for sm_90a, with Weft and bare (plain stores, then
a release of the word). Compile time is CPU seconds of nvcc for an object with that GPU's code alone
(-arch=sm_90a would go through everything once more, for PTX), medians of runs in turns: other work on
the machine changes them less than wall time.

Then one kernel for each call and scope, and for each of ll.hpp, lamport.hpp and flag.hpp, compiled for sm_80 and
sm_90a, without -rdc=true and with it (linked), and without launch bounds. Exit status 1 if one takes
more than 56 registers, or with -rdc=true more than 64: a block of 1024 threads has 64. And the same of
a kernel for each collective, scope and width, which may take 64 either way. Those of one GPU and way
are compiled together, since what they share takes most of the time.

Then the loops that weft-perf gpu times, in blocks of 1024 threads, which leave 64 registers. Exit status 1
if one of them loads more from the stack than a few words: then its threads wait for memory where they
should move data.
"""

import argparse
import concurrent.futures
import os
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
MOST_SPILLED = 64  # bytes of stack loads in a loop of calls; it is their cold ways that have some
LOOPS = {"put_nbi, get_nbi": "Move",
         "put_signal, block": "PingPong<weft::dev::Block>",
         "put_signal, warp": "PingPong<weft::dev::Warp>",
         "signal": "PingPong<weft::dev::Thread>",
         "put, quiet": "PutLatency<weft::dev::Block>",
         "fetch_add": "FetchAdd",
         "barrier": "Meet<true>",
         "sync": "Meet<false>"}
LOOP = """
#include "perftest/gpu/kernels.hpp"
__global__ void __launch_bounds__(1024) kernel(const weft::perf::gpu::{kernel} loop) {{ loop(); }}
"""
MOST_REGISTERS = {False: 56, True: 64}  # without -rdc=true and with it
ARCHITECTURES = ["80", "90a"]
CALLS = {  # of each scope
    "put": "ctx.put(scope, dst, src, count, pe);",
    "put_nbi": "ctx.put_nbi(scope, dst, src, count, pe);",
    "get": "ctx.get(scope, dst, src, count, pe);",
    "get_nbi": "ctx.get_nbi(scope, dst, src, count, pe);",
    "put_signal": "ctx.put(scope, dst, src, count, pe, weft::set(word, 1));",
    "iput": "ctx.iput(scope, dst, src, 2, 3, count, pe);",
    "iget": "ctx.iget(scope, dst, src, 2, 3, count, pe);",
    "fence": "ctx.fence(scope);",
    "quiet": "ctx.quiet(scope);",
    "wait_until": "*dst = ctx.wait_until(scope, src, weft::Cmp::kGe, 7);",
    "wait_until_all": "*dst = ctx.wait_until_all(scope, src, count, dst, weft::Cmp::kGe, 7);",
    "wait_until_any": "*dst = ctx.wait_until_any(scope, src, count, dst, weft::Cmp::kGe, 7);",
    "wait_until_some_vector":
        "*word = ctx.wait_until_some_vector(scope, src, count, word, dst, weft::Cmp::kGe, dst);"}
THREAD_CALLS = {
    "p": "ctx.p(dst, *src, pe);",
    "g": "*dst = ctx.g(src, pe);",
    "atomic_add": "ctx.atomic_add(word, count, pe);",
    "atomic_fetch_add": "*word = ctx.atomic_fetch_add(word, count, pe);",
    "atomic_compare_swap": "*word = ctx.atomic_compare_swap(word, count, word[1], pe);",
    "atomic_swap": "*word = ctx.atomic_swap(word, count, pe);",
    "signal": "ctx.signal(weft::add(word, count), pe);",
    "test_some": "*dst = ctx.test_some(src, count, word, dst, weft::Cmp::kGe, 7);",
    "quiet_pe": "ctx.quiet_pe(pe);"}
# The headers below the context: each call with what it includes.
LOW_CALLS = {
    "put, bulk warp":
        ("context", "ctx.put(Bulk(Warp{}, shared<std::byte>(), 4096), dst, src, count, pe);"),
    "put, bulk thread":
        ("context", "ctx.put(Bulk(Thread{}, shared<std::byte>(), 4096), dst, src, count, pe);"),
    "send_ll": ("ll", "send_ll(reinterpret_cast<LLPacket*>(word), count, pe);"),
    "receive_ll": ("ll", """
  std::uint64_t data[4];
  const auto packets = reinterpret_cast<const LLPacket*>(word);
  const auto awaited = [&](int k) { return AwaitedLL{packets + k * count, k}; };
  if (receive_ll(ctx, "test", awaited, pe, data)) *word = data[0] + data[1] + data[2] + data[3];"""),
    "load_unit, store_unit": ("ll", """
  const std::uint64_t unit = load_unit(reinterpret_cast<const std::byte*>(src), count, threadIdx.x);
  store_unit(reinterpret_cast<std::byte*>(dst), count, threadIdx.x, unit);"""),
    "send_lamport": ("lamport", "send_lamport(reinterpret_cast<LamportPair*>(word), {count, 7});"),
    "receive_lamport": ("lamport", """
  LamportPair data[3];
  const auto pairs = reinterpret_cast<LamportPair*>(word);
  const auto awaited = [&](int k) { return AwaitedLamportPair{pairs + k * count, k}; };
  if (receive_lamport(handle, "test", awaited, data)) *word = data[0].first + data[1].first + data[2].second;"""),
    "wait_flag": ("flag", "*dst = wait_flag(handle, \"test\", {word, pe}, count);")}
CALL = """
extern "C" __global__ void {name}(weft::DeviceContext handle, int* dst, const int* src, std::size_t count,
                                  std::uint64_t* word, int pe) {{
  const Context ctx(handle);
  [[maybe_unused]] const {scope} scope;
  {call}
}}
"""
# Collectives of each scope; those that fold, of elements of 32 and of 64 bits.
COLLECTIVES = {
    "barrier": "barrier(ctx, scope, team);",
    "sync": "sync(ctx, scope, team);",
    "broadcast": "broadcast(ctx, scope, team, dst, src, count, 1);",
    "fcollect": "fcollect(ctx, scope, team, dst, src, count);",
    "collect": "collect(ctx, scope, team, dst, src, count);",
    "alltoall": "alltoall(ctx, scope, team, dst, src, count);",
    "alltoalls": "alltoalls(ctx, scope, team, dst, src, 2, 3, count);"}
FOLDS = {
    "reduce": "reduce<weft::ReduceOp::kSum>(ctx, scope, team, dst, src, count);",
    "reducescatter": "reducescatter<weft::ReduceOp::kSum>(ctx, scope, team, dst, src, count);",
    "scan": "scan_inclusive<weft::ReduceOp::kSum>(ctx, scope, team, dst, src, count);"}
COLLECTIVE = """
__global__ void {name}(weft::DeviceContext handle, weft::Team team, {type}* dst, const {type}* src,
                       std::size_t count, int* ok) {{
  const Context ctx(handle);
  const {scope} scope;
  *ok = {call}
}}
"""
MOST_OF_COLLECTIVES = 64
# A bandwidth loop as NVIDIA's tests have it.
NVSHMEM_NAME = "bandwidth of nvshmem.h"
NVSHMEM_LOOP = """
#include <nvshmem.h>
extern "C" __global__ void bandwidth_of_nvshmem_h(double* data, unsigned* counter, int count, int pe, unsigned iters) {
  for (unsigned i = 0; i < iters; ++i) {
    nvshmemx_double_put_nbi_block(data + blockIdx.x * count, data + blockIdx.x * count, count, pe);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      if (atomicInc(counter, ~0u) == gridDim.x * (i + 1) - 1) {
        nvshmem_quiet();
        counter[1] += 1;
      }
      while (*static_cast<volatile unsigned*>(counter + 1) != i + 1) {
      }
    }
    __syncthreads();
  }
}
"""
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
        self.nvlink = Path(shutil.which(nvcc)).with_name("nvlink")
        self.command = [nvcc, "-std=c++17", "-O3",
                        *(f"-I{path}" for path in (ROOT / "include/compat", ROOT / "include", ROOT / "device", generated,
                                                   ROOT))]

    def registers_of_all(self, what, text, arch, rdc):
        """Registers of a thread of each kernel of a source, by its name; with -rdc=true as its link finds them, of all that it
        may call."""
        options = ("-rdc=true",) if rdc else ()
        said, cubin, _ = self.run(what, text, *REPORT, *options, arch=arch)
        entry = r"Compiling entry function '(\w+)'.*?Used (\d+) registers"
        if rdc:
            done = self.link(cubin, arch)
            said, entry = done.stdout + done.stderr, r"Function properties for '(\w+)'.*?used (\d+) registers"
        return {name: int(count) for name, count in re.findall(entry, said, re.DOTALL)}

    def link(self, cubin, arch):
        return subprocess.run([self.nvlink, f"-arch=sm_{arch}", "--verbose", cubin, "-o", cubin.with_suffix(".linked")],
                              capture_output=True, text=True, timeout=300, check=True)

    def run(self, what, text, *options, arch="90a"):
        """The messages of nvcc, the file that it makes, and its CPU seconds, which count nothing else if this runs alone."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        source, result = folder / "kernel.cu", folder / "kernel.cubin"
        target = f"-gencode=arch=compute_{arch},code=sm_{arch}"
        source.write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*self.command, target, *options, source, "-o", result], capture_output=True,
                              text=True, timeout=300, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            fail(f"nvcc does not compile the kernel of {what}:\n{done.stderr}")
        return done.stderr, result, (after.ru_utime + after.ru_stime -
                                     before.ru_utime - before.ru_stime)


def found(pattern, text, what):
    match = re.search(pattern, text)
    return int(match[1]) if match else fail(f"no {what} in what nvcc printed:\n{text}")


def code_bytes(cubin):
    """The bytes of all sections with code: the kernel and what it calls."""
    text = subprocess.run(["readelf", "-SW", cubin], capture_output=True, text=True, check=True).stdout
    sizes = re.findall(r" \.text\.\S+ +PROGBITS +\S+ +\S+ +([0-9a-f]+)", text)
    return sum(int(size, 16) for size in sizes) or fail(f"no code in the compiled kernel:\n{text}")


REPORT = ("-cubin", "-Xptxas", "-v")


def entry_of(said):
    """The messages of ptxas on the kernel itself, and not on what it calls."""
    return said[said.index("Compiling entry function"):]


def name_in_source(name):
    return re.sub(r"\W+", "_", name)


def launch_kernels():
    """The source of a kernel for each call, and their names."""
    calls = {f"{name}, {scope}": (SCOPES[scope][0], call) for name, call in CALLS.items() for scope in SCOPES}
    calls.update({name: ("Thread", call) for name, call in THREAD_CALLS.items()})
    calls.update({name: ("Thread", call) for name, (_, call) in LOW_CALLS.items()})
    headers = sorted({"context", *(header for header, _ in LOW_CALLS.values())})
    head = "#include <cstdint>\n#include <weft/device/kernel.hpp>\n" + "".join(
        f"#include <weft/device/{header}.hpp>\n" for header in headers) + "using namespace weft::dev;\n"
    return head + "".join(CALL.format(name=name_in_source(name), scope=scope, call=call)
                          for name, (scope, call) in calls.items()), list(calls)


def print_launches(compiler, pool, architectures):
    """False if a block of 1024 threads would not start."""
    modes = [(arch, rdc) for arch in architectures for rdc in (False, True)]
    text, names = launch_kernels()
    loops = pool.map(lambda mode: compiler.registers_of_all("nvshmem.h", NVSHMEM_LOOP, *mode), modes)
    registers = [{**of, **loop} for of, loop in
                 zip(pool.map(lambda mode: compiler.registers_of_all("all calls", text, *mode), modes), loops)]
    names += [NVSHMEM_NAME]
    print(f"\n{'registers without bounds':<30}" +
          "".join(f" {'sm_' + arch + (' rdc' if rdc else ''):>10}" for arch, rdc in modes))
    for name in names:
        print(f"{name:<30}" + "".join(f" {of[name_in_source(name)]:>10}" for of in registers))
    holds = all(of[name_in_source(name)] <= MOST_REGISTERS[rdc] for of, (_, rdc) in zip(registers, modes) for name in names)
    print(f"  limit: {MOST_REGISTERS[False]}, with -rdc=true {MOST_REGISTERS[True]}: "
          f"{'holds' if holds else 'does not hold'}")
    return holds


def collective_kernels():
    """Source of all of them, and their names."""
    types = {"32": "std::int32_t", "64": "std::int64_t"}
    calls = {(name, "32"): call for name, call in COLLECTIVES.items()}
    calls.update({(name, width): call for name, call in FOLDS.items() for width in types})
    kernels = {f"{name}_{scope}_{width}": COLLECTIVE.format(name=f"{name}_{scope}_{width}", call=call,
                                                            scope=SCOPES[scope][0], type=types[width])
               for (name, width), call in calls.items() for scope in SCOPES}
    head = """
#include <cstdint>
#include <weft/device/kernel.hpp>
#include <weft/device/collective.hpp>
using namespace weft::dev;
"""
    return head + "".join(f'extern "C" {text.strip()}\n' for text in kernels.values()), list(kernels)


def print_collectives(compiler, pool, architectures):
    """False if a block of 1024 threads would not start."""
    modes = [(arch, rdc) for arch in architectures for rdc in (False, True)]
    text, names = collective_kernels()
    registers = list(pool.map(lambda mode: compiler.registers_of_all("all collectives", text, *mode), modes))
    print(f"\n{'collectives':<30}" +
          "".join(f" {'sm_' + arch + (' rdc' if rdc else ''):>10}" for arch, rdc in modes))
    for name in names:
        print(f"{name.replace('_', ', '):<30}" + "".join(f" {of[name]:>10}" for of in registers))
    holds = all(of[name] <= MOST_OF_COLLECTIVES for of in registers for name in names)
    print(f"  limit: {MOST_OF_COLLECTIVES}: {'holds' if holds else 'does not hold'}")
    return holds


def print_loops(compiler, pool):
    """False if one spills too much."""
    print(f"\n{'loop of':<17} {'registers':>9} {'spilled bytes loaded':>21}")
    worst = 0
    said = pool.map(lambda loop: compiler.run(loop[0], LOOP.format(kernel=loop[1]), *REPORT)[0], LOOPS.items())
    for name, text in zip(LOOPS, said):
        entry = entry_of(text)
        spilled = found(r"(\d+) bytes spill loads", entry, "spill loads")
        registers = found(r"Used (\d+) registers", entry, "registers")
        print(f"{name:<17} {registers:>9} {spilled:>21}")
        worst = max(worst, spilled)
    holds = worst <= MOST_SPILLED
    print(f"  limit: {MOST_SPILLED} bytes: {'holds' if holds else 'does not hold'}")
    return holds


def print_sizes(compiler):
    print(f"{'put_signal':<10} {'with':<6} {'registers':>9} {'stack':>6} {'code bytes':>10}")
    for scope in SCOPES:
        for library in ("Weft", "bare"):
            said, cubin, _ = compiler.run(f"{library}, {scope}", source_of(library, scope), *REPORT)
            entry = entry_of(said)
            registers = found(r"Used (\d+) registers", entry, "registers")
            stack = found(r"(\d+) bytes stack frame", entry, "stack frame")
            print(f"{scope:<10} {library:<6} {registers:>9} {stack:>6} {code_bytes(cubin):>10}")


def print_times(compiler, runs):
    kinds = ("Weft", "header", "bare")
    seconds = {kind: [] for kind in kinds}
    for run in range(runs + 1):  # the first reads the files
        for kind in kinds if run % 2 == 0 else reversed(kinds):
            taken = compiler.run(kind, source_of(kind, "block"), "-c")[2]
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
    parser.add_argument("--architectures", nargs="+", default=ARCHITECTURES, metavar="ARCH",
                        help="of calls and collectives alone; by default 80 and 90a")
    parser.add_argument("--runs", type=int, default=5, help="timed compilations of each; 0: no times")
    arguments = parser.parse_args()
    for tool in (arguments.nvcc, "readelf"):
        if shutil.which(tool) is None:
            fail(f"{tool} is not there")
    if arguments.runs < 0:
        fail("--runs: 0 or more")
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(arguments.nvcc, arguments.build, folder)
        print_sizes(compiler)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            holds = all([print_launches(compiler, pool, arguments.architectures),
                         print_collectives(compiler, pool, arguments.architectures), print_loops(compiler, pool)])
        if arguments.runs > 0:
            print_times(compiler, arguments.runs)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
