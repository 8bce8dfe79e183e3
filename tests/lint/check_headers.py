#!/usr/bin/env python3
"""Compiles every public header alone, with every compiler that users' programs may come with.

Those of include/weft are read from a copy of that folder, so that they cannot find include/compat. Host compilers
take them as C++17 and C++20; GPU compilers take those for host code in one file. A compiler that is not installed is
named as skipped, unless --require names it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
# Tables, and macros that are set aside and brought back: whoever includes them prepares that.
PARTS = re.compile(r"\.def\.h$|/names_(push|pop)\.h$")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def host_compiler(name, std):
    return [name, f"-std=c++{std}", *WARNINGS, "-Wconversion", "-Wno-sign-conversion", "-fsyntax-only", "-x", "c++"]


def command(compiler, std, source, scratch, bitcode):
    if compiler == "nvcc":
        return ["nvcc", f"-std=c++{std}", "-arch=sm_90a", "-Werror", "all-warnings", "-ptx", "-x", "cu",
                "-o", scratch, source]
    if compiler == "hip":
        return ["clang++-19", "-x", "hip", f"-std=c++{std}", "--offload-arch=gfx942", "--rocm-path=/usr",
                f"--rocm-device-lib-path={bitcode}", "-mcode-object-version=5", *WARNINGS, "-fsyntax-only", source]
    return host_compiler(compiler, std) + [source]


def link_bitcode(folder):
    """Debian's bitcode has no file for gfx942; the one of gfx940 serves."""
    system = pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
    for path in system.glob("*.bc"):
        os.symlink(path, pathlib.Path(folder, path.name))
    os.symlink(system / "oclc_isa_version_940.bc", pathlib.Path(folder, "oclc_isa_version_942.bc"))


def mpi_includes():
    """Where some MPI's headers are, as options; None if there is none."""
    for package in ("ompi-c", "mpich", "mpi"):
        found = subprocess.run(["pkg-config", "--cflags-only-I", package], capture_output=True, text=True)
        if found.returncode == 0:
            return [word for path in found.stdout.split() for word in ("-isystem", path[2:])]
    return None


def headers_below(root, pattern):
    return sorted(path.relative_to(ROOT / root).as_posix() for path in (ROOT / root).glob(pattern))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder (for weft/version.hpp)")
    parser.add_argument("--compilers", default="g++,clang++,nvcc,hip")
    parser.add_argument("--require", default="", help="compilers that may not be skipped")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    headers = headers_below("include", "weft/**/*.hpp") + headers_below("include", "weft/**/*.h")
    headers = [header for header in headers if not PARTS.search(header)]
    compat = headers_below("include/compat", "**/*.hpp")
    mpi = mpi_includes() if shutil.which("pkg-config") else None
    if mpi is None:
        print("weft/mpi.hpp: skipped, no MPI is installed")
        headers.remove("weft/mpi.hpp")
    binaries = {"hip": "clang++-19"}
    jobs, failures = [], 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "include" / "weft", f"{folder}/include/weft")
        shutil.copytree(ROOT / "device" / "weft", f"{folder}/device/weft")
        if shutil.which("clang++-19") and pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode").exists():
            os.mkdir(f"{folder}/bitcode")
            link_bitcode(f"{folder}/bitcode")
        else:
            binaries["hip"] = "no-such-compiler"
        for compiler in args.compilers.split(","):
            if not shutil.which(binaries.get(compiler, compiler)):
                if compiler in args.require.split(","):
                    print(f"{compiler}: required, but not installed")
                    failures += 1
                else:
                    print(f"{compiler}: skipped, not installed")
                continue
            if compiler in ("g++", "clang++"):
                jobs += [(compiler, std, [header]) for std in (17, 20) for header in headers + compat]
                continue
            # GPU compilers take seconds each: one standard, the older one, and alone only what is there for
            # kernels. NVSHMEM's kernels are CUDA's.
            for mine in [headers, compat] if compiler == "nvcc" else [headers]:
                kernels = [h for h in mine if "/device" in h]
                jobs += [(compiler, 17, [header]) for header in kernels]
                jobs.append((compiler, 17, [h for h in mine if h not in kernels]))

        def compile_one(job):
            compiler, std, together = job
            name = f"{compiler}_{std}_{together[0].replace('/', '_')}"
            source = pathlib.Path(folder, name + ".cu" if compiler == "nvcc" else name + ".cpp")
            source.write_text("".join(f"#include <{header}>\n" for header in together * 2), encoding="utf-8")
            line = command(compiler, std, str(source), f"{folder}/{name}.out", f"{folder}/bitcode")
            line += mpi if "weft/mpi.hpp" in together else []
            line += [f"-I{ROOT}/include/compat"] if together[0] in compat else []
            line += [f"-I{folder}/include", f"-I{folder}/device", f"-I{args.build}/include"]
            return job, subprocess.run(line, capture_output=True, text=True)

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for (compiler, std, together), result in pool.map(compile_one, jobs):
                if result.returncode != 0:
                    failures += 1
                    print(f"{', '.join(together)}: not alone with {compiler} -std=c++{std}\n{result.stderr[:2000]}")
    print(f"{len(jobs) - failures} passed, {failures} failed")
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
