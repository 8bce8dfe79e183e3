#!/usr/bin/env python3
"""Compiles the device tests' kernels (C++17 and C++20) and every public header for one GPU target.

Status 77 and a sentence that says why when this machine has no compiler for it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lint"))
import check_headers  # noqa: E402: the commands, and Debian's bitcode put right

KERNELS = sorted(ROOT.glob("tests/device/*kernels.cpp"))
SKIPPED = 77


def missing(target):
    """Why this target cannot be compiled here; "" if it can."""
    if target == "cuda":
        return "" if shutil.which("nvcc") else "no nvcc on PATH (CUDA toolkit)"
    if not shutil.which("clang++-19"):
        return "no clang++-19"
    bitcode = pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
    if not bitcode.exists():
        return f"no {bitcode} (package rocm-device-libs)"
    return "" if pathlib.Path("/usr/include/hip/hip_runtime.h").exists() else "no HIP headers (libamdhip64-dev)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=["cuda", "hip"])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder (for weft/version.hpp)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    why = missing(args.target)
    if why:
        print(f"skipped: {why}")
        return SKIPPED

    compiler = "nvcc" if args.target == "cuda" else "hip"
    headers = sorted(p.relative_to(ROOT / "include").as_posix() for p in (ROOT / "include").rglob("*.hpp"))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/bitcode")
        if args.target == "hip":
            check_headers.link_bitcode(f"{folder}/bitcode")
        jobs = [(kernels, std) for kernels in KERNELS for std in (17, 20)]
        for header in headers:
            source = pathlib.Path(folder, header.replace("/", "_") + ".cpp")
            source.write_text(f"#include <{header}>\n#include <{header}>\n", encoding="utf-8")
            jobs.append((source, 17))

        def compile_one(job):
            source, std = job
            line = check_headers.command(compiler, std, str(source), f"{folder}/{source.name}.{std}.out",
                                         f"{folder}/bitcode")
            line += [f"-I{ROOT}", f"-I{ROOT}/include", f"-I{ROOT}/device", f"-I{args.build}/include"]
            return source, std, subprocess.run(line, capture_output=True, text=True)

        failures = 0
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for source, std, result in pool.map(compile_one, jobs):
                if result.returncode != 0:
                    failures += 1
                    print(f"{source.name} as C++{std} for {args.target}:\n{result.stderr[:3000]}")
    print(f"{len(jobs) - failures} of {len(jobs)} compile for {args.target}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
