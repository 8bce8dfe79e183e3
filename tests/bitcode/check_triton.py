#!/usr/bin/env python3
"""Compiles kernels that call every function of the bitcode libraries with the Triton that this Python
imports, without a GPU: NVIDIA's to a cubin for sm_90, AMD's to a code object for gfx942.

One process compiles a library: where an assertion of LLVM's ends it, the functions of its last kernel
are named. `--each` compiles a kernel for each function, which takes minutes.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from make_bitcode_table import functions  # noqa: E402

EXTERN = '''
@core.extern
def call_{name}({args}, {builder}=None):
    return core.extern_elementwise("weft", "", [{args}], {{({types},): ("{name}", {result})}}, is_pure=False,
                                   {builder}={builder})
'''
KERNEL = '''
@triton.jit
def kernel_{number}(out, {args}):
'''


def table(compiler):
    """(name, result, types of arguments) of each function of weft/device/bitcode.h."""
    header = ROOT / "include" / "weft" / "device" / "bitcode.h"
    text = subprocess.run([compiler, "-x", "c", "-E", "-P", f"-I{ROOT / 'include'}", header], check=True,
                          capture_output=True, text=True).stdout
    return [(f"weft_{name}", result, list(types.values())) for name, (result, types) in functions(text).items()]


def write_kernels(groups, builder):
    """A kernel for each group of functions, which have the same types of arguments."""
    text = "import triton\nimport triton.language as tl\nfrom triton.language import core\n" \
           "i32, i64 = core.dtype('int32'), core.dtype('int64')\n"
    for number, functions in enumerate(groups):
        args = ", ".join(f"a{i}" for i in range(len(functions[0][2])))
        for name, result, types in functions:
            text += EXTERN.format(name=name, args=args, types=", ".join(types), result=result, builder=builder)
        text += KERNEL.format(number=number, args=args)
        for place, (name, _, _) in enumerate(functions):
            text += f"    tl.store(out + {place}, call_{name}({args}).to(tl.int64))\n"
    return text


def compile_all(library, groups, kernels):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    is_amd = "gfx" in library.stem
    target = GPUTarget("hip", "gfx942", 64) if is_amd else GPUTarget("cuda", 90, 32)
    binary = "hsaco" if is_amd else "cubin"
    constants = "constants" if triton.__version__ < "3.3" else "constexprs"
    for number, functions in enumerate(groups):
        print(*(name for name, _, _ in functions), flush=True)
        signature = {"out": "*i64", **{f"a{i}": kind for i, kind in enumerate(functions[0][2])}}
        source = ASTSource(fn=getattr(kernels, f"kernel_{number}"), signature=signature, **{constants: {}})
        made = triton.compile(source, target=target, options={"extern_libs": {"weft": str(library)}})
        if not made.asm[binary]:
            sys.exit(f"{functions}: no {binary}")


def run_child(library, compiler, each):
    import triton

    builder = "_builder" if triton.__version__ < "3.4" else "_semantic"
    by_types = {}
    for function in table(compiler):
        by_types.setdefault(function[0] if each else tuple(function[2]), []).append(function)
    groups = list(by_types.values())
    folder = pathlib.Path(os.environ["TRITON_CACHE_DIR"])
    (folder / "weft_kernels.py").write_text(write_kernels(groups, builder), encoding="utf-8")
    sys.path.insert(0, str(folder))
    import weft_kernels

    compile_all(library, groups, weft_kernels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="clang", help="a C compiler, which reads the table")
    parser.add_argument("--each", action="store_true", help="a kernel for each function")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("libraries", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    if args.child:
        return run_child(args.libraries[0], args.compiler, args.each)
    import triton

    def compile_for(library):
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run(
                [sys.executable, __file__, "--child", "--compiler", args.compiler, *["--each"][:args.each],
                 library.resolve()],
                env={**os.environ, "TRITON_CACHE_DIR": cache, "TRITON_ALWAYS_COMPILE": "1"}, capture_output=True,
                text=True, check=False)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        children = list(pool.map(compile_for, args.libraries))
    for library, child in zip(args.libraries, children):
        kernels = child.stdout.splitlines()
        print(f"Triton {triton.__version__}, {library.name}: {len(child.stdout.split())} functions, exit status "
              f"{child.returncode}")
        if child.returncode != 0:
            failed += 1
            print(f"failed at {kernels[-1] if kernels else 'nothing'}:\n{child.stderr[-3000:]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
