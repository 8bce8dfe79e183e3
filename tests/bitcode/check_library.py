#!/usr/bin/env python3
"""Proves that the bitcode library holds the functions of its table and nothing else, and that a kernel
which only declares them links with it into code that stands alone.

The kernel is linked, optimised and compiled as a front end would (llvm-link, opt, llc; for NVIDIA also
ptxas, where there is one); nothing of Weft may be left undefined, and its puts and waits must have been
inlined.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
VARIABLE = "weft_current_device_context"  # which a host sets
KERNEL = pathlib.Path(__file__).with_name("kernel.ll")


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def table(compiler):
    """The names that weft/device/bitcode.h declares."""
    include = ROOT / "include"
    text = run(compiler, "-x", "c", "-E", "-P", f"-I{include}", include / "weft" / "device" / "bitcode.h")
    return set(re.findall(r"\b(weft_\w+) *\(", text))


def check_names(tools, library, wanted):
    errors = []
    errors_of_variable = [f"{library.name}: {VARIABLE} is missing"]
    for line in run(tools / "llvm-nm", library).splitlines():
        kind, name = line.split()[-2:]
        if name == VARIABLE:
            errors_of_variable = [] if kind in "BD" else [f"{library.name}: {name} is a {kind}, no variable"]
        elif kind == "T" and name in wanted:
            wanted = wanted - {name}
        elif not kind.islower():
            errors.append(f"{library.name}: {name} is {'undefined' if kind == 'U' else 'visible and not in the table'}")
    return errors + errors_of_variable + [f"{library.name}: {name} is missing" for name in sorted(wanted)]


def check_ptx(library, wanted):
    """The same functions as PTX, which ptxas, where there is one, assembles."""
    found = set(re.findall(r"^\.visible \.func.*?\b(\w+)\(\n", library.read_text(encoding="utf-8"), re.MULTILINE))
    errors = [f"{library.name}: {name} is in one of library and table" for name in sorted(found ^ wanted)]
    if PTXAS:
        run(PTXAS, "-arch=sm_90", "-c", library, "-o", "/dev/null")
    return errors


def check_neutral(tools, library):
    """It serves every front end, as nvidia.sed and amd.sed explain; NVIDIA's every GPU, and has no struct
    passed by value, on which passes of Triton 3.4 to 3.8 end the process."""
    text = run(tools / "llvm-dis", library, "-o", "-")
    unwanted = ["!llvm.module.flags"]
    if not Target(library).is_amd:
        unwanted += ['"target-cpu"', '"target-features"', "byval("]
    return [f"{library.name}: has {what}" for what in unwanted if what in text]


class Target:
    def __init__(self, library):
        ptx, gpu = re.fullmatch(r"weft_device(?:_ptx(\d+)|_(gfx\w+))?", library.stem).groups()
        self.ptx = ptx or "78"
        self.is_amd = gpu is not None
        self.gpu = gpu or "sm_90"
        self.triple = "amdgcn-amd-amdhsa" if self.is_amd else "nvptx64-nvidia-cuda"
        self.kernel = "amdgpu_kernel" if self.is_amd else "ptx_kernel"


def check_kernel(tools, library, out):
    """Leaves OUT/LIBRARY-kernel.s, for NVIDIA the PTX that the GPU's test runs."""
    target = Target(library)
    base = out / f"{library.stem}-kernel"
    text = KERNEL.read_text(encoding="utf-8").replace("@TRIPLE@", target.triple).replace("@KERNEL@", target.kernel)
    base.with_suffix(".ll").write_text(text, encoding="utf-8")
    run(tools / "llvm-link", base.with_suffix(".ll"), "--internalize", "--only-needed", library, "-o",
        base.with_suffix(".linked.bc"))
    run(tools / "opt", "-passes=internalize,default<O3>", "-internalize-public-api-list=pass",
        base.with_suffix(".linked.bc"), "-o", base.with_suffix(".bc"))
    left = run(tools / "llvm-dis", base.with_suffix(".bc"), "-o", "-")
    errors = [f"{library.name}: the kernel still has {name}, which was not inlined"
              for name in sorted(set(re.findall(r"@(weft_\w+)", left)) - {VARIABLE})]
    errors += [f"{library.name}: the kernel calls {name}, which is nowhere"
               for name in re.findall(r"^declare .*@([\w.]+)\(", left, re.MULTILINE) if not name.startswith("llvm.")]
    features = [] if target.is_amd else [f"-mattr=+ptx{target.ptx}"]
    run(tools / "llc", "-O3", f"-mcpu={target.gpu}", *features, base.with_suffix(".bc"), "-o", base.with_suffix(".s"))
    if not target.is_amd and PTXAS:
        run(PTXAS, f"-arch={target.gpu}", base.with_suffix(".s"), "-o", base.with_suffix(".cubin"))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="the folder of llvm-link, opt and llc")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the compiled kernels go")
    parser.add_argument("libraries", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    names = table(args.tools / "clang")
    errors = [] if len(names) > 50 else [f"only {len(names)} names in the table"]
    try:
        for library in args.libraries:
            if library.suffix == ".ptx":
                errors += check_ptx(library, names)
                continue
            errors += check_names(args.tools, library, names)
            errors += check_kernel(args.tools, library, args.out)
            errors += check_neutral(args.tools, library)
    except subprocess.CalledProcessError as failure:
        errors.append(f"{' '.join(failure.cmd)}\n{failure.stderr}")
    for error in errors:
        print(error)
    print(f"{len(args.libraries)} libraries of {len(names)} functions, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
